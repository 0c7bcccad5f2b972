package main

import (
	"io"

	"github.com/spf13/cobra"

	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/study/judge"
)

func newHistoryCommand(env *environment) *cobra.Command {
	var f judgeFlags
	formats := []string{"text", "md", "json", "csv"}
	verdicts := []string{string(record.Worse), string(record.Better)}
	cmd := &cobra.Command{
		Use:   "history DIR…",
		Short: "Find changes of performance in a series of records",
		Long: `Find changes of performance in a series of records, for example nightly runs or runs of each build.

Records and studies in the directories and below them are grouped by workload, data, load, durability, client
and processor, and sorted by time. To find a change, ten records are needed, with at least three before and
three after it. Other changes at the same time (versions, settings, kernel) are listed.

Exit codes: 0 done, 1 other failure, 2 usage error or no record found, 4 the latest change of a metric has
a verdict of --fail-if.`,
		Example: `  plimsoll history nightly
  plimsoll history plimsoll-data/runs/2026* old-runs
  plimsoll history nightly --metric throughput,read.p99 --fail-if worse`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usageError("the directory is missing: %s DIR", cmd.CommandPath())
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error {
			margin, err := f.check(verdicts)
			if err != nil {
				return err
			}
			sources, skipped, err := judge.OpenAll(args...)
			if err != nil {
				return withExit(exitUsage, err)
			}
			h, err := judge.History(judge.HistorySides(sources, f.metrics),
				judge.HistoryOptions{Metrics: f.metrics, Margin: margin, Tool: tool()})
			if err != nil {
				return withExit(exitUsage, err)
			}
			if h.Skipped = skipped; len(args) == 1 {
				h.Directory = args[0]
			}
			if err := f.write(env, func(w io.Writer) error { return printResult(w, h, f.format) }); err != nil {
				return err
			}
			return ending(judge.ConcludeHistory(h, f.failIf...))
		},
	}
	f.add(cmd, formats, "worse, better")
	return cmd
}
