package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/plimsoll-bench/plimsoll/internal/nearest"
	"github.com/plimsoll-bench/plimsoll/internal/shellword"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/report"
	"github.com/plimsoll-bench/plimsoll/spec"
	"github.com/plimsoll-bench/plimsoll/study/judge"
)

type judgeFlags struct {
	format, output, margin string
	metrics, failIf        []string
}

func (f *judgeFlags) add(cmd *cobra.Command, formats []string, verdicts string) {
	resultFlags(cmd.Flags(), &f.format, formats...)
	cmd.Flags().StringSliceVar(&f.metrics, "metric", nil, "`metrics`, for example throughput,read.p99,errors (default: throughput, errors, and mean and p99 of each operation)")
	cmd.Flags().StringVar(&f.margin, "margin", "3%", "smallest `change` that matters")
	cmd.Flags().StringVarP(&f.output, "output", "o", "", "output `file` (default and -: standard output)")
	cmd.Flags().StringSliceVar(&f.failIf, "fail-if", nil, "exit with code 4 if there is one of these `verdicts`: "+verdicts)
}

// check validates the flags before anything is read.
func (f *judgeFlags) check(verdicts []string) (margin float64, err error) {
	for _, v := range f.failIf {
		if !slices.Contains(verdicts, v) {
			return 0, usageError("--fail-if: unknown verdict %q%s (known: %s)", v, nearest.DidYouMean(v, verdicts), strings.Join(verdicts, ", "))
		}
	}
	for _, name := range f.metrics {
		if _, err := judge.ParseMetric(name); err != nil {
			return 0, withExit(exitUsage, fmt.Errorf("--metric: %w", err))
		}
	}
	return shareFlag("margin", f.margin, 0, maxMargin)
}

// maxMargin is the largest margin, also of studies: with more, every change would be equivalent.
const maxMargin = 0.5

// shareFlag parses a share above one limit and up to another.
func shareFlag(name, text string, above, below float64) (float64, error) {
	x, err := spec.ParseShare(text)
	if err != nil {
		return 0, withExit(exitUsage, fmt.Errorf("--%s: %w", name, err))
	}
	if !(float64(x) > above && float64(x) <= below) {
		return 0, usageError("--%s %s is out of range: it must be above %g %% and at most %g %%", name, text, above*100, below*100)
	}
	return float64(x), nil
}

func (f *judgeFlags) write(env *environment, print func(io.Writer) error) error {
	if f.output == "" {
		return print(env.stdout)
	}
	var b bytes.Buffer
	w := newOutlet(&b, maxLine)
	w.command = shellword.Join(commandLine(env))
	if err := print(w); err != nil {
		return err
	}
	return writeResult(env, f.output, b.Bytes())
}

// writeResult writes a verdict to what a person named.
func writeResult(env *environment, path string, text []byte) error {
	// No signal is caught here, so it ends the program.
	err := writeOutput(context.Background(), env, path, 0o644, func(w io.Writer) error {
		_, err := w.Write(text)
		return err
	})
	if err != nil {
		return withHint(exitFailure, fmt.Errorf("cannot write the result: %w", err), "check the directory and its free space")
	}
	return nil
}

