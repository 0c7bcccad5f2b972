package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/plimsoll-bench/plimsoll/drill"
	"github.com/plimsoll-bench/plimsoll/platform"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/report"
	"github.com/plimsoll-bench/plimsoll/spec"
	"github.com/plimsoll-bench/plimsoll/suite"
)

type suiteRunOptions struct {
	flags suiteFlags
	conductFlags
	out         string // of run
	file        string // of resume
	retryFailed bool   // of resume
}

const suiteExits = `Exit codes: 0 expectations met, 2 usage error, 4 expectation missed, 5 a write was lost that had to survive,
6 a result is invalid, 130 interrupted. If a part has no result, the code is that of the part, or 1.`

func newSuiteRunCommand(env *environment) *cobra.Command {
	var o suiteRunOptions
	cmd := &cobra.Command{
		Use:   "run FOLDER",
		Short: "Run all parts of a suite and compare the results with the document",
		Long: `Each part has its own record in the directory of the suite. The page of the suite is report.html in the
same directory. --quick scales the suite to ten minutes, --smoke to one; the page lists everything that
was scaled or left out, with the reason. Ctrl-C ends the current part. 'plimsoll suite resume DIR'
continues without repeating finished parts.

` + suiteExits,
		Example: `  plimsoll suite run examples/write-concern --quick
  plimsoll suite run examples/policy-storage --budget 2h --out policy
  plimsoll suite run examples/ssd-vs-disk --smoke --target embedded:`,
		Args: exactlyOne("folder of a suite"),
		RunE: func(cmd *cobra.Command, args []string) error { return o.run(cmd.Context(), env, args[0]) },
	}
	o.flags.add(cmd)
	o.conductFlags.add(cmd)
	cmd.Flags().StringVar(&o.out, "out", "", "`directory` of the suite (default plimsoll-data/suites/TIME-NAME)")
	briefHelp(cmd, `Run the studies, drills and probes of a suite one after the other, and compare the results with each
statement of the document.`, "out", "format", "web", "yes-break-it", "drop")
	return cmd
}

func newSuiteResumeCommand(env *environment) *cobra.Command {
	var o suiteRunOptions
	cmd := &cobra.Command{
		Use:   "resume DIR",
		Short: "Continue a suite that ended early",
		Long: `Continue a suite that was interrupted, killed or stopped by an error.

Complete parts are kept, an incomplete study continues, and an incomplete drill or probe starts again. The
plan is the stored one, even if the files of the suite changed. Parts that were left out for lack of time
stay out, unless --budget gives the suite more time.

The stored plan names the programs that are started. It is used only if this user wrote it (with this
PLIMSOLL_HOME); otherwise give the folder of the suite again (--file), which must be unchanged.

` + suiteExits,
		Example: `  plimsoll suite resume policy
  plimsoll suite resume policy --retry-failed
  plimsoll suite resume policy --budget 3h`,
		Args: exactlyOne("directory of a suite"),
		RunE: func(cmd *cobra.Command, args []string) error { return o.resume(cmd.Context(), env, args[0]) },
	}
	o.conductFlags.add(cmd)
	cmd.Flags().StringVarP(&o.file, "file", "f", "", "`folder` of the suite, for a record of another user; its files must be unchanged")
	o.flags.engine.add(cmd)
	for _, name := range []string{"engine", "binary"} {
		cmd.Flags().Lookup(name).Usage += "; needs --file"
	}
	cmd.Flags().StringVar(&o.flags.budget, "budget", "", "total `time` of the suite, including the time already used, for example 3h")
	cmd.Flags().StringVar(&o.flags.target, "target", "", "`target` with its credentials: env:NAME, @FILE and @- hide them")
	cmd.Flags().BoolVar(&o.retryFailed, "retry-failed", false, "also repeat failed parts")
	return cmd
}

func (o *suiteRunOptions) run(ctx context.Context, env *environment, folder string) error {
	if err := checkLabTarget(ctx, env, o.flags.target); err != nil {
		return err
	}
	name := filepath.Base(filepath.Clean(folder))
	if abs, err := filepath.Abs(folder); err == nil {
		name = filepath.Base(abs)
	}
	dir := cmp.Or(o.out, newDir("suites", name, env.now()))
	plan, err := o.flags.plan(ctx, env, folder, dir)
	if err != nil {
		return err
	}
	if why := plan.Nothing(); why != "" {
		return withHint(exitUsage, fmt.Errorf("no part of %s can run here; %s", folder, report.Clean(why)),
			"'plimsoll suite plan "+folder+"' shows the reason for each part")
	}
	if err := o.confirm(ctx, env, plan); err != nil {
		return err
	}
	if o.out == "" && plan.Folder.Spec.Out != "" {
		dir = plan.Folder.Spec.Out
	}
	return o.conduct(ctx, env, dir, func(ctx context.Context, s suite.Options) (*record.Suite, error) {
		s.Dir = dir
		return suite.Run(ctx, plan, s)
	})
}

