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
	"time"

	"github.com/spf13/cobra"

	"github.com/plimsoll-bench/plimsoll/campaign"
	"github.com/plimsoll-bench/plimsoll/internal/expression"
	"github.com/plimsoll-bench/plimsoll/internal/mac"
	"github.com/plimsoll-bench/plimsoll/lab"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/run"
	"github.com/plimsoll-bench/plimsoll/spec"
	"github.com/plimsoll-bench/plimsoll/study/conduct"
)

type studyRunOptions struct {
	flags studyFlags
	conductFlags
	file        string // of resume
	out         string // of run
	retryFailed bool   // of resume
}

// conductFlags are the flags of commands that run studies, alone or in a suite.
type conductFlags struct {
	format, web string
	quiet, drop bool
	yes         bool // deployments that are not labs may be broken
	agents      agentFlags
}

const studyExits = `Exit codes: 0 objectives met, 1 other failure, 2 usage error, 3 target unreachable, 4 objective missed,
6 result invalid, 130 interrupted.`

func newStudyRunCommand(env *environment) *cobra.Command {
	var o studyRunOptions
	cmd := &cobra.Command{
		Use:   "run FILE",
		Short: "Run all trials of a study and print the verdicts",
		Long:  studyExits,
		Example: `  plimsoll study run study.yaml
  plimsoll study run study.yaml --out sweep --trials 10`,
		Args: exactlyOne("study file"),
		RunE: func(cmd *cobra.Command, args []string) error { return o.run(cmd.Context(), env, args[0]) },
	}
	o.flags.add(cmd)
	o.conductFlags.add(cmd)
	cmd.Flags().StringVar(&o.out, "out", "", "`directory` of the study (default plimsoll-data/studies/TIME-NAME)")
	briefHelp(cmd, `Run all trials of a study and print the verdicts.

Each trial has its own record below the directory of the study. Ctrl-C stops the current trial and the
study. 'plimsoll study resume DIR' continues a study that ended early, without repeating finished trials.`,
		"out", "format", "web", "yes-break-it", "drop")
	return cmd
}

func newStudyResumeCommand(env *environment) *cobra.Command {
	var o studyRunOptions
	cmd := &cobra.Command{
		Use:   "resume DIR",
		Short: "Continue a study that ended early",
		Long: `The specification is the stored one. It has no
credentials: if the target needs them, give the file again (--file). It also names the programs that are
started: it is used only if this user wrote it (with this PLIMSOLL_HOME); otherwise give the file again.

` + studyExits,
		Example: `  plimsoll study resume sweep
  plimsoll study resume sweep --retry-failed
  plimsoll study resume sweep --file study.yaml`,
		Args: exactlyOne("directory of a study"),
		RunE: func(cmd *cobra.Command, args []string) error { return o.resume(cmd.Context(), env, args[0]) },
	}
	o.flags.add(cmd)
	for _, name := range []string{"trials", "seed", "budget", "engine", "binary", "agents", "place"} {
		cmd.Flags().Lookup(name).Usage += "; needs --file"
	}
	cmd.Flags().Lookup("budget").Usage = "stop if this session takes longer than this `time`, for example 8h; needs --file"
	o.conductFlags.add(cmd)
	cmd.Flags().StringVarP(&o.file, "file", "f", "", "`file` of the study, for its credentials or a record of another user (- for standard input); all other keys must be unchanged")
	cmd.Flags().BoolVar(&o.retryFailed, "retry-failed", false, "also repeat trials that failed or timed out")
	briefHelp(cmd, `Continue a study that was interrupted, killed or stopped by an error.

Complete trials are kept, and lost trials are repeated.`, "file", "retry-failed", "format", "web")
	return cmd
}

func (f *conductFlags) add(cmd *cobra.Command) {
	resultFlags(cmd.Flags(), &f.format, formats()...)
	cmd.Flags().BoolVarP(&f.quiet, "quiet", "q", false, "show no progress")
	webFlag(cmd, &f.web)
	grouped(cmd, agentsGroup, func() { addAgentFlags(cmd.Flags(), &f.agents) })
	cmd.Flags().BoolVar(&f.yes, "yes-break-it", false, "break deployments that are not labs, and change the storage policies of their disks, as planned")
	cmd.Flags().BoolVar(&f.drop, "drop", false, "if a trial needs new data, also drop data that this study did not load")
}

// options returns the options of all studies and the labs that they may start. progress is nil with --quiet.
func (f *conductFlags) options(ctx context.Context, env *environment, places *agentPlaces) (
	c conduct.Options, labs *studyLabs, progress *studyProgress, err error,
) {
	if labs, err = newStudyLabs(env); err != nil {
		return c, nil, nil, err
	}
	runs := &conduct.Runs{Places: places.find, Options: runsOf(env, nil)}
	runs.Options.Lab = findLab(env)
	c = conduct.Options{Runner: runs, Tool: tool(), Command: runs.Options.Command, Plan: planOptions(ctx, env),
		Drop: f.drop, Labs: labs, Key: recordKey(labs.home), Storage: f.storage(env)}
	if !f.quiet {
		progress = newStudyProgress(env)
		c.Progress, runs.Options.Progress, labs.tell = progress, progress.trial(), progress.Note
	}
	return c, labs, progress, nil
}

