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
		Use:   "history DIR",
		Short: "Find where results changed among many records of the same thing",
		Long: `Find where results changed among many records of the same thing: those of every night, of every
build. Records and studies in the directory, at any depth, are put into groups of the same workload,
data, load, durability, client and processor, in the order of time. A change needs ten points, three
on each side. What else changed at the same place (versions, settings, kernel) is listed.

  plimsoll history nightly
  plimsoll history nightly --metric throughput,read.p99 --fail-if worse

Exit codes: 0 done, 2 the directory holds no record, 4 --fail-if: the latest change of some metric is
such a one.`,
		Args: exactlyOne("directory"),
		RunE: func(_ *cobra.Command, args []string) error {
			margin, err := f.check(formats, verdicts)
			if err != nil {
				return err
			}
			sources, skipped, err := judge.OpenAll(args[0])
			if err != nil {
				return withExit(exitUsage, err)
			}
			h, err := judge.History(judge.HistorySides(sources, f.metrics), judge.HistoryOptions{Metrics: f.metrics, Margin: margin, Tool: tool()})
			if err != nil {
				return withExit(exitUsage, err)
			}
			h.Directory, h.Skipped = args[0], skipped
			if err := f.write(env, func(w io.Writer) error { return printResult(w, h, f.format) }); err != nil {
				return err
			}
			return ending(judge.ConcludeHistory(h, f.failIf...))
		},
	}
	f.add(cmd, formats, "worse, better")
	return cmd
}
