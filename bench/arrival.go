package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
)

// The stated p99 may exceed the true one by the larger of these without a finding about the client.
const (
	mostStatedShare = 0.10
	mostStated      = 200 * time.Microsecond
)

// arrivals compares the stated service times with those that the responder logs itself: from the arrival of a request,
// by the kernel's stamp, to the moment when its reply is ready. The difference is the way over loopback, with its
// copies, and what the client adds.
func arrivals(ctx context.Context, w io.Writer, c config) error {
	length := min(time.Duration(c.seconds)*time.Second, 2*time.Second)
	const mean = 5 * time.Millisecond
	fmt.Fprintf(w, "\nStated and true service times in a closed loop, service times exponential with mean %v (goal: stated − true "+
		"p99 within %.0f %% or %v, or a finding about the client)\n", mean, mostStatedShare*100, mostStated)
	const row = "%7s %9v %8v %10s %9s %12s %9s %13s %9s %10v  %s %s\n"
	fmt.Fprintf(w, row, "client", "document", "workers", "true p50", "p99", "stated p50", "p99", "noticed p50", "p99", "loop busy",
		"findings", "")
	hidden, told := 0, 0
	for _, client := range []string{clientWire, clientDriver} {
		for _, size := range []int{100, 10 << 10, 200 << 10, 1 << 20} {
			for _, workers := range []int{1, 16, 64, 512} {
				j := job{Client: client, Operation: "read", Workers: workers, Duration: length}
				got, own, err := j.observed(ctx, timing{Seed: 7, Mean: mean, Document: size})
				if err != nil {
					return err
				}
				if len(own) == 0 || len(got.Service) == 0 {
					return fmt.Errorf("%d workers, %d bytes: no operation succeeded", workers, size)
				}
				off := time.Duration(got.Service[2] - own[2])
				exact := off <= max(mostStated, time.Duration(mostStatedShare*float64(own[2])))
				found := slices.DeleteFunc(slices.Clone(got.Findings), func(f string) bool {
					return strings.HasPrefix(f, "note")
				})
				if !exact && len(found) == 0 {
					hidden++
				} else if exact && len(found) > 0 {
					told++
				}
				at := func(q []int64, i int) string {
					if len(q) == 0 {
						return "-"
					}
					return short(time.Duration(q[i]))
				}
				fmt.Fprintf(w, row, client, size, workers, at(own, 0), at(own, 2), at(got.Service, 0), at(got.Service, 2),
					at(got.Noticed, 0), at(got.Noticed, 2), fmt.Sprintf("%.0f %%", got.Busy*100), strings.Join(found, ", "),
					verdict(exact || len(found) > 0))
			}
		}
	}
	fmt.Fprintf(w, "  beyond the limit without a finding: %d; findings within the limit: %d  %s\n", hidden, told, verdict(hidden == 0))
	return nil
}

// observed plays the job against a responder of its own, and returns the quantiles of the responder's own times, by
// [quantiles].
func (j job) observed(ctx context.Context, t timing) (o outcome, own []int64, err error) {
	addr, stop, err := startObserved(ctx, t)
	if err != nil {
		return o, nil, err
	}
	j.Addr = addr
	cmd, err := child(ctx, roleClient, j)
	if err == nil {
		err = runJSON(cmd, &o)
	}
	own, stopErr := stop()
	if err == nil {
		err = stopErr
	}
	return o, own, err
}
