package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/plimsoll-bench/plimsoll/disk"
	"github.com/plimsoll-bench/plimsoll/drill"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/report"
	"github.com/plimsoll-bench/plimsoll/study/judge"
	suitejudge "github.com/plimsoll-bench/plimsoll/suite/judge"
)

func newShowCommand(env *environment) *cobra.Command {
	var format string
	cmd := &cobra.Command{
		Use:   "show DIR",
		Short: "Print a stored result again",
		Long: `Print the result of a record again: a run, study, suite, drill, comparison or probe. The checksums of the record
are verified. If a run or study was killed, the result is recovered from its data.

Exit codes are those of the command that made the record: 0 objectives met, 1 failed, 4 objective missed,
5 acknowledged write lost, 6 result invalid (also: record altered or nothing measured), 130 interrupted or killed.
Code 2: usage error or unreadable record.`,
		Args: exactlyOne("record directory"),
		RunE: func(_ *cobra.Command, args []string) error {
			return show(env, args[0], format)
		},
	}
	formatFlag(cmd.Flags(), &format, "result", formats()...)
	return cmd
}

func holds(dir, file string) bool {
	_, err := os.Lstat(filepath.Join(dir, file)) // reading refuses everything but regular files
	return err == nil
}

// show prints a record and returns the exit code of the command that made it.
func show(env *environment, dir, format string) error {
	r, err := record.Open(dir)
	if err != nil {
		return withExit(exitUsage, err)
	}
	return showResult(env, dir, r, format)
}

func showResult(env *environment, dir string, r record.Result, format string) error {
	if format == "text" {
		for _, e := range leftBehind(env, r) {
			fmt.Fprintln(env.stdout, "!", stillInjected(env, e))
		}
	}
	result, end := resultOf(dir, r)
	if err := printResult(env.stdout, result, format); err != nil {
		return err
	}
	return end
}

// resultOf returns the printable form of a record, and how the command that made it would have ended.
func resultOf(dir string, r record.Result) (result any, end error) {
	switch r := r.(type) {
	case *record.Study:
		if r.Status != record.Complete || len(r.Comparisons) == 0 {
			judge.Study(r) // an incomplete study has no verdicts yet
		}
		return r, ending(judge.Conclude(r))
	case *record.Suite:
		s := report.NewSuite(r, suitejudge.PartIn(dir))
		return s, ending(s.Conclude())
	case *record.Drill:
		return r, ending(drill.Conclude(r))
	case *record.Probe:
		return r, ending(disk.Conclude(r))
	case *record.ComparisonReport:
		return r, ending(judge.ConcludeComparison(r))
	case *record.Run:
		r.Specification.Out = dir
		return r, runEnding(r, nil)
	}
	return r, ending(record.ConcludeHead(r.Common()))
}