// recordKey is the key that marks the records of this user; nil if it cannot be read or made. Records without a mark
// are resumed with their specification only.
func recordKey(home string) *mac.Key {
	k, err := mac.Open(home)
	if err != nil {
		return nil
	}
	return k
}

// ownKey is [recordKey] of this user's directory.
func ownKey(env *environment) (*mac.Key, error) {
	home, err := homeDir(env)
	if err != nil {
		return nil, err
	}
	return recordKey(home), nil
}

func (o *studyRunOptions) run(ctx context.Context, env *environment, file string) error {
	if isSuite(file) {
		return ofSuite("run", file)
	}
	spec, asked, err := o.flags.readStudy(ctx, env, file)
	if err != nil {
		return err
	}
	if err := checkStudyTarget(ctx, env, &spec); err != nil {
		return err
	}
	if spec.Platform != "" && !o.yes {
		return usageError(needsYes)
	}
	dir := cmp.Or(o.out, cmp.Or(spec.Out, newDir("studies", spec.Name, env.now())))
	return o.conduct(ctx, env, dir, func(ctx context.Context, c conduct.Options) (*record.Study, error) {
		c.Dir, c.Asked = dir, asked
		return conduct.Run(ctx, spec, c)
	})
}

// checkStudyTarget checks that the lab of a study runs, before a record is created.
func checkStudyTarget(ctx context.Context, env *environment, asked *spec.Study) error {
	if asked.Lab != nil {
		return nil
	}
	for _, f := range asked.Factors {
		if f.Path == "target" || slices.ContainsFunc(f.Levels, func(l spec.Level) bool { _, sets := l.Set["target"]; return sets }) {
			return nil // each trial checks its own target
		}
	}
	return checkLabTarget(ctx, env, asked.Run.Target)
}

// checkLabTarget checks that the lab of a target runs. It ignores other targets.
func checkLabTarget(ctx context.Context, env *environment, target string) error {
	name, ok := spec.LabOf(target)
	if !ok {
		return nil
	}
	if home, err := homeDir(env); err != nil || podLabs(home, nil).Has(name) {
		return err
	}
	return withLab(ctx, env, name, func(*lab.Handle) error { return nil })
}

func (o *studyRunOptions) resume(ctx context.Context, env *environment, dir string) error {
	if holds(dir, record.SuiteFile) {
		return ofSuite("resume", dir)
	}
	var given *spec.Study
	if o.file != "" {
		spec, _, err := o.flags.readStudy(ctx, env, o.file)
		if err != nil {
			return err
		}
		given = &spec
	} else if len(o.flags.given())+len(o.flags.engine.given()) > 0 {
		return usageError("--trials, --seed, --budget, --engine and --binary change keys of a file: give the file with --file")
	}
	return o.conduct(ctx, env, dir, func(ctx context.Context, c conduct.Options) (*record.Study, error) {
		c.Spec, c.RetryFailed = given, o.retryFailed
		return conduct.Resume(ctx, filepath.Clean(dir), c)
	})
}

// conduct starts or resumes a study with progress, and prints the result.
func (o *studyRunOptions) conduct(ctx context.Context, env *environment, dir string,
	do func(context.Context, conduct.Options) (*record.Study, error)) error {
	end, err := startWeb(env, o.web, dir)
	if err != nil {
		return err
	}
	defer end()
	ctx, abort, stop := endOrAbort(ctx, env)
	defer stop()
	places := o.agents.places(env, "")
	defer places.close()
	c, _, progress, err := o.options(ctx, env, places)
	if err != nil {
		return err
	}
	c.Abort = abort
	s, err := do(ctx, c)
	if progress != nil {
		progress.end()
	}
	if s == nil {
		return studyError(err)
	}
	if perr := printRecord(env.stdout, dir, s, o.format); perr != nil {
		return perr
	}
	leaves(env, o.quiet, dir, remaining(s.Specification.Lab, &s.Specification.Run))
	if err != nil {
		return studyError(err)
	}
	return ending(s.Conclude())
}

// studyError is an error of a study or a suite with its exit code.
func studyError(err error) error {
	var stop *campaign.Stop
	if errors.As(err, &stop) {
		return withExit(exitOf[campaign.ConcludeError(err)], stop)
	}
	err = runError(err)
	if line := installLine(fmt.Sprint(err)); line != "" {
		return withHint(exitCode(err), err, "install the missing packages: "+line)
	}
	return err
}

var notForNames = expression.New(`[^A-Za-z0-9._]+`)

// newDir returns a new directory name for a record of a kind.
func newDir(kind, name string, now time.Time) string {
	word := strings.Trim(notForNames().ReplaceAllString(name, "-"), "-.")
	base := filepath.Join(run.DefaultDir, kind, now.Format("20060102-150405")+"-"+cmp.Or(word[:min(len(word), 40)], "study"))
	dir := base
	for n := 2; ; n++ {
		if _, err := os.Lstat(dir); err != nil {
			return dir
		}
		dir = fmt.Sprintf("%s-%d", base, n)
	}
}
