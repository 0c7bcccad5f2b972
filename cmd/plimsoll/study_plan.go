package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/run"
	"github.com/plimsoll-bench/plimsoll/spec"
	"github.com/plimsoll-bench/plimsoll/study"
	"github.com/plimsoll-bench/plimsoll/study/judge"
)

// studyFlags override keys of the file of a study.
type studyFlags struct {
	settings
	engine engineFlags
}

func (f *studyFlags) add(cmd *cobra.Command) {
	f.settings = addSettings(cmd, &spec.Study{}, studySettings)
	f.engine.add(cmd)
}

// readStudy reads a study from a file (- for standard input), applies the flags and completes it. asked is the study
// before its scale was applied, nil for one without a scale.
func (f *studyFlags) readStudy(ctx context.Context, env *environment, name string) (
	complete spec.Study, asked *spec.Study, err error,
) {
	given, err := f.readStudyFile(ctx, env, name)
	if err != nil {
		return given, nil, err
	}
	if given.Scale != nil && !given.Scale.Applied {
		asked = &given
	}
	complete, err = study.Complete(given)
	return complete, asked, withExit(exitUsage, f.named(err))
}

func (f *studyFlags) readStudyFile(ctx context.Context, env *environment, name string) (spec.Study, error) {
	asked, err := readSpec(env, name, "study", "'plimsoll study init FILE' writes an example", spec.ReadStudy)
	if err != nil {
		return asked, err
	}
	if asked.Platform != "" && !filepath.IsAbs(asked.Platform) { // absolute, because a study may be resumed elsewhere
		if asked.Platform, err = filepath.Abs(filepath.Join(filepath.Dir(name), asked.Platform)); err != nil {
			return asked, err
		}
	}
	if err := readTarget(ctx, env, &asked.Run.Target, ""); err != nil {
		return asked, err
	}
	if err := f.engine.check(); err != nil {
		return asked, err
	}
	f.engine.choose(ctx, env, asked.Lab)
	return asked, f.apply(&asked)
}

func planOptions(ctx context.Context, env *environment) study.PlanOptions {
	return study.PlanOptions{CheckLab: checkStudyLab(ctx, env), Metric: func(name string) (string, error) {
		m, err := judge.ParseMetric(name)
		return m.Class, err
	}}
}

func newStudyPlanCommand(env *environment) *cobra.Command {
	var flags studyFlags
	var format string
	cmd := &cobra.Command{
		Use:   "plan FILE",
		Short: "Show all trials, their time, and the smallest difference they can find; run nothing",
		Long: `Show all trials of a study, their order, the estimated time and disk space, and the smallest differences that
the study can find. Nothing is run, and no target is contacted.

Exit codes: 0 valid plan, 2 error in the file, level that the target does not support, or budget exceeded.`,
		Example: `  plimsoll study plan study.yaml
  plimsoll study plan study.yaml --trials 10 --seed 7
  plimsoll study plan study.yaml --format json`,
		Args: exactlyOne("study file"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if isSuite(args[0]) {
				return ofSuite("plan", args[0])
			}
			spec, _, err := flags.readStudy(cmd.Context(), env, args[0])
			if err != nil {
				return err
			}
			return planStudy(cmd.Context(), env, spec, format)
		},
	}
	flags.add(cmd)
	formatFlag(cmd.Flags(), &format, "plan", "text", "json")
	return cmd
}

// planStudy prints a plan, even if it exceeds its budget.
func planStudy(ctx context.Context, env *environment, asked spec.Study, format string) error {
	p, err := study.NewPlan(asked, planOptions(ctx, env))
	if p == nil {
		if line := installLine(fmt.Sprint(err)); line != "" {
			return withHint(exitUsage, err, "install the missing packages: "+line)
		}
		return withExit(exitUsage, err)
	}
	if format == "json" {
		err = errors.Join(printJSON(env.stdout, p.Shown()), err)
	} else {
		err = errors.Join(writePlan(env.stdout, p), err)
	}
	var over *study.BudgetError
	if errors.As(err, &over) {
		return withExit(exitUsage, over)
	}
	return err
}

