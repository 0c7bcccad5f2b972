package main

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/plimsoll-bench/plimsoll/internal/nearest"
	"github.com/plimsoll-bench/plimsoll/lab"
	"github.com/plimsoll-bench/plimsoll/lab/volume"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/record/schema"
	"github.com/plimsoll-bench/plimsoll/spec"
	"github.com/plimsoll-bench/plimsoll/suite"
)

// newSuiteCommand is the group of everything about suites.
func newSuiteCommand(env *environment) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "suite",
		Short: "Repeat a published measurement: a folder of studies, drills and probes",
		Long: `Repeat a published measurement, and hold each statement of it against what is measured here.

A suite is a folder with suite.yaml: studies, drills and probes that are done one after the other. Five
are in examples/ of a clone.

  plimsoll suite plan FOLDER         show its parts, what each takes and needs, and what is left out here
  plimsoll suite run FOLDER --quick  do it in ten minutes, and say what was scaled or left out for that
  plimsoll suite status DIR          how far it is
  plimsoll suite resume DIR          go on after Ctrl-C, a crash, a full disk, …
  plimsoll suite show DIR            what the document says, and what was found here

Its record is a directory in which each part has a record of its own. 'plimsoll report DIR' makes the
page again.`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newSuitePlanCommand(env), newSuiteRunCommand(env), newSuiteResumeCommand(env), newSuiteStatusCommand(env),
		newSuiteShowCommand(env), newSchemaCommand(env, "of suite.yaml", schema.SuiteSpec)) // a subcommand lives in a file of its own: suite_*.go
	return cmd
}

// suiteFlags are the flags that say what is made of the folder of a suite.
type suiteFlags struct {
	quick, smoke          bool
	budget, scale, target string
	engine                engineFlags
}

func (f *suiteFlags) add(cmd *cobra.Command) {
	f.addFitting(cmd)
	cmd.Flags().StringVar(&f.budget, "budget", "", "fit it into this time, for example 30m, and say what was left out for that")
	f.engine.add(cmd.Flags())
}

// addFitting adds the flags that studies do not have.
func (f *suiteFlags) addFitting(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&f.quick, "quick", false, "fit it into ten minutes, and say what was left out for that")
	cmd.Flags().BoolVar(&f.smoke, "smoke", false, "fit it into a minute, which shows that it works and proves nothing")
	cmd.Flags().StringVar(&f.scale, "scale", "", "how much smaller than the document's hardware, for example data=1/64,workers=1/4,cores=1/8,rates=1/10")
	cmd.Flags().StringVar(&f.target, "target", "", "load this deployment instead of labs: mongodb://HOST (or env:NAME, @FILE or @-, which "+
		"keep it out of the command line), or embedded: for documents on this machine's disk")
}

