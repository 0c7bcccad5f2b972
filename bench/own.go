package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"text/tabwriter"
)

// ownGoal is how much longer an operation of a workload file may take than the same one of a built-in workload.
const ownGoal = 0.15

// ownFile describes the same as the built-in workload a.
const ownFile = "workload/own/testdata/as-a.yaml"

// ownWorkloads compares the built-in workload a with a file that describes the same, end to end on a responder. Both
// run in turn in each round.
func ownWorkloads(ctx context.Context, w io.Writer, c config) error {
	text, err := os.ReadFile(ownFile)
	if err != nil {
		return fmt.Errorf("run this program in the top directory of the repository: %w", err)
	}
	addr, stop, err := startResponder(ctx, timing{})
	if err != nil {
		return err
	}
	defer stop()
	fmt.Fprintf(w, "\nWorkload a: built-in, and as a file: %d workers, %d operations, median of %d rounds. Goal: within %.0f %%\n",
		c.workers, c.operations, c.rounds, ownGoal*100)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "client\tbuilt-in, ops/s\tfile, ops/s\tratio\tbuilt-in, µs of CPU\tfile, µs of CPU\tratio\t")
	for _, client := range []string{clientWire, clientDriver} {
		rates, cpu := figures{}, figures{}
		for round := range c.rounds {
			for i := range 2 {
				j := job{Addr: addr, Client: client, Operation: mixed, Workers: c.workers, Operations: int64(c.operations)}
				side := "built-in"
				if (round+i)%2 == 1 {
					side, j.File = "file", string(text)
				}
				cmd, err := child(ctx, roleClient, j)
				if err != nil {
					return err
				}
				var o outcome
				if err := runJSON(cmd, &o); err != nil {
					return err
				}
				if o.Failed > 0 {
					return fmt.Errorf("%s: %d of %d operations failed", side, o.Failed, o.Operations)
				}
				rates[side] = append(rates[side], float64(o.Operations)/o.Seconds)
				cpu[side] = append(cpu[side], o.CPUMicros)
			}
		}
		a, b, x, y := rates.median("built-in"), rates.median("file"), cpu.median("built-in"), cpu.median("file")
		fmt.Fprintf(t, "%s\t%.0f\t%.0f\t%.3f\t%.2f\t%.2f\t%.3f\t\n", client, a, b, b/a, x, y, y/x)
	}
	return t.Flush()
}
