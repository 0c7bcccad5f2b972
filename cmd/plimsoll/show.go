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
			switch dir := args[0]; {
			case holds(dir, record.SuiteFile):
				return showSuite(env, dir, format)
			case holds(dir, record.DrillFile):
				return showDrill(env, dir, format)
			case holds(dir, record.StudyFile):
				return showStudy(env, dir, format)
			case holds(dir, record.ProbeFile):
				return showProbe(env, dir, format)
			case holds(dir, record.ComparisonFile):
				return showComparison(env, dir, format)
			default:
				return showRun(env, dir, format)
			}
		},
	}
	cmd.Flags().StringVar(&format, "format", "text", strings.Join(formats(), ", "))
	return cmd
}

func holds(dir, file string) bool {
	_, err := os.Lstat(filepath.Join(dir, file)) // what is no regular file is refused when it is read
	return err == nil
}

func showRun(env *environment, dir, format string) error {
	r, err := record.Open(dir)
	if err != nil {
		return withExit(exitUsage, err)
	}
	r.Specification.Out = dir
	if err := runForms(r).print(env.stdout, format); err != nil {
		return err
	}
	return verdictOf(r, nil)
}

// showStudy prints a study. One that did not end may have no verdicts yet, so that it is judged as far as it came.
func showStudy(env *environment, dir, format string) error {
	s, err := record.OpenStudy(dir)
	if err != nil {
		return withExit(exitUsage, err)
	}
	if s.Status != record.Complete || len(s.Comparisons) == 0 {
		judge.Study(s)
	}
	if err := studyForms(s).print(env.stdout, format); err != nil {
		return err
	}
	return verdictOfStudy(s)
}

// showSuite prints a suite. Its exit code is that of its worst part; one with a doubt that came up since is invalid.
func showSuite(env *environment, dir, format string) error {
	s, err := report.OpenSuite(dir)
	if err != nil {
		return withExit(exitUsage, err)
	}
	if err := suiteForms(s).print(env.stdout, format); err != nil {
		return err
	}
	code := suite.Exit(s.Record)
	if s.Worst() == measure.Invalid && (code == exitSuccess || code == exitObjective) {
		code = exitInvalid
	}
	if code != exitSuccess {
		return withExit(code, errSilent)
	}
	return nil
}

func showComparison(env *environment, dir, format string) error {
	r, err := record.OpenComparison(dir)
	if err != nil {
		return withExit(exitUsage, err)
	}
	if err := comparisonForms(r).print(env.stdout, format); err != nil {
		return err
	}
	if measure.Worst(r.Validity) == measure.Invalid {
		return withExit(exitInvalid, errSilent)
	}
	return nil
}
