package main

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"go.yaml.in/yaml/v4"

	"github.com/plimsoll-bench/plimsoll/internal/figure"
	"github.com/plimsoll-bench/plimsoll/internal/safeopen"
	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/record/remote"
	"github.com/plimsoll-bench/plimsoll/report"
	"github.com/plimsoll-bench/plimsoll/spec"
	"github.com/plimsoll-bench/plimsoll/study/judge"
)

type ciFlags struct {
	judgeFlags
	store, branch, against, dir, record string
	junit, sarif, comment               string
	limit, change                       int
	keep                                bool
	line                                remote.Line
}

func newCICommand(env *environment) *cobra.Command {
	var f ciFlags
	cmd := &cobra.Command{
		Use:   "ci SPEC",
		Short: "Run a specification, compare it with the records of a branch, and fail by rule",
		Long: `Run a specification, compare it with the records of a branch, and fail by rule. For CI systems.

SPEC is a file of plimsoll run, study or capacity. With --record, the result is that record, and nothing is run.
The new record is compared with those of --against since the last change. A metric is worse or better if it
is outside of the interval in which one more record is expected, and the change is above --margin. It is
equivalent if a test shows that the change is within the margin. The first three records have no verdict.

Then the record is stored under --branch, or under the number of the change request, with whose records nothing is
compared. Without --branch and --change, the variables of GitHub and GitLab say which. In a pull request or merge
request, the record is always that of the request.

The store is a directory, s3://BUCKET/PREFIX?endpoint=HOST (credentials: AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY,
~/.aws, or the role of the machine) or oci://REGISTRY/REPOSITORY (credentials of docker login).

Exit codes: 0 done, 1 other failure, 2 usage error, 4 a verdict of --fail-if, 6 the new record is invalid; the codes
of run, study and capacity if these fail.`,
		Example: `  plimsoll ci nightly.yaml --store plimsoll-data/history
  plimsoll ci nightly.yaml --store 's3://perf/plimsoll?endpoint=s3.example' --junit junit.xml --sarif plimsoll.sarif
  plimsoll ci nightly.yaml --store oci://ghcr.io/me/records --branch fix --against main --comment comment.md
  plimsoll ci --record my-record --store plimsoll-data/history`,
		Args: atMostOne("specification"),
		RunE: func(cmd *cobra.Command, args []string) error { return f.ci(cmd.Context(), env, args) },
	}
	f.add(cmd, []string{"text", "md", "json"}, strings.Join(compareVerdicts(), ", "))
	flags := cmd.Flags()
	flags.StringVar(&f.store, "store", "", "`address` of the records of branches")
	flags.StringVar(&f.branch, "branch", "", "`name` of the branch of the new record (default: from the CI system, or main)")
	flags.IntVar(&f.change, "change", 0, "`number` of the pull request or merge request of the new record (default: from the CI system)")
	flags.StringVar(&f.against, "against", "", "`branch` whose records are compared (default: the base of the change, or --branch)")
	flags.StringVar(&f.record, "record", "", "existing `record` instead of a specification")
	flags.StringVar(&f.dir, "dir", "plimsoll-data/ci", "`directory` for the new record and a copy of the records of the store")
	flags.IntVar(&f.limit, "limit", 200, "largest `number` of records of the branch to compare with")
	flags.BoolVar(&f.keep, "no-push", false, "do not store the new record")
	flags.StringVar(&f.junit, "junit", "", "`file` for the verdicts as JUnit XML")
	flags.StringVar(&f.sarif, "sarif", "", "`file` for the metrics that are worse as SARIF 2.1.0")
	flags.StringVar(&f.comment, "comment", "", "`file` for the verdicts with a picture as Markdown, to comment on a change")
	flags.Lookup("fail-if").DefValue = "worse"
	f.failIf = []string{string(record.Worse)}
	return cmd
}

func (f *ciFlags) ci(ctx context.Context, env *environment, args []string) error {
	margin, err := f.check(compareVerdicts())
	switch {
	case err != nil:
		return err
	case f.store == "":
		return usageError("plimsoll ci needs --store: a directory, s3://BUCKET/PREFIX or oci://REGISTRY/REPOSITORY")
	case len(args) == 1 == (f.record != ""):
		return usageError("plimsoll ci needs a specification, or --record with a record, and not both")
	case f.limit < 1:
		return usageError("--limit must be at least 1")
	}
	if err := f.lines(env); err != nil {
		return err
	}
	store, err := remote.Open(f.store)
	if err != nil {
		return withExit(exitUsage, err)
	}
	before, err := remote.Pull(ctx, store, f.against, f.dir, f.limit)
	if err != nil {
		return err
	}
	id := strings.Replace(env.now().UTC().Format("20060102T150405.000Z"), ".", "", 1)
	dir := filepath.Join(f.dir, f.line.Record(id))
	if f.record != "" {
		if err := remote.Copy(f.record, dir); err != nil {
			return withExit(exitUsage, fmt.Errorf("cannot read the record: %w", err))
		}
	} else if err := f.run(ctx, env, args[0], dir); err != nil {
		return err
	}
	g, err := f.judge(dir, before, margin)
	if err != nil {
		return err
	}
	if len(args) == 1 {
		g.Source = args[0]
	}
	if !f.keep {
		if err := remote.Push(ctx, store, f.line, id, dir); err != nil {
			return err
		}
	}
	return f.finish(env, g, dir)
}