func newCompareCommand(env *environment) *cobra.Command {
	var f judgeFlags
	var confidence, out string
	var o judge.CompareOptions
	cmd := &cobra.Command{
		Use:   "compare A B [C …]",
		Short: "Compare records, studies or disks, with confidence intervals",
		Long: `Compare records, studies or disks, with confidence intervals. The first side is the baseline. The verdict of each
metric is better, worse, equivalent or inconclusive.

A side is the directory of a record, a directory with several records of the same test, a study, or a
configuration of a study (DIR#CONFIGURATION). Two studies are compared configuration by configuration.
If the sides differ in one thing, such as a setting or a version, that is compared. If workload, data or
processor differ, or several settings, there is no verdict; use --varied for what you want to compare. Without
runs of both sides that alternate in time, the answer is unknown: 'plimsoll ab' makes them.

Probes (plimsoll disk) are compared by the uses of a disk: the journal, checkpoints and random reads.
If the first side is a probe with a prediction (plimsoll disk --predict), the others are runs of the engine,
and the errors of the prediction are printed.

Exit codes: 0 compared, 1 other failure, 2 usage error or unreadable record, 4 a verdict of --fail-if,
6 sides not comparable.`,
		Example: `  plimsoll compare before after
  plimsoll compare nightly/monday nightly/tuesday --format md -o comment.md
  plimsoll compare 'my-study#baseline' 'my-study#workers=32' --metric throughput,read.p99
  plimsoll compare prediction runs --out prediction-and-runs
  plimsoll compare old new --varied durability,load.workers --fail-if worse`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			margin, err := f.check(compareVerdicts())
			if err != nil {
				return err
			}
			o.Margin, o.Metrics, o.Tool = margin, f.metrics, tool()
			if o.Confidence, err = shareFlag("confidence", confidence, 0.5, 0.9999); err != nil {
				return err
			}
			if len(args) < 2 {
				return usageError("%s needs at least two records or studies, but got %d", cmd.CommandPath(), len(args))
			}
			switch {
			case judge.AreProbes(args):
				return compareDisks(env, args, o, f, out)
			case record.KindIn(args[0]) == record.KindProbe:
				return holdPrediction(env, args, f, out)
			}
			return compare(env, args, o, f, out)
		},
	}
	f.add(cmd, formats(), strings.Join(compareVerdicts(), ", "))
	cmd.Flags().StringVar(&confidence, "confidence", "95%", "confidence `level` of the intervals")
	cmd.Flags().StringSliceVar(&o.Varied, "varied", nil, "intended `differences`, for example durability or environment.cpu")
	cmd.Flags().BoolVar(&o.Force, "force", false, "compare despite all differences, for example of workload, data or processor")
	cmd.Flags().StringVar(&out, "out", "", "`directory` for a record of the comparison (default none)")
	return cmd
}

func compareVerdicts() []string {
	return []string{string(record.Worse), string(record.Better), string(record.Inconclusive)}
}

func compare(env *environment, args []string, o judge.CompareOptions, f judgeFlags, out string) error {
	sources := make([]judge.Source, len(args))
	for i, name := range args {
		var err error
		if sources[i], err = judge.Open(name); err != nil {
			return withExit(exitUsage, err)
		}
	}
	result, err := judge.Compare(judge.Sides(sources, o.Metrics), o)
	if err != nil {
		return withExit(exitUsage, err)
	}
	if out != "" {
		if err := judge.AddSpectra(result); err != nil {
			return err
		}
	}
	return f.conclude(env, result, out)
}

// compareDisks compares probes by the uses of a disk.
func compareDisks(env *environment, args []string, o judge.CompareOptions, f judgeFlags, out string) error {
	if len(f.metrics) > 0 {
		return usageError("--metric is for runs: probes are compared by the uses of a disk (journal, checkpoint, random reads)")
	}
	result, err := judge.CompareProbes(args, o)
	if err != nil {
		return withExit(exitUsage, err)
	}
	return f.conclude(env, result, out)
}

// conclude keeps and prints a comparison, and returns how the command ends.
func (f *judgeFlags) conclude(env *environment, result *record.ComparisonReport, out string) error {
	if out != "" {
		if err := record.WriteComparison(out, result); err != nil {
			return err
		}
	}
	if err := f.write(env, func(w io.Writer) error { return printRecord(w, out, result, f.format) }); err != nil {
		return err
	}
	return ending(judge.ConcludeComparison(result, f.failIf...))
}

// compareSides compares the records of a page with the default margin and confidence.
func compareSides(sides []report.Side) (*record.ComparisonReport, error) {
	sources := make([]judge.Source, len(sides))
	for i, side := range sides {
		s, err := judge.Open(side.Dir)
		if err != nil {
			return nil, err
		}
		s.Name, s.Label = side.Name, side.Name
		sources[i] = s
	}
	return judge.Compare(judge.Sides(sources, nil), judge.CompareOptions{Tool: tool()})
}
