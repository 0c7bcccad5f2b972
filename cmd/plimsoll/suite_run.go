package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/plimsoll-bench/plimsoll/drill"
	"github.com/plimsoll-bench/plimsoll/internal/figure"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/report"
	"github.com/plimsoll-bench/plimsoll/report/html"
	"github.com/plimsoll-bench/plimsoll/run"
	"github.com/plimsoll-bench/plimsoll/study/conduct"
	"github.com/plimsoll-bench/plimsoll/suite"
)

// runSuite does the parts of a folder.
func (o *studyRunOptions) runSuite(ctx context.Context, env *environment, folder string) error {
	name := filepath.Base(filepath.Clean(folder))
	if abs, err := filepath.Abs(folder); err == nil {
		name = filepath.Base(abs)
	}
	dir := orElse(o.out, newDir("suites", name, env.now()))
	plan, err := o.suite.plan(env, folder, dir, &o.flags)
	if err != nil {
		return err
	}
	if why := plan.Nothing(); why != "" {
		return withHint(exitUsage, fmt.Errorf("nothing of %s can be done here; %s", folder, report.Clean(why)), "'plimsoll study plan "+folder+"' gives the reason for every part")
	}
	if o.out == "" && plan.Folder.Spec.Out != "" {
		dir = plan.Folder.Spec.Out
	}
	return o.conductSuite(ctx, env, dir, func(ctx context.Context, s suite.Options) (*record.Suite, error) {
		s.Dir = dir
		return suite.Run(ctx, plan, s)
	})
}

// resumeSuite goes on with a suite.
func (o *studyRunOptions) resumeSuite(ctx context.Context, env *environment, dir string) error {
	if o.file != "" || o.flags.trials != "" || o.flags.seed != 0 {
		return usageError("%s is a suite, which goes on as it was planned: --file, --trials and --seed are for studies; credentials of its target are given with --target", dir)
	}
	limit, err := budgetOf(o.flags.budget)
	if err != nil {
		return err
	}
	return o.conductSuite(ctx, env, dir, func(ctx context.Context, s suite.Options) (*record.Suite, error) {
		s.RetryFailed, s.Against, s.Limit = o.retryFailed, o.suite.target, limit
		return suite.Resume(ctx, dir, s)
	})
}

// conductSuite begins or resumes a suite under the eyes of a person, prints what came out and writes its page.
func (o *studyRunOptions) conductSuite(ctx context.Context, env *environment, dir string, do func(context.Context, suite.Options) (*record.Suite, error)) error {
	end, err := startWeb(env, o.web, dir)
	if err != nil {
		return err
	}
	defer end()
	ctx, abort, stop := endOrAbort(ctx, env)
	defer stop()
	runner, progress, err := o.suiteParts(env)
	if err != nil {
		return err
	}
	s := suite.Options{Runner: runner, Labs: runner.Labs, Abort: abort, Tool: tool(), Command: redactAll(append([]string{"plimsoll"}, env.args...)), Now: env.now}
	if progress != nil {
		s.Progress = progress
	}
	out, err := do(ctx, s)
	if progress != nil {
		progress.end()
	}
	if out == nil {
		return runError(err)
	}
	if perr := o.printSuite(env, dir); perr != nil {
		return perr
	}
	var stopped *suite.Interrupted
	switch {
	case errors.As(err, &stopped):
		return withExit(exitInterrupted, err)
	case err != nil:
		return runError(err)
	}
	if code := suite.Exit(out); code != exitSuccess {
		return withExit(code, errSilent)
	}
	return nil
}

// suiteParts does parts as the commands of each alone would. progress is nil if nobody wants to see any.
func (o *studyRunOptions) suiteParts(env *environment) (*suite.Parts, *suiteProgress, error) {
	labs, err := newStudyLabs(env)
	if err != nil {
		return nil, nil, err
	}
	command := redactAll(append([]string{"plimsoll"}, env.args...))
	runs := &conduct.Runs{Options: run.Options{Tool: tool(), Now: env.now, Command: command, Ceiling: ceiling(env), Lab: findLab(env), Service: startService}, Launch: clientLauncher()}
	p := &suite.Parts{Labs: labs, Volumes: &suiteVolumes{labs.home}, Verdict: verdictOfPart, Failed: func(err error) int { return exitCode(studyError(err)) }}
	p.Conduct = conduct.Options{Runner: runs, Tool: tool(), Command: command, Plan: planOptions(env), Drop: o.drop, Labs: labs}
	p.Drill = drill.Options{Labs: labs, Open: openDrillLab(env), Launch: clientLauncher()}
	p.Drill.Run = run.Options{Tool: tool(), Now: env.now, Ceiling: ceiling(env), Command: command, Service: startService}
	if o.quiet {
		return p, nil, nil
	}
	progress := newStudyProgress(env)
	p.Conduct.Progress, runs.Options.Progress, p.Drill.Progress = progress, progress.trial(), progress.sharedProgress
	p.Probe = newDiskProgress(env, false, false)
	return p, &suiteProgress{progress}, nil
}

