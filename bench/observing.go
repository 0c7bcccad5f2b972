package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/prometheus/procfs"

	"github.com/plimsoll-bench/plimsoll/internal/wait"
	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/measure/stats"
	"github.com/plimsoll-bench/plimsoll/run/observe"
	"github.com/plimsoll-bench/plimsoll/store"
)

// observingGoal is the largest share of a core that the sampling of a server may take. Where processors are the
// limit, it costs no larger share of the throughput.
const observingGoal = 0.01

const (
	observingRun    = 2 * time.Second // a run contains two samples
	observingBlocks = 6               // for each round
	observingIdle   = 20 * time.Second
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
	server, err := startMongod(ctx, program, dir)
	if err != nil {
		return err
	}
	defer server.stop()
	fmt.Fprintf(w,
		"\nRuns with the sampling of a mongod relative to runs without (median of blocks, 95 %% interval).\n")
	for _, operation := range []string{"read", "update"} {
		j := job{Addr: server.addr, Client: clientWire, Operation: operation, Workers: c.workers, Duration: observingRun}
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
		fmt.Fprintf(w, "  %-7s throughput × %.4f (%.4f to %.4f), %d blocks\n", operation, mid, iv.Low, iv.High, len(ratios))
	}
	return observingTime(ctx, w, server)
}

// observingTime judges the processor time of server and client that sampling takes without load: runs differ by more.
// What the server still does for the runs before is in the first part, which is sampled.
func observingTime(ctx context.Context, w io.Writer, server mongod) error {
	var used [2]time.Duration
	for i := range 4 {
		with := 1 - (i+1)/2%2
		j := job{Addr: server.addr, Client: clientWire, Operation: "read", Workers: 1}
		watch := j.watch(ctx, with == 1)
		before, err := server.cpu()
		if err == nil {
			err = wait.Sleep(ctx, observingIdle)
		}
		after, failed := server.cpu()
		watch.Stop()
		if err = errors.Join(err, failed); err != nil {
			return err
		}
		used[with] += after - before
	}
	share := (used[1] - used[0]).Seconds() / (2 * observingIdle).Seconds()
	_, err := fmt.Fprintf(w, "  processor time of server and client: %.2f %% of one core, without load in %v "+
		"(at most %.0f %%): %s\n", 100*share, 4*observingIdle, 100*observingGoal, verdict(share <= observingGoal))
	return err
}

// cpu is the processor time of a server and of this process.
func (m mongod) cpu() (time.Duration, error) {
	p, err := procfs.NewProc(m.pid)
	if err != nil {
		return 0, err
	}
	stat, err := p.Stat()
	return time.Duration(stat.CPUTime()*float64(time.Second)) + measure.ProcessCPU(), err
}

// observed does one run and returns its operations per second. The first sample, with the connection, is before it: it
// is a cost of the beginning, and here a run is short.
func (j job) observed(ctx context.Context, sampled bool) (float64, error) {
	watch := j.watch(ctx, sampled)
	defer watch.Stop()
	out, err := j.run(ctx)
	if err != nil || out.Seconds <= 0 {
		return 0, err
	}
	return float64(out.Operations) / out.Seconds, nil
}

// watch has its first sample of the server if it is to be sampled.
func (j job) watch(ctx context.Context, sampled bool) *observe.Watch {
	watch := observe.New(ctx)
	if sampled {
		one := job{Addr: j.Addr, Client: j.Client, Operation: j.Operation, Workers: 1}
		open := func(ctx context.Context) (store.Store, error) { return one.open(ctx) }
		watch.FollowDeployment(observe.Every, observe.Deployment{Address: j.Addr, Open: open,
			Member: func(string) (observe.Opener, error) { return open, nil }})
		watch.First(ctx, time.Minute)
	}
	return watch
}