func (o *suiteRunOptions) resume(ctx context.Context, env *environment, dir string) error {
	if err := readAddresses(env, &o.flags.target); err != nil {
		return err
	}
	limit, err := budgetOf(o.flags.budget)
	if err != nil {
		return err
	}
	var plan *suite.Plan
	if o.file != "" {
		if plan, err = o.flags.planAgain(ctx, env, o.file, dir); err != nil {
			return err
		}
	} else if len(o.flags.engine.given()) > 0 {
		return usageError("--engine and --binary change files of the suite: give its folder with --file")
	}
	return o.conduct(ctx, env, dir, func(ctx context.Context, s suite.Options) (*record.Suite, error) {
		s.RetryFailed, s.Against, s.Limit, s.Plan = o.retryFailed, o.flags.target, limit, plan
		return suite.Resume(ctx, dir, s)
	})
}

// confirm refuses a suite that breaks a deployment in Kubernetes, unless the user said yes.
func (o *suiteRunOptions) confirm(ctx context.Context, env *environment, plan *suite.Plan) error {
	for _, part := range plan.Parts {
		if o.yes || part.Out() || part.Plan.Drill == nil || !spec.InKubernetes(part.Plan.Drill.Run.Target) {
			continue
		}
		asked := *part.Plan.Drill
		broken, end, err := openDeployment(ctx, env, &asked)
		if err != nil {
			return err
		}
		err = (&drillOptions{}).confirm(ctx, env, broken, asked)
		return errors.Join(err, end())
	}
	return nil
}

// openDeployment opens the deployment in Kubernetes that a drill names, and replaces its target by an address.
func openDeployment(ctx context.Context, env *environment, asked *spec.Drill) (
	_ *platform.Deployment, end func() error, _ error,
) {
	pods, err := openPods(ctx, asked)
	if err != nil {
		return nil, nil, withExit(exitUnreachable, err)
	}
	broken, err := openPlatform(ctx, env, *asked, pods)
	if err != nil {
		return nil, nil, errors.Join(err, pods.Close())
	}
	if broken == nil { // the drill has no faults
		return nil, pods.Close, nil
	}
	return broken, broken.Close, nil
}

// conduct starts or resumes a suite with progress, prints the result and writes the page.
func (o *suiteRunOptions) conduct(ctx context.Context, env *environment, dir string,
	do func(context.Context, suite.Options) (*record.Suite, error)) error {
	end, err := startWeb(env, o.web, dir)
	if err != nil {
		return err
	}
	defer end()
	ctx, abort, stop := endOrAbort(ctx, env)
	defer stop()
	places := o.agents.places(env, "")
	defer places.close()
	runner, progress, err := o.parts(ctx, env, places)
	if err != nil {
		return err
	}
	s := suite.Options{Runner: runner, Labs: runner.Labs, Key: runner.Conduct.Key, Abort: abort, Tool: tool(),
		Command:  runner.Conduct.Command,
		Now:      env.now,
		ExitCode: func(c record.Conclusion) int { return exitOf[c] }}
	if progress != nil {
		s.Progress, ctx = progress, progress.listening(ctx)
	}
	out, err := do(ctx, s)
	if progress != nil {
		progress.end()
	}
	if out == nil {
		return studyError(err)
	}
	verdict, perr := o.print(env, dir)
	if perr != nil {
		return perr
	}
	if err != nil {
		return studyError(err)
	}
	return verdict
}

// parts runs parts like their own commands. progress is nil with --quiet.
func (o *suiteRunOptions) parts(ctx context.Context, env *environment, places *agentPlaces) (
	*suite.Parts, *suiteProgress, error,
) {
	c, labs, progress, err := o.options(ctx, env, places)
	if err != nil {
		return nil, nil, err
	}
	p := &suite.Parts{Labs: labs, Volumes: &suiteVolumes{labs.home}, Conduct: c}
	p.Drill = drill.Options{Labs: labs, Open: openDrillLab(env), Places: places.find}
	p.Pods = func(ctx context.Context, asked *spec.Drill, opts *drill.Options) (func() error, error) {
		if !o.yes {
			return nil, usageError("this part breaks a deployment in Kubernetes. To do it, add --yes-break-it")
		}
		broken, end, err := openDeployment(ctx, env, asked)
		if broken != nil {
			opts.Platform = broken
		}
		return end, err
	}
	p.Drill.Run = runsOf(env, nil)
	if progress == nil {
		return p, nil, nil
	}
	p.Drill.Progress = progress.progressLines
	probe := newDiskProgress(env, false, false)
	probe.lines, p.Probe = progress.progressLines, probe
	return p, &suiteProgress{progress}, nil
}

// print prints the result, writes the page next to the record, and returns how the command ends.
func (o *suiteRunOptions) print(env *environment, dir string) (verdict, err error) {
	r, err := record.OpenSuite(dir)
	if err != nil {
		return nil, withExit(exitFailure, err)
	}
	result := report.Ready(dir, r)
	if err := printRecord(env.stdout, dir, result, o.format); err != nil {
		return nil, err
	}
	leaves(env, o.quiet, dir, nil)
	page := filepath.Join(dir, "report.html")
	if err := writeReport(context.Background(), env, []string{dir}, "html", page); err != nil {
		return nil, err
	}
	fmt.Fprintf(env.stderr, "write the page again with: plimsoll report %s\n", dir)
	return ending(result.Conclude()), nil
}
