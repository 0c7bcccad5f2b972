package conduct

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/plimsoll-bench/plimsoll/internal/safeopen"
	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/run"
	"github.com/plimsoll-bench/plimsoll/spec"
	"github.com/plimsoll-bench/plimsoll/study"
)

// Resume goes on with a study that ended before its last trial, in whatever way. It returns what [Run] does. A study
// with nothing left to do is returned as it is.
func Resume(ctx context.Context, dir string, o Options) (*record.Study, error) {
	o.Dir = dir
	o.defaults()
	if !safeopen.Exists(dir, record.StudyFile) {
		_, err := record.OpenStudy(dir)
		return nil, wrong(err)
	}
	release, err := record.Hold(dir)
	if err != nil {
		return nil, recording(err)
	}
	defer release()
	s, err := record.ReadHeldStudy(dir)
	if err != nil {
		return nil, wrong(err)
	}
	spec, err := specOf(s, o.Spec)
	if err != nil {
		return nil, wrong(err)
	}
	plan, err := study.NewPlan(spec, o.Plan)
	if err != nil && !errors.As(err, new(*study.BudgetError)) {
		return nil, wrong(err)
	}
	w, err := record.Continue[*record.Study](dir, spec)
	if err != nil {
		return nil, recording(err)
	}
	defer w.Close()
	c := newConductor(o, w, spec)
	c.study, c.resumed = s, true
	if err := c.recall(plan); err != nil {
		return nil, err
	}
	if s.Status == record.Complete && !c.retries() {
		return s, nil
	}
	s.Status, s.Problem, s.Ended = record.Running, "", nil
	if err := c.start(); err != nil {
		return nil, err
	}
	err = c.perform(ctx)
	c.removeLab(ctx)
	return c.finish(err)
}

// specOf returns the specification to go on with: the one that is given if it is that of the study, or what was kept.
func specOf(s *record.Study, given *spec.Study) (spec.Study, error) {
	if given == nil {
		if record.HasHidden(s.Specification) {
			return spec.Study{}, errors.New("the study does not keep the credentials of its target: give its file again (--file FILE)")
		}
		return s.Specification, nil
	}
	spec, err := study.Scaled(*given)
	if err != nil {
		return spec, err
	}
	spec.Defaults()
	clean, err := record.RedactedStudy(spec)
	if err != nil {
		return spec, err
	}
	key, err := differs(s.Specification, clean)
	if err != nil {
		return spec, err
	}
	if key != "" {
		return spec, fmt.Errorf("%s differs from what the study began with, so its trials could not be compared: take that back, or begin another study", key)
	}
	s.Specification = clean
	return spec, nil
}

// mayChange are the keys of a study that say nothing about what is measured.
var mayChange = []string{"name", "out", "labels", "budget", "deadline", "published"}

// differs names the first key in which two specifications differ, "" if there is none.
func differs(a, b spec.Study) (string, error) {
	x, err := tree(a)
	if err != nil {
		return "", err
	}
	y, err := tree(b)
	if err != nil {
		return "", err
	}
	for _, key := range mayChange {
		delete(x, key)
		delete(y, key)
	}
	return firstDifference(x, y, ""), nil
}

func tree(v any) (m map[string]any, err error) {
	b, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	return m, json.Unmarshal(b, &m)
}

func firstDifference(a, b any, path string) string {
	switch x := a.(type) {
	case map[string]any:
		y, ok := b.(map[string]any)
		if !ok && b != nil {
			return path
		}
		return differentKey(x, y, path)
	case nil:
		if y, ok := b.(map[string]any); ok {
			return differentKey(nil, y, path)
		}
	case []any:
		y, ok := b.([]any)
		if !ok || len(x) != len(y) {
			return path
		}
		for i := range x {
			if d := firstDifference(x[i], y[i], fmt.Sprintf("%s[%d]", path, i+1)); d != "" {
				return d
			}
		}
		return ""
	}
	if a != b {
		return path
	}
	return ""
}

// differentKey names the first key in which two mappings differ. Names come last: they may be made of the rest.
func differentKey(x, y map[string]any, path string) string {
	both := maps.Clone(y)
	if both == nil {
		both = map[string]any{}
	}
	maps.Copy(both, x)
	keys := slices.SortedFunc(maps.Keys(both), func(a, b string) int {
		if (a == "name") != (b == "name") {
			return map[bool]int{true: 1, false: -1}[a == "name"]
		}
		return strings.Compare(a, b)
	})
	for _, k := range keys {
		below := k
		if path != "" {
			below = path + "." + k
		}
		if d := firstDifference(x[k], y[k], below); d != "" {
			return d
		}
	}
	return ""
}

