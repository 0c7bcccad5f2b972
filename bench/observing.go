package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/plimsoll-bench/plimsoll/measure/stats"
	"github.com/plimsoll-bench/plimsoll/run/observe"
	"github.com/plimsoll-bench/plimsoll/store"
)

// observingGoal is the largest share of the throughput that the sampling of servers may cost.
const observingGoal = 0.01

const (
	observingRun    = 2 * time.Second // a run contains two samples
	observingBlocks = 6               // for each round
)

// observingCost compares runs on a mongod whose statistics are read once a second with runs without: in blocks
// without-with-with-without, or the reverse, in one process.
func observingCost(ctx context.Context, w io.Writer, c config) error {
	program := mongodPath()
	if program == "" {
		return fmt.Errorf("there is no mongod on PATH or in the directory of %s", mongodVariable)
	}
	dir, err := os.MkdirTemp("", "bench-observing")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	addr, stop, err := startMongod(ctx, program, dir)
	if err != nil {
		return err
	}
	defer stop()
	fmt.Fprintf(w,
		"\nRuns with the sampling of a mongod relative to runs without (median of blocks, 95 %% interval).\n"+
			"Goal: throughput × %.2f.\n", 1-observingGoal)
	for _, operation := range []string{"read", "update"} {
		j := job{Addr: addr, Client: clientWire, Operation: operation, Workers: c.workers, Duration: observingRun}
		var ratios []float64
		for block := range observingBlocks * max(1, c.rounds) {
			var done [2]float64
			for i := range 4 {
				with := (i+1)/2%2 ^ block%2
				n, err := j.observed(ctx, with == 1)
				if err != nil {
					return err
				}
				done[with] += n
			}
			ratios = append(ratios, done[1]/done[0])
		}
		mid, iv, _ := stats.MedianInterval(ratios, 0.95)
		verdict := "open: the interval includes the goal"
		if iv.Low >= 1-observingGoal {
			verdict = "met"
		} else if iv.High < 1-observingGoal {
			verdict = "missed"
		}
		fmt.Fprintf(w, "  %-7s throughput × %.4f (%.4f to %.4f), %d blocks: %s\n", operation, mid, iv.Low, iv.High,
			len(ratios), verdict)
	}
	return nil
}

// observed does one run and returns its operations per second. The first sample, with the connection, is before it: it
// is a cost of the beginning, and here a run is short.
func (j job) observed(ctx context.Context, sampled bool) (float64, error) {
	watch := observe.New(ctx)
	defer watch.Stop()
	if sampled {
		one := job{Addr: j.Addr, Client: j.Client, Operation: j.Operation, Workers: 1}
		open := func(ctx context.Context) (store.Store, error) { return one.open(ctx) }
		watch.FollowDeployment(observe.Every, observe.Deployment{Address: j.Addr, Open: open,
			Member: func(string) (observe.Opener, error) { return open, nil }})
		watch.First(ctx, time.Minute)
	}
	out, err := j.run(ctx)
	if err != nil || out.Seconds <= 0 {
		return 0, err
	}
	return float64(out.Operations) / out.Seconds, nil
}
