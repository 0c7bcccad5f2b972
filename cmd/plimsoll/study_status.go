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
	"github.com/plimsoll-bench/plimsoll/spec"
)

func newStudyStatusCommand(env *environment) *cobra.Command {
	var format string
	cmd := &cobra.Command{
		Use:   "status DIR",
		Short: "Show the progress of a study",
		Long: `Show the progress of a study, also while it runs: trials that are done, running, failed or lost, and how
to continue. 'plimsoll show DIR' prints the result.`,
		Args: exactlyOne("directory of a study"),
		RunE: func(_ *cobra.Command, args []string) error {
			if holds(args[0], record.SuiteFile) {
				return ofSuite("status", args[0])
			}
			s, err := record.OpenStudy(args[0])
			if err != nil {
				return withExit(exitUsage, err)
			}
			if format == "json" {
				return printJSON(env.stdout, s)
			}
			report.Tidy(s)
			return writeStudyStatus(env.stdout, s, args[0])
		},
	}
	formatFlag(cmd.Flags(), &format, "status", "text", "json")
	return cmd
}

func writeStudyStatus(w io.Writer, s *record.Study, dir string) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s\n", report.Clean(cmp.Or(s.Specification.Name, "study")), statusText(s, dir))
	if s.Problem != "" {
		fmt.Fprintln(&b, wrap(report.Clean(s.Problem), textWidth, "  "))
	}
	count, planned, seconds := countTrials(s)
	fmt.Fprintf(&b, "trials    %d of %d done", count[record.TrialDone], planned)
	for _, status := range []record.TrialStatus{record.TrialFailed, record.TrialTimeout, record.TrialLost,
		record.TrialRunning, record.TrialLeft} {
		if n := count[status]; n > 0 {
			fmt.Fprintf(&b, ", %d %s", n, status)
		}
	}
	fmt.Fprintln(&b)
	ended := count[record.TrialDone] + count[record.TrialFailed] + count[record.TrialTimeout] + count[record.TrialLeft]
	if left := planned - ended; left > 0 && seconds > 0 {
		rest := time.Duration(float64(left) * seconds * float64(time.Second))
		fmt.Fprintf(&b, "left      %s, about %s\n", figure.Plural(left, "trial"), clock(rest))
	}
	for _, p := range s.Procedures {
		fmt.Fprintf(&b, "%-9s %s = %s\n", p.Name, p.Path, chosenText(p))
	}
	writeOddTrials(&b, s)
	if s.Status != record.Running && s.Status != record.Complete {
		fmt.Fprintf(&b, "\ncontinue with: plimsoll study resume %s\n", dir)
	} else if s.Status == record.Complete && count[record.TrialFailed]+count[record.TrialTimeout] > 0 {
		fmt.Fprintf(&b, "\nrepeat failed trials with: plimsoll study resume %s --retry-failed\n", dir)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func statusText(s *record.Study, dir string) string {
	text := string(s.Status)
	if pid, held := record.Holder(dir); held && s.Status == record.Running {
		text += fmt.Sprintf(" (process %d)", pid)
	}
	text += ", started " + s.Started.UTC().Format(time.RFC3339)
	if s.Ended != nil {
		text += ", ended " + s.Ended.UTC().Format(time.RFC3339)
	}
	return text
}

// countTrials counts the planned trials by the status of their last attempts. seconds is the mean of complete trials.
func countTrials(s *record.Study) (count map[record.TrialStatus]int, planned int, seconds float64) {
	count = map[record.TrialStatus]int{}
	last := map[int]record.TrialStatus{}
	for _, t := range s.Trials {
		if t.Kind == record.TrialSearch {
			continue
		}
		last[t.Number] = t.Status
		if t.Status == record.TrialDone {
			seconds += t.Seconds
		}
	}
	for _, status := range last {
		count[status]++
	}
	return count, len(last), seconds / float64(max(1, count[record.TrialDone]))
}

// writeOddTrials lists attempts that failed, were lost or are running.
func writeOddTrials(b *strings.Builder, s *record.Study) {
	t := table{left: 5, last: 1}
	t.row("trial", "block", "configuration", "status", "record", "problem")
	n := 0
	for _, x := range s.Trials {
		if x.Status == record.TrialDone || x.Status == record.TrialPlanned {
			continue
		}
		n++
		number := fmt.Sprintf("%d.%d", x.Number, x.Attempt)
		if x.Kind == record.TrialSearch {
			number = "procedure"
		}
		t.row(number, fmt.Sprint(x.Block), report.Clean(x.Configuration), string(x.Status), x.Record, report.Clean(x.Problem))
	}
	if n > 0 {
		fmt.Fprintln(b)
		t.write(b, "")
	}
}

// chosenText formats the value that a procedure chose: a time or a count.
func chosenText(p record.ProcedureResult) string {
	if strings.HasSuffix(p.Path, "duration") {
		return spec.Duration(p.Chosen * float64(time.Second)).String()
	}
	return figure.Count(int64(p.Chosen))
}
