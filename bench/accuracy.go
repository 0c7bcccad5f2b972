package main

import (
	"container/heap"
	"context"
	"fmt"
	"io"
	"math"
	"slices"
	"text/tabwriter"
	"time"

	"github.com/plimsoll-bench/plimsoll/store/null"
)

// queue is a load whose result can be computed: constant arrivals, exponential service times of a known seed, and a
// stall in which the server does not reply.
type queue struct {
	rate     float64
	workers  int
	duration time.Duration
	timing   timing
}

// accuracy compares recorded percentiles with computed ones.
func accuracy(ctx context.Context, w io.Writer, c config) error {
	length := max(time.Duration(c.seconds)*time.Second, 5*time.Second)
	// This tests the recording, not the machine: 50 ms of service are long compared with the 0.1 ms of the loopback
	// and the scheduler. During the stall more operations fall due than there are workers, so they queue.
	s := queue{rate: 500, workers: 200, duration: length, timing: timing{
		Seed: 7, Mean: 50 * time.Millisecond, StallFrom: length / 2, StallTo: length/2 + time.Second,
	}}
	service, response := s.truth()
	j := job{Client: clientWire, Operation: "read", Workers: s.workers, Rate: s.rate, Duration: s.duration}
	got, err := j.play(ctx, s.timing)
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "\nRecorded and computed percentiles: %.0f operations/s on %d workers for %v, service time exponential\n",
		s.rate, s.workers, s.duration)
	fmt.Fprintf(w, "with mean %v, no replies for 1 s after %v (goal: within 2 %%, the stall fully visible in the response time)\n",
		s.timing.Mean, s.timing.StallFrom)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprint(t, "\tp50\tp90\tp99\tp99.9\tmax\t\n")
	worst := max(printPair(t, "service", service, got.Service), printPair(t, "response", response, got.Response))
	_ = t.Flush()
	fmt.Fprintf(w, "  largest error of p50 to p99.9: %.2f %%  %s\n", worst*100, verdict(worst <= 0.02))
	if n := len(got.Response); n > 0 {
		longest := time.Duration(got.Response[n-1])
		seen := map[bool]string{true: "visible", false: "hidden"}[longest >= 990*time.Millisecond]
		fmt.Fprintf(w, "  longest response %s: the stall is %s\n", short(longest), seen)
	}
	if got.Failed > 0 {
		return fmt.Errorf("%d operations failed", got.Failed)
	}
	return nil
}

// truth computes the service and response times from the definition of the queue. Operation n is due at n/rate. It
// begins when it is due and a worker is free, in the order of the due times. The server replies after the service time,
// and at the end of the stall if that falls into it. The network and the scheduler add nothing.
func (s queue) truth() (service, response []time.Duration) {
	times := null.Exponential(s.timing.Seed, s.timing.Mean)
	free := make(moments, s.workers)
	for n := 0; ; n++ {
		due := time.Duration(float64(n) / s.rate * 1e9)
		if due >= s.duration {
			break
		}
		begin := max(due, free[0])
		end := begin + times(uint64(n))
		if end >= s.timing.StallFrom && end < s.timing.StallTo {
			end = s.timing.StallTo
		}
		free[0] = end
		heap.Fix(&free, 0)
		service = append(service, end-begin)
		response = append(response, end-due)
	}
	slices.Sort(service)
	slices.Sort(response)
	return service, response
}

// moments is a heap of the times at which workers become free.
type moments []time.Duration

func (m moments) Len() int           { return len(m) }
func (m moments) Less(i, j int) bool { return m[i] < m[j] }
func (m moments) Swap(i, j int)      { m[i], m[j] = m[j], m[i] }
func (m *moments) Push(x any)        { *m = append(*m, x.(time.Duration)) }
func (m *moments) Pop() any          { panic("never called") }

// printPair prints the row of the computed percentiles and that of the recorded ones, and returns the largest relative
// error of the percentiles.
func printPair(w io.Writer, name string, truth []time.Duration, got []int64) float64 {
	worst := 0.0
	fmt.Fprintf(w, "%s, computed\t", name)
	for _, q := range quantiles() {
		fmt.Fprintf(w, "%s\t", short(rank(truth, q)))
	}
	fmt.Fprintf(w, "\n%s, recorded\t", name)
	for i, q := range quantiles() {
		if i >= len(got) {
			return math.Inf(1)
		}
		want := float64(rank(truth, q))
		off := (float64(got[i]) - want) / want
		if q < 1 {
			worst = max(worst, math.Abs(off))
		}
		fmt.Fprintf(w, "%s (%+.2f %%)\t", short(time.Duration(got[i])), off*100)
	}
	fmt.Fprintln(w)
	return worst
}

// rank is the nearest-rank quantile of sorted values.
func rank(sorted []time.Duration, q float64) time.Duration {
	i := int(math.Ceil(q*float64(len(sorted)))) - 1
	return sorted[min(max(i, 0), len(sorted)-1)]
}