// lines finds out whose the new record is, and the branch that it is compared with. In a change request the CI system
// decides, because the person who opened it chose the name of its branch.
func (f *ciFlags) lines(env *environment) error {
	own, base, err := remote.CI(env.getenv)
	request := own.IsChange()
	switch {
	case f.branch != "" && f.change != 0:
		return usageError("--branch and --change exclude each other")
	case f.change < 0:
		return usageError("--change is %d: it must be the number of a change request", f.change)
	case request && f.branch != "":
		return usageError("this is the change request %s, so its record cannot be stored as one of the branch %s. Omit --branch", own,
			f.branch)
	case request && f.change != 0 && remote.Change(f.change) != own:
		return usageError("this is the change request %s and not %d. Omit --change", own, f.change)
	case f.change != 0:
		own = remote.Change(f.change)
	case f.branch != "":
		own, base = remote.Branch(f.branch), f.branch
	case err != nil:
		return withHint(exitUsage, err, "say whose code runs, with --change NUMBER or --branch NAME")
	case own == remote.Line{}:
		own, base = remote.Branch("main"), "main"
	}
	f.line, f.against = own, cmp.Or(f.against, base)
	if f.against == "" {
		return usageError("%s has no branch to compare with. Name it with --against", own)
	}
	return nil
}

// run runs a specification as its own command does. A missed objective is no reason to stop: its record counts.
func (f *ciFlags) run(ctx context.Context, env *environment, file, dir string) error {
	b, err := safeopen.ReadPath(file, spec.MaxBytes)
	if err != nil {
		return withExit(exitUsage, fmt.Errorf("cannot read the specification: %w", err))
	}
	var keys map[string]any
	if err := yaml.Unmarshal(b, &keys); err != nil {
		return withExit(exitUsage, fmt.Errorf("%s: %w", file, err))
	}
	args := append(commandOf(keys), file, "--out", dir)
	inner := *env
	inner.args, inner.stdout = args, env.stderr
	if code := mainRun(ctx, &inner); code != exitSuccess && code != exitObjective && code != exitInvalid {
		return withExit(code, errSilent)
	}
	return nil
}

// commandOf returns the command that runs a specification with these keys.
func commandOf(keys map[string]any) []string {
	_, nested := keys["run"]
	only := []string{"search", "within", "while", "must", "recovery", "yes_break_it"} // of a capacity
	switch {
	case !nested:
		return []string{"run", "-f"}
	case slices.ContainsFunc(only, func(key string) bool { _, ok := keys[key]; return ok }):
		return []string{"capacity", "-f"}
	}
	return []string{"study", "run"}
}

// judge compares the new record with those before it.
func (f *ciFlags) judge(dir string, before remote.Pulled, margin float64) (*record.Gate, error) {
	sources, _, err := judge.OpenAll(f.dir)
	if err != nil {
		return nil, err
	}
	name := filepath.Base(dir)
	sources = slices.DeleteFunc(sources, func(s judge.Source) bool {
		return s.Name != name && !slices.Contains(before.Names, s.Name)
	})
	h, err := judge.History(judge.HistorySides(sources, f.metrics),
		judge.HistoryOptions{Metrics: f.metrics, Margin: margin, Tool: tool()})
	if err != nil {
		return nil, withExit(exitUsage, err)
	}
	g := judge.Gate(h, name, margin)
	g.Branch, g.Against = f.line.String(), f.against
	if n := len(before.Skipped); n > 0 {
		first := before.Skipped[0]
		g.Validity = append(g.Validity, measure.Finding{ID: "archive-skipped", Severity: measure.Warning, Text: fmt.Sprintf(
			"%s of %s cannot be read, so the new record is not compared with %s, for example %s: %v. Remove them from the store.",
			figure.Plural(n, "record"), f.against, map[bool]string{true: "it", false: "them"}[n == 1], first.Name, first.Err)})
	}
	return g, nil
}

// finish writes the result about the record in dir in all forms and fails by rule.
func (f *ciFlags) finish(env *environment, g *record.Gate, dir string) error {
	for file, write := range map[string]func(io.Writer, *record.Gate) error{
		f.junit: report.JUnit, f.sarif: report.SARIF, f.comment: report.GateComment,
	} {
		if file == "" {
			continue
		}
		var b bytes.Buffer
		if err := write(&b, g); err != nil {
			return err
		}
		if err := writeResult(env, file, b.Bytes()); err != nil {
			return err
		}
	}
	if err := f.write(env, func(w io.Writer) error { return printRecord(w, dir, g, f.format) }); err != nil {
		return err
	}
	switch {
	case measure.Worst(g.Validity) == measure.Invalid:
		return withExit(exitInvalid, errSilent)
	case slices.ContainsFunc(g.Metrics, func(m record.GateMetric) bool {
		return slices.Contains(f.failIf, string(m.Verdict))
	}):
		return withExit(exitObjective, errSilent)
	}
	return nil
}
