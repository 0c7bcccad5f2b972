package suite

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/plimsoll-bench/plimsoll/campaign"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/spec"
	"github.com/plimsoll-bench/plimsoll/store/embedded"
	"github.com/plimsoll-bench/plimsoll/study"
	"github.com/plimsoll-bench/plimsoll/suite/judge"
)

// part runs a part, or continues it.
func (c *session) part(ctx context.Context, i int) error {
	part, plan := &c.Result.Parts[i], c.plans[i]
	begun := c.Now()
	at := begun.UTC()
	*part = record.Part{Name: part.Name, Kind: part.Kind, Status: record.PartRunning,
		Record: filepath.ToSlash(filepath.Join(record.PartsDir, part.Name)),
		Shows:  part.Shows, Level: part.Level, Set: part.Set, Started: &at, Seconds: part.Seconds, Estimate: part.Estimate}
	if err := c.take(part, &plan); err != nil {
		return err
	}
	return c.Do(part, func() error {
		c.o.Progress.Begin(c.status(i))
		dir := c.dirOf(part.Name)
		resume, err := c.clear(ctx, dir, plan)
		out := Outcome{Err: err, Conclusion: record.NoResult}
		if err == nil {
			job := Job{Plan: plan, Dir: dir, Resume: resume, Abort: c.o.Abort, TakeLeft: c.again[part.Name]}
			b := c.budgetOf(ctx, i, begun)
			if b != nil {
				job.Budget = b
			}
			if out = c.o.Runner.Part(ctx, job); b != nil && b.err != nil {
				return b.err
			}
		}
		part.Seconds += c.Now().Sub(begun).Seconds() // earlier sessions count as well
		if err := c.conclude(ctx, part, dir, out); err != nil {
			return err
		}
		if _, err := os.Lstat(dir); err != nil {
			part.Record = "" // it did not come so far
		}
		if part.Status == record.PartRunning {
			return c.Interruption()
		}
		c.tidy(plan)
		return nil
	})
}

// conclude sets the outcome of a part, from its record and its runner.
func (c *session) conclude(ctx context.Context, part *record.Part, dir string, out Outcome) error {
	switch { // which engine the labs of the parts had: all of them, where they differ
	case out.Study != nil:
		c.Result.Engine = joinEngines(c.Result.Engine, out.Study.Engine)
	case out.Drill != nil:
		c.Result.Engine = joinEngines(c.Result.Engine, out.Drill.Engine)
	}
	var stop *campaign.Stop
	switch {
	case complete(dir, part.Kind) && out.Err == nil:
		part.Status, part.Conclusion = record.PartDone, out.Conclusion
	case ctx.Err() != nil:
		part.Problem = "interrupted"
	case errors.As(out.Err, &stop) && stop.Reason == campaign.OutOfTime:
		part.Status, part.Problem, part.Estimate = record.PartLeft, stop.Text, 0
		return c.tell(stop.Text, []spec.Left{{Part: part.Name, What: spec.LeftPart, Why: stop.Text, Late: true}})
	default:
		part.Status, part.Conclusion, part.Problem = record.PartFailed, out.Conclusion, problemOf(out)
		if part.Conclusion == record.Satisfied || part.Conclusion == "" {
			part.Conclusion = record.NoResult // its record is not complete
		}
	}
	if c.o.ExitCode != nil && part.Conclusion != "" {
		part.Exit = c.o.ExitCode(part.Conclusion)
	}
	return nil
}

// joinEngines adds an engine to those that a suite had, once. Versions may have commas.
func joinEngines(all, engine string) string {
	const and = "; "
	if engine == "" || slices.Contains(strings.Split(all, and), engine) {
		return all
	}
	return strings.TrimPrefix(all+and+engine, and)
}

func problemOf(out Outcome) string {
	if out.Err != nil {
		return oneLine(out.Err)
	}
	part := judge.Part{Study: out.Study, Drill: out.Drill, Probe: out.Probe}
	if r := part.Result(); r != nil && r.Common().Problem != "" {
		return r.Common().Problem
	}
	return "no result"
}

// status returns the state of the suite when a part begins.
func (c *session) status(i int) Status {
	s := Status{Part: c.Result.Parts[i]}
	left := 0.0
	for j, p := range c.Result.Parts {
		if p.Status == record.PartLeft {
			continue
		}
		s.Total++
		if j <= i {
			s.Number++
		}
		if j == i || j > i && p.Status != record.PartDone {
			left += p.Estimate * c.pace(p.Kind)
		}
	}
	s.Left = seconds(left)
	if s.HasBudget = c.Budget.Limit > 0; s.HasBudget {
		s.Budget = max(0, c.timeLeft())
	}
	return s
}

