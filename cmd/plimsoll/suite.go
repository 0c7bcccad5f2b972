package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/plimsoll-bench/plimsoll/lab"
	"github.com/plimsoll-bench/plimsoll/lab/volume"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/record/schema"
	"github.com/plimsoll-bench/plimsoll/spec"
	"github.com/plimsoll-bench/plimsoll/suite"
)

func newSuiteCommand(env *environment) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "suite",
		Short: "Repeat a published measurement: a folder of studies, drills and probes",
		Long: `Repeat a published measurement, and compare each statement of the document with the results here.

A suite is a folder with suite.yaml and its parts: studies, drills and probes. They run one after the
other. A clone of the repository has five suites in examples/.

  plimsoll suite plan FOLDER         show the parts, their time and needs, and the parts that cannot run here
  plimsoll suite run FOLDER --quick  run it in ten minutes, scaled down
  plimsoll suite status DIR          show the progress
  plimsoll suite resume DIR          continue after Ctrl-C, a crash or a full disk
  plimsoll suite show DIR            print the statements of the document and the results here
  plimsoll report DIR                write the page of the suite again`,
	}
	return group(cmd, newSuitePlanCommand(env), newSuiteRunCommand(env), newSuiteResumeCommand(env),
		newStatusCommand(env, "suite", suiteStatus, record.OpenSuite), newSuiteShowCommand(env),
		newSchemaCommand(env, "of suite.yaml", schema.SuiteSpec))
}

type suiteFlags struct {
	quick, smoke   bool
	budget, target string
	engine         engineFlags
	scale, share   settings // of the suite, and of all runs
}

func (f *suiteFlags) add(cmd *cobra.Command) {
	grouped(cmd, studyGroup, func() {
		cmd.Flags().BoolVar(&f.quick, "quick", false, "scale the suite to ten minutes; the result lists what was left out")
		cmd.Flags().BoolVar(&f.smoke, "smoke", false, "scale the suite to one minute, to test that it runs; the results prove nothing")
		cmd.Flags().StringVar(&f.target, "target", "", "`target` instead of labs: mongodb://HOST, env:NAME, @FILE, @- or embedded:; env:NAME, @FILE and @- hide the address")
		cmd.Flags().StringVar(&f.budget, "budget", "", "scale the suite to this `time`, for example 30m; the result lists what was left out")
	}, "quick", "smoke", "target", "budget")
	f.scale = addSettings(cmd, &spec.Scale{}, scaleSettings)
	f.engine.add(cmd)
	f.share = addSettings(cmd, &spec.Run{}, shareSettings)
}

// isSuite separates folders from files; the error about a folder without suite.yaml comes later.
func isSuite(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

func (f *suiteFlags) plan(ctx context.Context, env *environment, dir, out string) (*suite.Plan, error) {
	o, err := f.options(ctx, env, out)
	if err != nil {
		return nil, err
	}
	switch {
	case f.quick && f.smoke, f.budget != "" && (f.quick || f.smoke):
		return nil, usageError("--quick, --smoke and --budget exclude each other: give one of them")
	case f.quick:
		o.Budget, o.Limit = record.BudgetQuick, suite.QuickTime
	case f.smoke:
		o.Budget, o.Limit = record.BudgetSmoke, suite.SmokeTime
	case f.budget != "":
		if o.Limit, err = budgetOf(f.budget); err != nil {
			return nil, err
		}
	}
	if len(f.scale.given()) > 0 {
		o.Scale = &spec.Scale{}
	}
	if err := f.scale.apply(o.Scale); err != nil {
		return nil, err
	}
	return planFolder(dir, o)
}

// planAgain plans the suite of a record again, from its folder. Its time and scale are those of the record.
func (f *suiteFlags) planAgain(ctx context.Context, env *environment, dir, out string) (*suite.Plan, error) {
	r, err := record.OpenSuite(out)
	if err != nil {
		return nil, withExit(exitUsage, err)
	}
	o, err := f.options(ctx, env, out)
	if err != nil {
		return nil, err
	}
	o.Budget, o.Limit, o.Scale = r.Budget, r.Limit.Std(), &r.Scale
	return planFolder(dir, o)
}

// options are the options of a plan without its time and scale. out is the directory of the record.
func (f *suiteFlags) options(ctx context.Context, env *environment, out string) (o suite.PlanOptions, err error) {
	if err := readAddresses(env, &f.target); err != nil {
		return o, err
	}
	if err := f.engine.check(); err != nil {
		return o, err
	}
	return suite.PlanOptions{Against: f.target, Data: out + "-data", Machine: newSuiteMachine(env),
		Study: planOptions(ctx, env), CheckVolume: checkVolume(ctx, env),
		Load:         func(r *spec.Run) error { return f.share.apply(r) },
		ChooseEngine: func(l *spec.Lab) { f.engine.choose(ctx, env, l) }}, nil
}

func planFolder(dir string, o suite.PlanOptions) (*suite.Plan, error) {
	if _, err := os.Stat(dir); err == nil && !isSuite(dir) {
		return nil, usageError("%s is a file, and a suite is a folder with a %s; run a single study with plimsoll study run",
			dir, suite.File)
	}
	folder, err := suite.Open(dir)
	if err != nil {
		return nil, withExit(exitUsage, err)
	}
	p, err := suite.NewPlan(folder, o)
	return p, withExit(exitUsage, err)
}

// ofSuite refuses a suite where a command takes a study.
func ofSuite(command, of string) error {
	return usageError("%s is not a study. For a suite, use: plimsoll suite %s %s", of, command, of)
}

// budgetOf parses the time of a suite; "" means no limit.
func budgetOf(text string) (time.Duration, error) {
	if text == "" {
		return 0, nil
	}
	d, err := spec.ParseDuration(text)
	if err != nil || d <= 0 {
		return 0, usageError("--budget: %q is not a time; write for example 30m", text)
	}
	return d.Std(), nil
}

// checkVolume checks whether this machine can start a lab with volumes only.
func checkVolume(ctx context.Context, env *environment) func(spec.Lab) error {
	return func(l spec.Lab) error {
		home, err := homeDir(env)
		if err == nil {
			_, err = lab.Plan(ctx, home, l)
		}
		return err
	}
}

// suiteMachine reports what parts need and this machine lacks. It checks each need once.
type suiteMachine struct {
	env   *environment
	known map[string]string
}

func newSuiteMachine(env *environment) suite.Machine {
	return &suiteMachine{env: env, known: map[string]string{}}
}

func (m *suiteMachine) Lacks(need string) string {
	why, ok := m.known[need]
	if !ok {
		why = m.check(need)
		m.known[need] = why
	}
	return why
}

func (m *suiteMachine) check(need string) string {
	switch need {
	case "root":
		if os.Geteuid() != 0 {
			return "run plimsoll as root"
		}
	case "md", "lvm":
		f := volume.Detect()
		s := map[string]volume.Support{"md": f.MD, "lvm": f.LVM}[need]
		switch {
		case !s.Kernel:
			return "the kernel of this machine has no " + need
		case !s.Tools:
			return fmt.Sprintf("missing: %s", s.Missing)
		}
	}
	return ""
}
