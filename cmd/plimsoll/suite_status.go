package main

import (
	"cmp"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/plimsoll-bench/plimsoll/internal/figure"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/report"
)

func newSuiteStatusCommand(env *environment) *cobra.Command {
	var format string
	cmd := &cobra.Command{
		Use:   "status DIR",
		Short: "Show the progress of a suite",
		Long: `Show the progress of a suite, also while it runs: the status of each part, the time used of the budget, and
how to continue.`,
		Args: exactlyOne("directory of a suite"),
		RunE: func(_ *cobra.Command, args []string) error {
			return suiteStatus(env, args[0], format)
		},
	}
	formatFlag(cmd.Flags(), &format, "status", "text", "json")
	return cmd
}

func newSuiteShowCommand(env *environment) *cobra.Command {
	var format string
	cmd := &cobra.Command{
		Use:   "show DIR",
		Short: "Print the statements of the document and the results here",
		Long: `Print the record of a suite again: the parts with their sizes and results, and for each statement and advice of
the document whether the results agree. 'plimsoll show DIR' prints a record of any kind in the same way.`,
		Args: exactlyOne("directory of a suite"),
		RunE: func(_ *cobra.Command, args []string) error {
			r, err := record.Open(args[0])
			if err != nil {
				return withExit(exitUsage, err)
			}
			if kind := r.Common().Kind; kind != record.KindSuite {
				return usageError("%s is the record of a %s, not of a suite: print it with plimsoll show %s", args[0], kind, args[0])
			}
			return showResult(env, args[0], r, format)
		},
	}
	resultFlags(cmd.Flags(), &format, formats()...)
	return cmd
}

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
		t.row(report.Clean(p.Name), p.Kind, string(p.Status), took, exit, report.Clean(cmp.Or(p.Problem, p.Record)))
	}
	fmt.Fprintln(b)
	t.write(b, "")
}

func writeSuiteStatus(w io.Writer, s *record.Suite, dir string, now time.Time) error {
	var b strings.Builder
	text := string(s.Status)
	if pid, held := record.Holder(dir); held && s.Status == record.Running {
		text += fmt.Sprintf(" (process %d)", pid)
	}
	fmt.Fprintf(&b, "suite %s: %s, started %s\n", report.Clean(s.Specification.Name), text, s.Started.UTC().Format(time.RFC3339))
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
		fmt.Fprintf(&b, "\ncontinue with: plimsoll suite resume %s\n", dir)
	case s.Status == record.Complete && count[record.PartFailed] > 0:
		fmt.Fprintf(&b, "\nrepeat failed parts with: plimsoll suite resume %s --retry-failed\n", dir)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// writeBudget prints the time used and left of the budget.
func writeBudget(b *strings.Builder, s *record.Suite, dir string, now time.Time) {
	if s.Limit == 0 {
		return
	}
	if s.Status != record.Running {
		now = time.Time{} // time stopped at its last write
	}
	worked, err := record.SuiteWorked(dir, now)
	if err != nil {
		return // the parts were read, which is enough here
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
		fmt.Fprintf(b, "late      %s scaled further for lack of time (see plimsoll report); for more time: plimsoll suite resume %s --budget TIME\n", figure.Plural(len(late), "part"), dir)
	}
}

func suiteStatus(env *environment, dir, format string) error {
	s, err := record.OpenSuite(dir)
	if err != nil {
		return withExit(exitUsage, err)
	}
	if format == "json" {
		return printJSON(env.stdout, s)
	}
	report.Tidy(s)
	return writeSuiteStatus(env.stdout, s, dir, env.now())
}