// isSuite tells the folder of a suite from a file. A folder without suite.yaml is one that somebody takes for a suite.
func isSuite(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// plan makes the plan of a suite.
func (f *suiteFlags) plan(env *environment, dir, out string) (*suite.Plan, error) {
	if _, err := os.Stat(dir); err == nil && !isSuite(dir) {
		return nil, usageError("%s is a file, and a suite is a folder with %s in it; a study alone is done by plimsoll study run", dir, suite.File)
	}
	if err := readAddresses(env, &f.target); err != nil {
		return nil, err
	}
	o := suite.PlanOptions{Against: f.target, Data: out + "-data", Machine: newSuiteMachine(env), Study: planOptions(env),
		CheckVolume: checkVolume(env)}
	if err := f.engine.check(); err != nil {
		return nil, err
	}
	o.ChooseEngine = func(l *spec.Lab) { f.engine.choose(context.Background(), env, l) }
	switch {
	case f.quick && f.smoke, f.budget != "" && (f.quick || f.smoke):
		return nil, usageError("--quick, --smoke and --budget are three ways to say how long it may take: give one of them")
	case f.quick:
		o.Budget, o.Limit = record.BudgetQuick, suite.QuickTime
	case f.smoke:
		o.Budget, o.Limit = record.BudgetSmoke, suite.SmokeTime
	case f.budget != "":
		var err error
		if o.Limit, err = budgetOf(f.budget); err != nil {
			return nil, err
		}
	}
	var err error
	if o.Scale, err = parseScale(f.scale); err != nil {
		return nil, err
	}
	folder, err := suite.Open(dir)
	if err != nil {
		return nil, withExit(exitUsage, err)
	}
	p, err := suite.NewPlan(folder, o)
	return p, withExit(exitUsage, err)
}

// suiteAlias are flags of suites that commands of studies take without saying so: before suites had commands of their
// own, 'plimsoll study run FOLDER' was the one of a suite, and it does the same as 'plimsoll suite run FOLDER'.
type suiteAlias struct{ suiteFlags }

func (f *suiteAlias) add(cmd *cobra.Command) {
	f.addFitting(cmd)
	for _, name := range []string{"quick", "smoke", "scale", "target"} {
		_ = cmd.Flags().MarkHidden(name) // there is one by that name
	}
}

// refused says that a flag for suites was given to a study.
func (f *suiteAlias) refused(file string) error {
	if f.suiteFlags == (suiteFlags{}) {
		return nil
	}
	return usageError("--quick, --smoke, --scale and --target are for a suite, a folder with %s in it, and %s is a file: "+
		"change its keys instead (trials, scale, run.target)", suite.File, file)
}

// flags are those of the suite, some of which it shares with studies.
func (f *suiteAlias) flags(study *studyFlags) (suiteFlags, error) {
	if study.trials != "" || study.seed != 0 {
		return suiteFlags{}, usageError("--trials and --seed change one study: a suite is made smaller as a whole, with --quick, --smoke or --budget")
	}
	all := f.suiteFlags
	all.budget, all.engine = study.budget, study.engine
	return all, nil
}

// budgetOf reads the time that a suite may take, "" being none.
func budgetOf(text string) (time.Duration, error) {
	if text == "" {
		return 0, nil
	}
	d, err := spec.ParseDuration(text)
	if err != nil || d <= 0 {
		return 0, usageError("--budget: %q is not a time; write it like 30m", text)
	}
	return d.Std(), nil
}

// parseScale reads data=1/64,workers=1/4.
func parseScale(text string) (*spec.Scale, error) {
	if text == "" {
		return nil, nil
	}
	var s spec.Scale
	known := []string{"data", "workers", "cores", "rates", "servers"}
	for pair := range strings.SplitSeq(text, ",") {
		key, value, _ := strings.Cut(strings.TrimSpace(pair), "=")
		to := map[string]*spec.Fraction{"data": &s.Data, "workers": &s.Workers, "cores": &s.Cores, "rates": &s.Rates, "servers": &s.Servers}[key]
		if to == nil {
			return nil, usageError("--scale: there is no %q%s (known: %s); write it like data=1/64,workers=1/4", key, nearest.DidYouMean(key, known), strings.Join(known, ", "))
		}
		f, err := spec.ParseFraction(value)
		if err != nil {
			return nil, usageError("--scale: %s: %v", key, err)
		}
		*to = f
	}
	return &s, nil
}

// checkVolume says whether this machine can make a lab that has volumes and no servers.
func checkVolume(env *environment) func(spec.Lab) error {
	return func(l spec.Lab) error {
		home, err := homeDir(env)
		if err == nil {
			_, err = lab.Plan(context.Background(), home, l)
		}
		return err
	}
}

// suiteMachine says what this machine has of what parts need. Each thing is looked at once.
type suiteMachine struct {
	env   *environment
	known map[string]string
}

func newSuiteMachine(env *environment) suite.Machine {
	return &suiteMachine{env: env, known: map[string]string{}}
}

// Lacks implements [suite.Machine].
func (m *suiteMachine) Lacks(need string) string {
	why, ok := m.known[need]
	if !ok {
		why = m.look(need)
		m.known[need] = why
	}
	return why
}

func (m *suiteMachine) look(need string) string {
	switch need {
	case "root":
		if os.Geteuid() != 0 {
			return "this is not root; call plimsoll as root"
		}
	case "md", "lvm":
		f := volume.Detect()
		s := map[string]volume.Support{"md": f.MD, "lvm": f.LVM}[need]
		switch {
		case !s.Kernel:
			return "the kernel of this machine has no " + need
		case !s.Tools:
			return fmt.Sprintf("there is no %s", s.Missing)
		}
	}
	return ""
}