func writePlan(w io.Writer, plan *study.Plan) error {
	p := plan.Shown()
	b := &strings.Builder{}
	spec, e := p.Spec, p.Estimate
	on := ""
	if spec.Lab != nil && spec.Lab.Engine.Name != "" {
		on = " on " + spec.Lab.Engine.Name
	}
	if len(p.Trials) == 0 {
		fmt.Fprintf(b, "study %s%s: procedures only, no comparison\n", spec.Name, on)
	} else {
		fmt.Fprintf(b, "study %s%s: %s, %s of each, %s in all\n", spec.Name, on,
			plural(len(p.Configurations), "configuration"), plural(int(spec.Trials), "trial"), plural(len(p.Trials), "trial"))
	}
	writeProcedures(b, spec.Procedures)
	fmt.Fprintln(b)
	writeConfigurations(b, p)
	writePlanTrials(b, p)
	if len(p.Order) > 0 {
		fmt.Fprintln(b, "\norder")
		writeParagraphs(b, p.Order)
	}
	fmt.Fprintf(b, "\ntime    about %s\n", e.Text())
	fmt.Fprintf(b, "space   %s\n", spaceText(e))
	for _, s := range e.DataSets {
		if s.Bytes > 0 {
			fmt.Fprintf(b, "        %s\n", dataSetText(s))
		}
	}
	writePower(b, spec, e)
	if notes := append(slices.Clone(p.Notes), diskSpaceNotes(plan)...); len(notes) > 0 {
		fmt.Fprintln(b, "\nnotes")
		writeParagraphs(b, notes)
	}
	if len(e.Assumptions) > 0 {
		fmt.Fprintln(b, "\nassumed")
		writeParagraphs(b, e.Assumptions)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func writeParagraphs(w io.Writer, lines []string) {
	for _, line := range lines {
		fmt.Fprintf(w, "  %s\n", wrap(line, 96, "    "))
	}
}

func writeProcedures(w io.Writer, p *spec.Procedures) {
	if p == nil {
		return
	}
	var names []string
	if p.Threads != nil {
		names = append(names, "threads")
	}
	if p.Steady != nil {
		names = append(names, "steady")
	}
	if p.Capacity != nil {
		names = append(names, "capacity")
	}
	fmt.Fprintf(w, "procedures first: %s\n", strings.Join(names, ", "))
}

func writeConfigurations(w io.Writer, p *study.Plan) {
	t := table{left: 2}
	t.row("configuration", "sets")
	for _, c := range p.Configurations {
		text := setText(c.Set)
		if c.Exploratory {
			text += " (exploratory)"
		}
		t.row(c.ID, text)
	}
	t.write(w, "")
}

// writePlanTrials lists the trials with their start times.
func writePlanTrials(w io.Writer, p *study.Plan) {
	if len(p.Trials) == 0 {
		return
	}
	t := table{left: 4}
	t.row("trial", "block", "after", "configuration")
	for i, trial := range p.Trials {
		block := "canary"
		if trial.Block > 0 {
			block = fmt.Sprint(trial.Block)
		}
		after := time.Duration(p.Estimate.Starts[i] * float64(time.Second)).Round(time.Second)
		t.row(fmt.Sprint(trial.Number), block, after.String(), trial.Configuration)
	}
	fmt.Fprintln(w)
	t.write(w, "")
}

// setText lists the keys that a configuration sets.
func setText(set map[string]any) string {
	var parts []string
	for _, path := range slices.Sorted(maps.Keys(set)) {
		value := fmt.Sprint(set[path])
		if set[path] == nil || value == "" {
			value = "unset"
		}
		parts = append(parts, path+"="+value)
	}
	if len(parts) == 0 {
		return "(base run)"
	}
	return strings.Join(parts, " ")
}

func spaceText(e study.Estimate) string {
	records := "about " + formatBytes(e.RecordBytes) + " of records"
	if e.DataBytes == 0 {
		return records + "; the target stores no data"
	}
	return fmt.Sprintf("about %s of documents, before compression, indexes and log; %s", formatBytes(e.DataBytes), records)
}

func dataSetText(s study.DataSet) string {
	at := s.Target
	if s.Database != "" {
		at += " database " + s.Database
	}
	size := fmt.Sprintf("%s of %s", formatCount(s.Records), formatBytes(s.DocumentBytes))
	switch {
	case s.Loads == 0:
		return fmt.Sprintf("%s: %s existing documents", at, size)
	case s.Loads == 1:
		return fmt.Sprintf("%s: %s documents, loaded once", at, size)
	}
	return fmt.Sprintf("%s: %s documents, loaded %d times", at, size, s.Loads)
}

// embeddedFactor is the peak size of an embedded store, during compaction, relative to the documents.
const embeddedFactor = 2

// diskSpaceNotes warns if the disk is too small for embedded data.
func diskSpaceNotes(p *study.Plan) []string {
	need := map[string]int64{} // by directory: data sets may share a disk
	for _, s := range p.Estimate.DataSets {
		if t, err := run.ParseTarget(s.Target); err == nil && t.Kind == "embedded" && s.Loads > 0 {
			need[filepath.Dir(filepath.Clean(t.Dir))] += embeddedFactor * s.Bytes
		}
	}
	var notes []string
	for _, dir := range slices.Sorted(maps.Keys(need)) {
		if free, known := record.FreeBytes(dir); known && uint64(need[dir]) > free {
			notes = append(notes, fmt.Sprintf("the disk of %s has %s free, and loading needs up to %s: free some space, or load fewer records",
				dir, formatBytes(int64(free)), formatBytes(need[dir])))
		}
	}
	return notes
}

func writePower(w io.Writer, asked spec.Study, e study.Estimate) {
	if len(e.Power) == 0 {
		return
	}
	where := ""
	if asked.Order == spec.OrderBatched {
		where = "within a batch, "
	}
	fmt.Fprintf(w, "\npower   %schanges that are found with a probability of 80 %%, with %s of each\n", where, plural(int(asked.Trials), "trial"))
	t := table{}
	t.row("variation of trials", "in one comparison", "in each of "+plural(e.Verdicts, "verdict")+" (Holm)")
	for _, p := range e.Power {
		t.row(formatPercent(p.CV), effectText(p.Effect), effectText(p.Corrected))
	}
	t.write(w, "        ")
}

func effectText(x *float64) string {
	if x == nil {
		return "none"
	}
	return "from " + formatPercent(*x)
}
