package main

import (
	"bytes"
	"fmt"
	"math"

	"github.com/spf13/cobra"

	"github.com/plimsoll-bench/plimsoll/internal/figure"
	"github.com/plimsoll-bench/plimsoll/internal/safeopen"
	"github.com/plimsoll-bench/plimsoll/spec"
	"github.com/plimsoll-bench/plimsoll/workload/own"
	"github.com/plimsoll-bench/plimsoll/workload/recorded"
)

func newWorkloadCompareCommand(env *environment) *cobra.Command {
	return &cobra.Command{
		Use:   "compare FILE FILE",
		Short: "Compare the shapes of operations in two workload files",
		Long: `Compare the shapes of operations in two workload files, and their shares.

To find out whether a recorded file does what the deployment did, run it against a test deployment, record that run,
and compare the two files.`,
		Example: `  plimsoll run mongodb://test/ --workload shop.yaml --duration 1m &
  plimsoll workload record mongodb://test/plimsoll --profile all --for 30s -o again.yaml
  plimsoll workload compare shop.yaml again.yaml`,
		Args: cobra.ExactArgs(2),
		RunE: func(_ *cobra.Command, args []string) error {
			a, err := readWorkload(args[0])
			if err != nil {
				return err
			}
			b, err := readWorkload(args[1])
			if err != nil {
				return err
			}
			list, err := recorded.Compare(a, b)
			if err != nil {
				return withExit(exitUsage, err)
			}
			printShares(env, list)
			return nil
		},
	}
}

func readWorkload(name string) (own.File, error) {
	b, err := safeopen.ReadPath(name, spec.MaxBytes)
	if err != nil {
		return own.File{}, usageError("cannot read %s: %v", name, err)
	}
	f, err := own.Read(bytes.NewReader(b))
	if err != nil {
		return f, usageError("%s: %v", name, err)
	}
	return f, nil
}

// printShares prints the shares of shapes in two files.
func printShares(env *environment, list []recorded.Difference) {
	t := table{left: 1}
	t.row("first", "second", "operation")
	apart := 0.0
	for _, d := range list {
		t.row(figure.Percent(d.A), figure.Percent(d.B), d.Shape)
		apart += math.Abs(d.A-d.B) / 2
	}
	t.write(env.stdout, "")
	fmt.Fprintf(env.stdout, "\n%s of the operations have another shape or another share.\n", figure.Percent(apart))
}
