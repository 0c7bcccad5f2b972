package main

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/report"
	"github.com/plimsoll-bench/plimsoll/study/judge"
	"github.com/plimsoll-bench/plimsoll/suite"
)

func newShowCommand(env *environment) *cobra.Command {
	var format string
	cmd := &cobra.Command{
		Use:   "show DIR",
		Short: "Print a recorded result again",
		Long: `Print a recorded result again, in any format: that of a run, a study, a suite, a drill, a comparison or a probe.
The checksums are verified: a record that was altered is invalid, and one that is complete without checksums has
a warning. The results of a run or a study that was killed are recovered from what it left.

Exit codes are those of the command that made the record: 0 objectives met, 4 an objective is missed, 6 the result
must not be believed (also: altered, or nothing was measured), 130 interrupted or killed, 1 failed.`,
		Args: exactlyOne("record directory"),
		RunE: func(_ *cobra.Command, args []string) error {
			if err := checkFormat(format); err != nil {
				return err
			}
			return show(env, args[0], format)
		},
	}
	cmd.Flags().StringVar(&format, "format", "text", strings.Join(formats(), ", "))
	return cmd
}

func holds(dir, file string) bool {
	_, err := os.Lstat(filepath.Join(dir, file)) // what is no regular file is refused when it is read
	return err == nil
}

// show prints a record and returns what the command that made it would have ended with.
func show(env *environment, dir, format string) error {
	r, err := record.Open(dir)
	if err != nil {
		return withExit(exitUsage, err)
	}
	result, verdict := resultOf(dir, r)
	if err := printResult(env.stdout, result, format); err != nil {
		return err
	}
	return verdict
}

// resultOf is a record as it is printed, and the exit code of the command that made it.
func resultOf(dir string, r record.Result) (result any, verdict error) {
	switch r := r.(type) {
	case *record.Study:
		if r.Status != record.Complete || len(r.Comparisons) == 0 {
			judge.Study(r) // one that did not end may have no verdicts yet: it is judged as far as it came
		}
		return r, verdictOfStudy(r)
	case *record.Suite:
		s := report.NewSuite(r, report.PartIn(dir))
		return s, verdictOfSuite(s)
	case *record.Drill:
		return r, verdictOfDrill(r)
	case *record.Probe:
		return r, verdictOfProbe(r)
	case *record.ComparisonReport:
		return r, verdictOfComparison(r)
	case *record.Run:
		r.Specification.Out = dir
		return r, verdictOf(r, nil)
	}
	panic("there is a kind of record that is not printed")
}

// verdictOfSuite is the exit code of the worst part; a suite with a doubt that came up since is invalid.
func verdictOfSuite(s *report.Suite) error {
	code := suite.Exit(s.Record)
	if s.Worst() == measure.Invalid && (code == exitSuccess || code == exitObjective) {
		code = exitInvalid
	}
	if code != exitSuccess {
		return withExit(code, errSilent)
	}
	return nil
}

func verdictOfComparison(r *record.ComparisonReport) error {
	if measure.Worst(r.Validity) == measure.Invalid {
		return withExit(exitInvalid, errSilent)
	}
	return nil
}

// verdictOfStudy is the exit of a study: 130 for one that was ended early, 6 for one that is invalid, 4 where an
// objective that decides does not hold or cannot be told, or where a search for the capacity confirmed no rate.
func verdictOfStudy(s *record.Study) error {
	switch s.Status {
	case record.Interrupted, record.Killed:
		return withExit(exitInterrupted, errSilent)
	case record.Failed:
		return withExit(exitFailure, errSilent)
	}
	if measure.Worst(s.Validity) == measure.Invalid {
		return withExit(exitInvalid, errSilent)
	}
	if s.Capacity != nil && !s.Capacity.Confirmed {
		return withExit(exitObjective, errSilent)
	}
	for _, o := range s.Objectives {
		if !o.Holds && !o.Exploratory {
			return withExit(exitObjective, errSilent)
		}
	}
	return nil
}