// take puts what earlier parts gave into a part, where it has no values of its own for that.
func (c *session) take(part *record.Part, plan *record.PartPlan) error {
	given := c.given(part.Name)
	maps.DeleteFunc(given, func(key string, _ any) bool { return slices.Contains(plan.Owns, key) })
	if len(given) == 0 || plan.Study == nil {
		return nil
	}
	spec := *plan.Study
	if c.Result.Budget != record.BudgetFull {
		c.shorten(part, &spec, given)
	}
	run, err := study.Apply(spec.Run, given)
	if err != nil {
		return fmt.Errorf("part %s cannot use the result of an earlier part: %w", part.Name, err)
	}
	spec.Run = run
	plan.Study = &spec
	set := map[string]any{}
	maps.Copy(set, part.Set)
	maps.Copy(set, given)
	part.Set = set
	return nil
}

// shorten leaves out what would make a part longer than the time that it was fitted into.
func (c *session) shorten(part *record.Part, asked *spec.Study, given map[string]any) {
	text, ok := given["load.duration"].(string)
	if !ok {
		return
	}
	if d, err := spec.ParseDuration(text); err != nil || d <= asked.Run.Load.Duration {
		return
	}
	delete(given, "load.duration")
	left := spec.Left{Part: part.Name, What: "load.duration", From: text, To: asked.Run.Load.Duration.String(), Why: "the length that the baseline study found does not fit into the time"}
	if !slices.Contains(c.Result.Left, left) {
		c.Result.Left = append(c.Result.Left, left)
	}
}

// given returns what previous parts found, by the keys of a run. Later ones count more.
func (c *session) given(before string) map[string]any {
	given := map[string]any{}
	for i, p := range c.Result.Parts {
		if p.Name == before {
			break
		}
		if p.Status != record.PartDone || len(c.plans[i].Gives) == 0 {
			continue
		}
		s, err := record.OpenStudy(filepath.Join(c.Dir, filepath.FromSlash(p.Record)))
		if err != nil {
			c.o.Progress.Note(fmt.Sprintf("the result of %s cannot be read, so later parts do not use it: %v", p.Name, err))
			continue
		}
		for key, value := range found(s) {
			if slices.Contains(c.plans[i].Gives, key) {
				given[key] = value
			}
		}
	}
	return given
}

// found returns what the procedures of a study chose, in the form of values of levels.
func found(s *record.Study) map[string]any {
	values := map[string]any{}
	for _, p := range s.Procedures {
		switch {
		case p.Chosen <= 0:
		case strings.HasSuffix(p.Path, "duration"):
			values[p.Path] = spec.Duration(p.Chosen * float64(time.Second)).String()
		default:
			values[p.Path] = int(p.Chosen)
		}
	}
	if s.Capacity != nil && s.Capacity.Confirmed {
		values["load.rate"] = fmt.Sprint(int(s.Capacity.Rate))
	}
	return values
}

// complete reports whether a directory holds the whole record of a part.
func complete(dir, kind string) bool {
	r, err := record.Open(dir)
	return err == nil && r.Common().Kind == kind && r.Common().Status == record.Complete
}

// clear prepares a directory for a part: it removes what a killed drill or probe left, with its lab. It reports whether
// the part can be continued.
func (c *session) clear(ctx context.Context, dir string, plan record.PartPlan) (resume bool, err error) {
	kind, name := kindOf(plan), path.Join(record.PartsDir, filepath.Base(dir))
	// A part that is a link would be written, or gone on with, where the link leads.
	if _, err := record.Below(c.Dir, name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return false, fmt.Errorf("cannot write the part: %w", err)
	}
	if complete(dir, kind) {
		return true, nil
	}
	if kind == record.KindStudy {
		if _, err := record.OpenStudy(dir); err == nil {
			return true, c.sweep(ctx, dir, plan)
		}
	}
	if err := c.sweep(ctx, dir, plan); err != nil {
		return false, err
	}
	if err := record.Remove(c.Dir, name); err != nil {
		return false, fmt.Errorf("cannot remove the rest of an earlier attempt: %w", err)
	}
	return false, nil
}

func kindOf(plan record.PartPlan) string {
	switch {
	case plan.Study != nil:
		return record.KindStudy
	case plan.Drill != nil:
		return record.KindDrill
	}
	return record.KindProbe
}

// tidy removes the documents of an embedded target that the suite keeps for the part alone.
func (c *session) tidy(plan record.PartPlan) {
	if c.Result.Against != embeddedTarget || plan.Study == nil {
		return
	}
	dir, ok := strings.CutPrefix(plan.Study.Run.Target, embeddedTarget)
	if !ok || filepath.Base(dir) != plan.Name {
		return
	}
	// Data sets that differ have directories beside it, named after it.
	beside, _ := filepath.Glob(dir + "-*")
	for _, d := range append(beside, dir) {
		if err := embedded.Remove(d); err != nil {
			c.o.Progress.Note(fmt.Sprintf("could not remove the documents in %s: %v", d, err))
		}
	}
	_ = os.Remove(filepath.Dir(dir)) // when it is empty
}