// recall takes over what earlier sessions left.
func (c *conductor) recall(plan *study.Plan) error {
	events, unreadable, err := record.ReadJournal(c.o.Dir)
	if err != nil {
		return recording(err)
	}
	c.unreadable = unreadable
	for i := range events {
		e := &events[i]
		switch {
		case e.Session != nil:
			c.sessions = append(c.sessions, *e.Session)
		case e.Event == record.EventBegin && e.Data != nil:
			c.open[e.Trial.Record] = e.Data
		case e.Event == record.EventEnd && e.Data != nil:
			delete(c.open, e.Trial.Record)
			c.remember(e.Data)
		}
	}
	for _, d := range c.open {
		c.begun(d)
	}
	if err := c.samePlaces(plan); err != nil {
		return err
	}
	for i := range c.study.Trials {
		t := &c.study.Trials[i]
		switch {
		case t.Status == record.TrialDone:
			c.pace.learn(*t)
			if c.o.Budget != nil {
				c.pace.learnFill(*t, c.fillOf(*t))
			}
		case t.Status == record.TrialLeft && c.o.TakeLeft:
			t.Status, t.Problem = record.TrialPlanned, ""
		}
	}
	if c.spec.Procedures == nil {
		return c.adopt(plan)
	}
	c.plan = plan // until the procedures are through
	return nil
}

// fileOf returns the file that a workload reads, "" for none.
func fileOf(w spec.Workload) string {
	if !strings.EqualFold(w.Params["fieldlengthdistribution"], "histogram") {
		return ""
	}
	return orElse(w.Params["fieldlengthhistogram"], "hist.txt") // the default of the workloads
}

// samePlaces makes sure that relative directories and files still mean what they meant.
func (c *conductor) samePlaces(plan *study.Plan) error {
	if len(c.sessions) == 0 || c.sessions[0].Directory == "" || c.sessions[0].Directory == c.session().Directory {
		return nil
	}
	for _, configuration := range plan.Configurations {
		spec, err := plan.RunSpec(configuration.ID)
		if err != nil {
			return wrong(err)
		}
		t, err := run.ParseTarget(spec.Target)
		if err == nil && t.Kind == "embedded" && !filepath.IsAbs(t.Dir) {
			return wrong(fmt.Errorf("the target %s is a directory below %s, where the study began: go on from there", t, c.sessions[0].Directory))
		}
		if file := fileOf(spec.Workload); file != "" && !filepath.IsAbs(file) {
			return wrong(fmt.Errorf("the file %s of the workload is meant below %s, where the study began: go on from there", file, c.sessions[0].Directory))
		}
	}
	return nil
}

// retries reports whether something is to be repeated although the study is complete.
func (c *conductor) retries() bool { return len(c.left()) > 0 }

// worthless reports whether a trial that is done must not be believed.
func worthless(t record.Trial) bool { return measure.Worst(t.Validity) == measure.Invalid }

// left lists the trials that are to be done, in order: those that never ended and, if asked for, those that failed or
// must not be believed.
func (c *conductor) left() []record.Trial {
	last := map[int]record.Trial{}
	var numbers []int
	for _, t := range c.study.Trials {
		if t.Kind == record.TrialSearch {
			continue
		}
		if _, seen := last[t.Number]; !seen {
			numbers = append(numbers, t.Number)
		}
		if have := last[t.Number]; have.Status != record.TrialDone || worthless(have) { // whatever came after a result does not count
			last[t.Number] = t
		}
	}
	var list []record.Trial
	for _, n := range numbers {
		switch t := last[n]; t.Status {
		case record.TrialLeft: // it stays left out: see TakeLeft
		case record.TrialDone, record.TrialFailed, record.TrialTimeout:
			if c.o.RetryFailed && (t.Status != record.TrialDone || worthless(t)) {
				list = append(list, t)
			}
		default:
			list = append(list, t)
		}
	}
	return list
}

// reconcile settles all trials of the plan of which it is not known how they ended.
func (c *conductor) reconcile() error {
	if !c.resumed {
		return nil // nothing ran before
	}
	for _, t := range slices.Clone(c.study.Trials) {
		if t.Kind == record.TrialSearch {
			continue
		}
		if err := c.settle(t, ""); err != nil {
			return err
		}
	}
	return nil
}

