package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/plimsoll-bench/plimsoll/fleet"
	"github.com/plimsoll-bench/plimsoll/internal/figure"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/run"
	"github.com/plimsoll-bench/plimsoll/spec"
	"github.com/plimsoll-bench/plimsoll/store"
)

// runOptions are the flags of `plimsoll run` that are not in the specification.
type runOptions struct {
	spec   specFlags
	format string
	quiet  bool
	dry    bool
	web    string
	agents agentFlags
	resume string
	repeat int
}

// runHelp is the beginning of the help.
const runHelp = `Load a target; report throughput, latency and whether the result is valid.

TARGET is one of:

  mongodb://…, mongodb+srv://…   a MongoDB deployment
  lab:NAME                       a cluster that 'plimsoll lab up' started
  embedded:DIR                   an embedded database on this machine's disk (default)
  http://HOST:PORT/              a REST service for the workload person
  null:, null:tcp                a responder that stores nothing, to measure the client
  env:NAME, @FILE, @-            an address that other users of this machine do not see`

func newRunCommand(env *environment) *cobra.Command {
	var o runOptions
	cmd := &cobra.Command{
		Use:   "run [TARGET]",
		Short: "Load a target; report throughput, latency and whether the result is valid",
		Long: `Without --rate, each worker sends its next operation when the last one is answered (closed loop). Use
this to find saturation. With --rate, each operation has a planned time (open loop). At most --threads are
in progress. If all workers are busy, an operation is sent late, and its wait counts in the response time.
Users load a system like this, so use it to measure latency.

The result goes to standard output and progress to standard error. The record has all measured data.
A YAML file (-f FILE, or -f - for standard input) can specify the run; --print-spec prints such a file.

Exit codes: 0 objectives met, 1 other failure, 2 usage error, 3 target unreachable, 4 objective missed,
6 result invalid, 130 interrupted.` + addressHelp,
		Example: `  plimsoll run mongodb://host/ --workload b --duration 60s
  plimsoll run mongodb://db1,db2/?replicaSet=rs0 --workload b --rate 20k --warmup 10s --slo 'p99<20ms,errors<0.1%'
  plimsoll run --workload a --records 100k --threads 16
  plimsoll run lab:three --workload a --durability durable
  plimsoll run mongodb://db1/ --workload person --stage 5m:workers=50 --pace 26 --threads 1
  plimsoll run -f run.yaml --duration 10m
  plimsoll run env:MONGODB_URI --workload b       address from an environment variable
  plimsoll run @uri.txt --workload b              address from a file
  pass show db1 | plimsoll run @- --workload b    address from a password manager`,
		Args: atMostOne("target"),
		RunE: func(cmd *cobra.Command, args []string) error { return o.run(cmd, env, args) },
	}
	o.spec.addFileFlags(cmd, "run")
	var usual spec.Run
	usual.Defaults()
	o.spec.settings = addSettings(cmd, &usual, runSettings)
	resultFlags(cmd.Flags(), &o.format, formats()...)
	cmd.Flags().BoolVarP(&o.quiet, "quiet", "q", false, "show no progress")
	webFlag(cmd, &o.web)
	cmd.Flags().IntVar(&o.repeat, "repeat", 1, "run it so many `times` and show how much runs differ; the record is a study of one configuration")
	cmd.Flags().BoolVar(&o.dry, "print-spec", false, "print the specification with all defaults as YAML and exit")
	grouped(cmd, agentsGroup, func() {
		addAgentFlags(cmd.Flags(), &o.agents)
		cmd.Flags().StringVar(&o.resume, "resume", "", "complete the run of agents in this `directory`, whose command was killed; TARGET is its address again")
	})
	briefHelp(cmd, runHelp, "format")
	cmd.ValidArgsFunction = targets(env)
	return cmd
}

