package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/plimsoll-bench/plimsoll/internal/figure"
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
	formatFlag(cmd.Flags(), &format, "plan", "text", "md", "json")
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
	shown := p.Shown()
	shown.Notes, shown.Command = append(shown.Notes, diskSpaceNotes(p)...), performing(env, "run")
	err = errors.Join(printResult(env.stdout, shown, format), err)
	var over *study.BudgetError
	if errors.As(err, &over) {
		return withExit(exitUsage, over)
	}
	return err
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
				dir, figure.Bytes(int64(free)), figure.Bytes(need[dir])))
		}
	}
	return notes
}