// settle looks at the records of a trial: attempts that are not known to have ended are done if their record is
// complete, and lost otherwise.
func (c *conductor) settle(t record.Trial, procedure string) error {
	if err := c.scan(); err != nil {
		return err
	}
	name := nameOf(t, procedure)
	for attempt := 1; attempt <= c.attempts[name]; attempt++ {
		known, ended := c.known(t, attempt)
		if ended {
			continue
		}
		known.Record = orElse(known.Record, dirOf(known, procedure))
		var data *record.TrialData
		if r := c.judgeRecord(&known, procedure); r != nil {
			data = c.settled(c.open[known.Record], study.Result{Run: r})
		}
		j := job{procedure: procedure}
		if procedure != "" {
			j.step = known.Number - firstNumber[procedure]
		}
		if err := c.note(record.EventEnd, known, j, data); err != nil {
			return err
		}
	}
	return nil
}

// known returns what the study knows of an attempt, and whether that is its end.
func (c *conductor) known(t record.Trial, attempt int) (record.Trial, bool) {
	for _, have := range c.study.Trials {
		same := have.Number == t.Number && (have.Kind == record.TrialSearch) == (t.Kind == record.TrialSearch)
		if same && have.Attempt == attempt && have.Status != record.TrialPlanned {
			return have, have.Status != record.TrialRunning
		}
	}
	t.Attempt, t.Record = attempt, ""
	t.Started, t.Seconds, t.Values, t.Validity, t.Problem = nil, 0, nil, nil, ""
	return t, false
}

// judgeRecord says what became of an attempt by its record alone, and returns that if it counts.
func (c *conductor) judgeRecord(t *record.Trial, procedure string) *record.Run {
	r, err := record.OpenBelow(c.o.Dir, t.Record)
	spec, planned := c.specs[t.Configuration]
	altered := err == nil && slices.ContainsFunc(r.Validity, func(f measure.Finding) bool { return f.ID == "altered" })
	switch {
	case err != nil || r.Status != record.Complete || altered:
		t.Status, t.Problem = record.TrialLost, "the study ended while it was under way"
	case procedure == "" && (!planned || !sameRun(r.Specification, c.seeded(*t, spec))):
		t.Status, t.Problem = record.TrialLost, "its record is that of another run"
	case cutShort(r) != "":
		t.Status, t.Problem = record.TrialFailed, cutShort(r)
		c.evaluate(t, study.Result{Run: r})
	default:
		started := r.Started
		t.Status, t.Started, t.Problem = record.TrialDone, &started, ""
		if r.Ended != nil {
			t.Seconds = max(0, r.Ended.Sub(r.Started).Seconds()) // a clock may be set back
		}
		c.evaluate(t, study.Result{Run: r})
		c.pace.learn(*t)
		return r
	}
	return nil
}

// sameRun reports whether a record is of the run that is asked for, but for where it was written and whether data
// were dropped before.
func sameRun(recorded, asked spec.Run) bool {
	asked = record.RedactedRun(asked)
	for _, s := range []*spec.Run{&recorded, &asked} {
		s.Out, s.LoadPhase.Drop = "", false
	}
	a, errA := json.Marshal(recorded)
	b, errB := json.Marshal(asked)
	return errA == nil && errB == nil && bytes.Equal(a, b)
}

// nameOf names a trial within a study; an attempt of it adds its number.
func nameOf(t record.Trial, procedure string) string {
	if procedure == "" {
		return fmt.Sprintf("%04d", t.Number)
	}
	return fmt.Sprintf("%s-%04d", procedure, t.Number-firstNumber[procedure])
}

// dirOf is the directory of the record of an attempt, relative to that of the study.
func dirOf(t record.Trial, procedure string) string {
	in := record.TrialsDir
	if procedure != "" {
		in = record.ProceduresIn
	}
	return fmt.Sprintf("%s/%s-%d", in, nameOf(t, procedure), t.Attempt)
}

var attemptDir = regexp.MustCompile(`^(.+)-(\d+)$`)

// scan finds the highest attempt of each trial that was ever begun, by the directories and by what is known.
func (c *conductor) scan() error {
	if c.scanned {
		return nil
	}
	c.scanned = true
	see := func(name string) {
		m := attemptDir.FindStringSubmatch(name)
		if m == nil {
			return
		}
		if n, err := strconv.Atoi(m[2]); err == nil {
			c.attempts[m[1]] = max(c.attempts[m[1]], n)
		}
	}
	for _, in := range []string{record.TrialsDir, record.ProceduresIn} {
		at, err := record.Below(c.o.Dir, in)
		if err != nil {
			return recording(err)
		}
		entries, err := os.ReadDir(at)
		if err != nil {
			return recording(err)
		}
		for _, e := range entries {
			see(e.Name())
		}
	}
	for _, t := range c.study.Trials {
		if t.Record != "" {
			see(filepath.Base(t.Record))
		}
	}
	return nil
}