func (o *runOptions) run(cmd *cobra.Command, env *environment, args []string) error {
	target := ""
	if len(args) == 1 {
		target = args[0]
	}
	if o.resume != "" {
		return o.complete(cmd, env, target)
	}
	spec, err := o.spec.spec(cmd, env, target)
	if err != nil {
		return err
	}
	if o.dry {
		spec.Target, spec.Workload.File = store.Redact(spec.Target), nil // its name is enough, and it may be any file
		return printYAML(env.stdout, spec)
	}
	warnOfFaults(env, spec.Target)
	if o.repeat != 1 {
		return o.repeated(cmd.Context(), env, spec)
	}
	opts := run.Options{Dir: recordDir(env, spec)}
	if spec.Load.Place != "" { // it can be resumed
		if opts.Key, err = ownKey(env); err != nil {
			return err
		}
	}
	end, err := startWeb(env, o.web, opts.Dir)
	if err != nil {
		return err
	}
	defer end()
	places := o.agents.places(env, opts.Dir)
	defer places.close()
	if !o.quiet {
		for _, note := range run.Notes(spec) {
			fmt.Fprintf(env.stderr, "note: %s\n", note)
		}
	}
	result, err := execute(cmd.Context(), env, opts, o.quiet,
		func(ctx context.Context, opts run.Options) (*record.Run, error) {
			return fleet.Execute(ctx, spec, opts, fleet.Options{Places: places.find})
		})
	if result != nil && spec.LoadPhase.Only && err == nil {
		if o.format != "text" && o.format != verbose {
			return printResult(env.stdout, result, o.format)
		}
		defer leaves(env, o.quiet, opts.Dir, &result.Specification)
		return printLoaded(env, result)
	}
	return o.conclude(env, opts.Dir, result, err)
}

// repeated performs a run several times, as a study of one configuration, which can be resumed and compared.
func (o *runOptions) repeated(ctx context.Context, env *environment, asked spec.Run) error {
	if o.repeat < 1 || asked.LoadPhase.Only {
		return usageError("--repeat %d: give the number of measured runs, at least 2", o.repeat)
	}
	s := spec.Study{Name: "repeat", Run: asked, Trials: spec.Count(o.repeat), Canary: -1, Objectives: asked.Objectives,
		Labels: asked.Labels}
	s.Run.Out, s.Run.Objectives, s.Run.Labels = "", nil, nil
	return runStudy(ctx, env, s, cmp.Or(asked.Out, newDir("studies", asked.Workload.Title(), env.now())),
		conductFlags{format: o.format, quiet: o.quiet, web: o.web, agents: o.agents}, nil)
}

// complete finishes the run of a coordinator that was killed.
func (o *runOptions) complete(cmd *cobra.Command, env *environment, target string) error {
	given, err := o.again(cmd, env, &target)
	if err != nil {
		return err
	}
	places := o.agents.places(env, o.resume)
	places.resume = true
	defer places.close()
	if _, err := os.Stat(filepath.Join(o.resume, fleet.CoordinatorDir)); err == nil {
		// Another command that resumes the run moves its record.
		if err := places.hold(); err != nil {
			return withExit(exitUsage, err)
		}
	}
	old, err := fleet.Unfinished(o.resume)
	if err != nil {
		return withExit(exitUsage, err)
	}
	if target == "" {
		if target = old.Specification.Target; store.Redact(target) != target || strings.Contains(target, "***") {
			return usageError("the record has no password of its target: give the address again: plimsoll run ADDRESS --resume %s", o.resume)
		}
	}
	opts := run.Options{Dir: o.resume}
	if opts.Key, err = ownKey(env); err != nil {
		return err
	}
	result, err := execute(cmd.Context(), env, opts, o.quiet,
		func(ctx context.Context, opts run.Options) (*record.Run, error) {
			return fleet.Resume(ctx, target, given, opts, fleet.Options{Places: places.find})
		})
	return o.conclude(env, opts.Dir, result, err)
}

// again returns the specification that a run to resume began with, nil if only its target is given, and reads the
// target.
func (o *runOptions) again(cmd *cobra.Command, env *environment, target *string) (*spec.Run, error) {
	if !o.spec.given() {
		return nil, readAddresses(env, target)
	}
	asked, err := o.spec.spec(cmd, env, *target)
	*target = asked.Target
	return &asked, err
}

// conclude prints the result of a run, and returns how the command ends.
func (o *runOptions) conclude(env *environment, dir string, result *record.Run, err error) error {
	if result == nil {
		return runError(err)
	}
	defer leaves(env, o.quiet, dir, &result.Specification)
	if result.Phase("measure") != nil {
		if perr := printResult(env.stdout, result, o.format); perr != nil {
			return perr
		}
	}
	return runEnding(result, err)
}