// verdictOfPart is the exit code of a record, as the command of the part alone has it.
func verdictOfPart(out suite.Outcome) int {
	switch {
	case out.Study != nil:
		return exitCode(verdictOfStudy(out.Study))
	case out.Drill != nil:
		return exitCode(verdictOfDrill(out.Drill))
	}
	if slices.ContainsFunc(out.Probe.Durability, func(d record.ProbeDurability) bool { return d.Grade == "C" && d.Missing > 0 }) {
		return exitLost // what was acknowledged was gone after a power cut, as a drill has it
	}
	return exitCode(verdictOfProbe(out.Probe))
}

// printSuite prints what came out, writes the page beside the record and says where it is.
func (o *studyRunOptions) printSuite(env *environment, dir string) error {
	if err := printSuiteRecord(env, dir, o.format); err != nil {
		return err
	}
	fmt.Fprintf(env.stderr, "record in %s\n", dir)
	page := filepath.Join(dir, "report.html")
	if err := writeReport(env, []string{dir}, "html", page); err != nil {
		return err
	}
	fmt.Fprintf(env.stderr, "made again, also elsewhere, with: plimsoll report %s\n", dir)
	return nil
}

// printSuiteRecord prints the suite of a directory in a format.
func printSuiteRecord(env *environment, dir, format string) error {
	s, err := report.OpenSuite(dir)
	if err != nil {
		return withExit(exitFailure, err)
	}
	return printResult(env.stdout, s, format)
}

// writeSuiteParts lists the parts of a suite with what became of them.
func writeSuiteParts(b *strings.Builder, s *record.Suite) {
	t := table{left: 3, last: 1}
	t.row("part", "kind", "status", "time", "exit", "record or reason")
	for _, p := range s.Parts {
		took, exit := "-", "-"
		if p.Seconds > 0 {
			took = figure.Duration(time.Duration(p.Seconds * float64(time.Second)))
		}
		if p.Status == record.PartDone || p.Status == record.PartFailed {
			exit = fmt.Sprint(p.Exit)
		}
		t.row(report.Clean(p.Name), p.Kind, string(p.Status), took, exit, report.Clean(orElse(p.Problem, p.Record)))
	}
	fmt.Fprintln(b)
	t.write(b, "")
}

// writeSuiteStatus prints how far a suite is.
func writeSuiteStatus(w io.Writer, s *record.Suite, dir string, now time.Time) error {
	var b strings.Builder
	text := string(s.Status)
	if pid, held := record.Holder(dir); held && s.Status == record.Running {
		text += fmt.Sprintf(" (process %d)", pid)
	}
	fmt.Fprintf(&b, "suite %s: %s, begun %s\n", report.Clean(s.Specification.Name), text, s.Started.UTC().Format(time.RFC3339))
	if s.Problem != "" {
		fmt.Fprintln(&b, wrap(report.Clean(s.Problem), textWidth, "  "))
	}
	count, left := map[record.PartStatus]int{}, 0.0
	for _, p := range s.Parts {
		count[p.Status]++
		if p.Status == record.PartPlanned || p.Status == record.PartRunning {
			left += p.Estimate
		}
	}
	fmt.Fprintf(&b, "parts     %d of %d done", count[record.PartDone], len(s.Parts)-count[record.PartLeft])
	for _, status := range []record.PartStatus{record.PartFailed, record.PartRunning, record.PartLeft} {
		if n := count[status]; n > 0 {
			fmt.Fprintf(&b, ", %d %s", n, status)
		}
	}
	fmt.Fprintln(&b)
	if left > 0 {
		fmt.Fprintf(&b, "left      about %s\n", clock(time.Duration(left*float64(time.Second))))
	}
	writeBudget(&b, s, dir, now)
	writeSuiteParts(&b, s)
	switch {
	case s.Status != record.Running && s.Status != record.Complete:
		fmt.Fprintf(&b, "\ngo on with: plimsoll study resume %s\n", dir)
	case s.Status == record.Complete && count[record.PartFailed] > 0:
		fmt.Fprintf(&b, "\nrepeat what failed with: plimsoll study resume %s --retry-failed\n", dir)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// writeBudget says how a suite stands in the time that it may take.
func writeBudget(b *strings.Builder, s *record.Suite, dir string, now time.Time) {
	if s.Limit == 0 {
		return
	}
	if s.Status != record.Running {
		now = time.Time{} // nothing has passed since it last wrote
	}
	worked, err := record.SuiteWorked(dir, now)
	if err != nil {
		return // its parts could be read, which is what was asked for
	}
	fmt.Fprintf(b, "budget    %s, %s used", clock(s.Limit.Std()), clock(worked))
	if left := s.Limit.Std() - worked; s.Status == record.Complete {
		fmt.Fprintln(b)
	} else if left >= 0 {
		fmt.Fprintf(b, ", %s left\n", clock(left))
	} else {
		fmt.Fprintf(b, ", %s over\n", clock(-left))
	}
	if late := s.LateParts(); len(late) > 0 {
		fmt.Fprintf(b, "ran late  more was left out of %s: plimsoll report says what; with more time: plimsoll study resume %s --budget TIME\n", figure.Plural(len(late), "part"), dir)
	}
}

// suiteStatus prints how far the suite of a directory is.
func suiteStatus(env *environment, dir, format string) error {
	s, err := record.OpenSuite(dir)
	if err != nil {
		return withExit(exitUsage, err)
	}
	if format == "json" {
		return printJSON(env.stdout, s)
	}
	html.Tidy(s)
	return writeSuiteStatus(env.stdout, s, dir, env.now())
}
