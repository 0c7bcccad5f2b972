package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/report"
	"github.com/plimsoll-bench/plimsoll/run"
)

func newShowCommand(env *environment) *cobra.Command {
	var format string
	cmd := &cobra.Command{
		Use:   "show [DIR]",
		Short: "Print a stored result again",
		Long: `Print the result of a record again: a run, study, suite, drill, comparison or probe. Without DIR, it is the newest
record below plimsoll-data. The checksums of the record are verified. If a run or study was killed, the result is recovered from its data.

Exit codes are those of the command that made the record: 0 objectives met, 1 failed, 4 objective missed,
5 acknowledged write lost, 6 result invalid (also: record altered or nothing measured), 130 interrupted or killed.
Code 2: usage error or unreadable record.`,
		Args: atMostOne("record directory"),
		RunE: func(_ *cobra.Command, args []string) (err error) {
			dir := ""
			if len(args) > 0 {
				dir = args[0]
			} else if dir, err = newestRecord(); err != nil {
				return err
			}
			return show(env, dir, format)
		},
	}
	resultFlags(cmd.Flags(), &format, formats()...)
	return cmd
}

// newestRecord is the newest record below the directory of this place, by the times in the names.
func newestRecord() (string, error) {
	all, _ := filepath.Glob(filepath.Join(run.DefaultDir, "*", "[0-9]*")) // the pattern is well-formed
	newest := ""
	for _, dir := range all {
		if info, err := os.Lstat(dir); err == nil && info.IsDir() && filepath.Base(dir) >= filepath.Base(newest) {
			newest = dir
		}
	}
	if newest == "" {
		return "", usageError("there is no record below %s here: give the directory of a record", run.DefaultDir)
	}
	return newest, nil
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
	if format == "text" || format == verbose {
		for _, e := range leftBehind(env, r) {
			fmt.Fprintln(env.stdout, "!", stillInjected(env, e))
		}
	}
	result := report.Ready(dir, r)
	if err := printRecord(env.stdout, dir, result, format); err != nil {
		return err
	}
	if r.NothingMeasured() {
		return withExit(exitInterrupted, errors.New("interrupted before anything was measured"))
	}
	return ending(result.Conclude())
}
