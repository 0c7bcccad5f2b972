package main

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"time"

	"github.com/plimsoll-bench/plimsoll/capacity/simulate"
)

// simulateCost is the time of simulations: operations of a set of three, and a day of failures of many sets.
func simulateCost(_ context.Context, w io.Writer, _ config) error {
	exponential := func(mean time.Duration) func(*rand.Rand) time.Duration {
		return func(r *rand.Rand) time.Duration { return time.Duration(r.ExpFloat64() * float64(mean)) }
	}
	sync := exponential(2 * time.Millisecond)
	set := simulate.Shard{Workers: 64, Cores: 4, Tickets: 128, Writes: 0.5, Misses: 0.1, Copies: 2, Acks: 1,
		Software: func(r *rand.Rand, _ bool) (time.Duration, time.Duration, time.Duration) {
			return exponential(100 * time.Microsecond)(r), 50 * time.Microsecond, 10 * time.Microsecond
		},
		Sync: func(r *rand.Rand, _ int) time.Duration { return sync(r) },
		Read: func(r *rand.Rand, _ int) time.Duration { return sync(r) }, Hop: exponential(time.Millisecond),
		Router: exponential(200 * time.Microsecond), Operations: 1_000_000, Seed: 1}
	fmt.Fprintf(w, "\nSimulation (goal: 1,000 nodes and a day of failures in under a minute)\n")
	begin := time.Now()
	set.Run()
	took := time.Since(begin)
	fmt.Fprintf(w, "  %-44s %8.2f s  %.0f operations/s\n", "a million operations on a set of three", took.Seconds(),
		float64(set.Operations)/took.Seconds())
	for _, shards := range []int{1, 333, 33_333} {
		begin := time.Now()
		out := simulate.Fleet{Shards: shards, Members: 3, Time: 24 * time.Hour, Seed: 1, Failures: []simulate.Failures{
			{Number: 10 * shards, Draw: func(r *rand.Rand) (time.Duration, time.Duration) {
				return exponential(10 * time.Second)(r), exponential(5 * time.Minute)(r)
			}}}}.Run()
		all := time.Since(begin) + took
		fmt.Fprintf(w, "  %-44s %8.2f s  %d outages  %s\n", fmt.Sprintf("the same and a day of %d nodes, %d failures", 3*shards,
			out.Failures), all.Seconds(), len(out.Outages), verdict(all < time.Minute))
	}
	return nil
}
