package main

import (
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/plimsoll-bench/plimsoll/disk/mongoperf"
	"github.com/plimsoll-bench/plimsoll/internal/figure"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/report"
	"github.com/plimsoll-bench/plimsoll/spec"
)

func newMongoperfCommand(env *environment) *cobra.Command {
	var step string
	var force bool
	cmd := &cobra.Command{
		Use:   "mongoperf < CONFIG",
		Short: "Replace mongoperf: the same configuration and the same output",
		Long: `Read the configuration of mongoperf from standard input and print the output of mongoperf:

  echo "{nThreads:16,fileSizeMB:1000,r:true,w:true}" | plimsoll disk mongoperf

Keys and defaults: nThreads (1), fileSizeMB (1), sleepMicros (0), mmf (false), r and w (false), recSizeKB (4)
and syncDelay (0, seconds). As in mongoperf, the test runs in the current directory with 1, 2, 4 … threads
for 8 s each, and with the last number until Ctrl-C. A write counts when it is durable.

Differences from mongoperf: MB/sec counts the bytes that were transferred, rates use the elapsed time, a
failed write ends the test, the use of the page cache is reported, the data is not compressible, and the
test file is removed. At the end, a summary with latencies goes to standard error.`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := mongoperf.Read(env.stdin)
			if err != nil {
				return withExit(exitUsage, err)
			}
			c.Forced = force
			var length spec.Duration
			if step != "" {
				if length, err = spec.ParseDuration(step); err != nil {
					return usageError("--step: %v", err)
				}
			}
			ctx, stop := untilInterrupt(cmd.Context(), env)
			defer stop()
			p, err := mongoperf.Run(ctx, c, ".", time.Duration(length), env.stdout,
				func(text string) { fmt.Fprintf(env.stderr, "plimsoll: %s\n", report.Clean(mongoperf.Advice(text))) })
			if p != nil {
				mongoperfSummary(env, p)
			}
			if err != nil {
				var failed *exitError
				errors.As(diskError(err), &failed)
				return withExit(failed.code, errors.New(mongoperf.Advice(err.Error())))
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&step, "step", "", "`time` of each number of threads, including the last (default 8s; the last until Ctrl-C)")
	cmd.Flags().BoolVar(&force, "force", false, "probe a directory that has a database or is in memory")
	return cmd
}

// mongoperfSummary prints latencies, which mongoperf did not.
func mongoperfSummary(env *environment, p *record.Probe) {
	for _, f := range p.Validity {
		fmt.Fprintf(env.stderr, "plimsoll: %s: %s\n", f.Severity, report.Clean(mongoperf.Advice(f.Text)))
	}
	t := table{left: 1}
	t.row("threads", "op/s", "MB/s", "p50", "p99", "max")
	for _, s := range p.Steps {
		if s.Latency == nil {
			continue
		}
		cells := []string{fmt.Sprint(s.Threads), figure.Rate(s.Rate), figure.Significant(s.BytesRate / 1e6)}
		for _, ns := range []*int64{s.Latency.P50, s.Latency.P99, &s.Latency.Max} {
			cell := "–"
			if ns != nil {
				cell = figure.Duration(time.Duration(*ns))
			}
			cells = append(cells, cell)
		}
		t.row(cells...)
	}
	if len(t.rows) > 1 {
		t.write(env.stderr, "")
	}
}