// execute performs a run with progress, a record, and two levels of Ctrl-C.
func execute(ctx context.Context, env *environment, opts run.Options, quiet bool,
	do func(context.Context, run.Options) (*record.Run, error)) (*record.Run, error) {
	ctx, abort, stop := endOrAbort(ctx, env)
	defer stop()
	dir, key := opts.Dir, opts.Key
	opts = runsOf(env, abort)
	opts.Dir, opts.Key, opts.Lab = dir, key, findLab(env)
	if quiet {
		return do(ctx, opts)
	}
	progress := newProgressLines(env)
	defer progress.end()
	opts.Progress = progress
	return do(progress.listening(ctx), opts)
}

// runsOf are the options that all runs of a command have. Those that may load a lab need a way to find it too.
func runsOf(env *environment, abort <-chan struct{}) run.Options {
	return run.Options{Tool: tool(), Command: commandLine(env), Abort: abort, Now: env.now, Getenv: env.getenv,
		Ceiling: ceiling(env), Service: startService}
}

// commandLine is the command as a record has it, without credentials.
func commandLine(env *environment) []string {
	return redactAll(append([]string{"plimsoll"}, env.args...))
}

func recordDir(env *environment, asked spec.Run) string {
	return cmp.Or(asked.Out, run.NewRecordDir(asked.Workload.Title(), env.now()))
}

// endOrAbort cancels ctx at the first interrupt and closes the channel at the second.
func endOrAbort(ctx context.Context, env *environment) (context.Context, <-chan struct{}, func()) {
	ctx, cancel := context.WithCancel(ctx)
	signals, stop := env.signals()
	abort, done := make(chan struct{}), make(chan struct{})
	var all sync.WaitGroup
	all.Go(func() {
		for n := 0; n < 2; n++ {
			select {
			case <-signals:
			case <-done:
				return
			}
			if n == 0 {
				cancel()
				fmt.Fprintln(env.stderr, "\nplimsoll: ending the run and what is in progress (Ctrl-C again: end at once)")
			} else {
				close(abort)
			}
		}
	})
	return ctx, abort, func() { stop(); close(done); all.Wait(); cancel() }
}

// ceiling returns the calibration of this machine, nil without one.
func ceiling(env *environment) *run.Ceiling {
	home, err := homeDir(env)
	if err != nil {
		return nil
	}
	machine := record.NewEnvironment(nil)
	c, err := run.ReadCeiling(home, machine.CPU, machine.Cores)
	if err != nil {
		fmt.Fprintf(env.stderr, "plimsoll: %v\n", err)
	}
	return c
}

// redactAll removes credentials from a command line.
func redactAll(words []string) []string {
	out := slices.Clone(words)
	for i, w := range out {
		if strings.Contains(w, "://") {
			out[i] = store.Redact(w)
		}
	}
	return out
}

// runError gives an error of a run its exit code and, if there is one, the next step.
func runError(err error) error {
	switch c := run.ConcludeError(err); {
	case err == nil:
		return nil
	case run.Denied(err):
		return withHint(exitUnreachable, err, "check user, roles, password and authSource in the address")
	case c == record.Ended:
		return withExit(exitInterrupted, errors.New("interrupted"))
	default:
		return withExit(exitOf[c], err)
	}
}

// runEnding returns how a printed run ends; err is what stopped it.
func runEnding(r *record.Run, err error) error {
	c := r.Conclude()
	switch {
	case r.NothingMeasured():
		return withExit(exitInterrupted, errors.New("interrupted before anything was measured"))
	case c != record.Ended && err != nil:
		return runError(err)
	}
	return ending(c)
}

func printLoaded(env *environment, r *record.Run) error {
	f := r.Fill
	_, err := fmt.Fprintf(env.stdout, "%s documents in %s: %s inserted in %s, %s already existed\n", figure.Count(f.Records),
		r.Target.Address, figure.Count(f.Inserted), figure.Duration(time.Duration(f.Seconds*1e9)), figure.Count(f.Present))
	return err
}
