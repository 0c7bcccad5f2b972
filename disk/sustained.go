package disk

import (
	"context"
	"fmt"
	"math"
	"slices"
	"sync/atomic"
	"time"

	"github.com/plimsoll-bench/plimsoll/disk/files"
	"github.com/plimsoll-bench/plimsoll/internal/figure"
	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/measure/stats"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/spec"
)

const (
	// sustainedBlock is the size of a write, so large that the bandwidth and not the request rate is the limit.
	sustainedBlock = 256 << 10
	// fallen is the share of the earlier rate below which a lower rate counts as a drop.
	fallen = 0.8
	// even is the coefficient of variation below which a rate counts as that of a configured limit.
	even = 0.05
)

// sustained rewrites the test file repeatedly, and finds the time at which the rate drops.
func (p *probe) sustained(ctx context.Context) error {
	threads := min(4, p.spec.Threads)
	block := max(p.spec.Block, sustainedBlock)
	if p.spec.Size < block*int64(threads) {
		return fmt.Errorf("the profile sustained writes blocks of %s: use a --size of at least %s", figure.Bytes(block),
			figure.Bytes(block*int64(threads)))
	}
	p.Progress.Step(fmt.Sprintf("sustained writes of %s, %s", figure.Bytes(block), threadsText(threads)))
	f, err := p.set.Create(files.Data, p.direct, false)
	if err != nil {
		return err
	}
	defer f.Close()
	p.data = 0 // what stands there afterwards has other blocks
	var next atomic.Int64
	chunks := p.spec.Size / block
	j := &job{threads: threads, step: record.ProbeStep{
		Profile: spec.ProbeSustained, Operation: Write, Threads: threads, Block: block, Mode: modeOf(p.direct),
		Sync: SyncNone,
	}}
	j.body = func(_ int, t *tally, stop *atomic.Bool) error {
		b := files.Buffer(int(block))
		defer files.Unmap(b)
		for !stop.Load() {
			n := next.Add(1) - 1
			at := n % chunks * block
			p.pool.Fill(b, at, p.next())
			begin := time.Now()
			if err := f.WriteAt(b, at); err != nil {
				return err
			}
			// Without O_DIRECT each block is synced, or the page cache would absorb all writes.
			if !p.direct {
				if err := f.Sync(); err != nil {
					return err
				}
			}
			t.add("", int64(time.Since(begin)), block)
		}
		return nil
	}
	seconds := &secondsOf{Progress: p.Progress}
	p.Progress = seconds
	_, s, err := p.perform(ctx, j)
	p.Progress = seconds.Progress
	if err != nil {
		return err
	}
	p.out.Sustained = findDrop(seconds.list, s)
	if len(seconds.list) < 30 {
		p.find("short-sustained", measure.Note, "the profile sustained ran for less than 30 s. Device caches and burst credits last for minutes, "+
			"so the result may be too high. Use --duration 30m")
	}
	return nil
}

// secondsOf collects the seconds of a step.
type secondsOf struct {
	Progress
	list []record.ProbeSecond
}

func (s *secondsOf) Second(x record.ProbeSecond) {
	s.list = append(s.list, x)
	s.Progress.Second(x)
}

// findDrop finds a drop of the rate. The rates of adjacent seconds are correlated, so only a large change counts, and
// only if it lasts until the end.
func findDrop(list []record.ProbeSecond, s *record.ProbeStep) *record.ProbeSustainedResult {
	var rates []float64
	var kept []record.ProbeSecond
	for _, x := range list {
		if x.Length > int64(100*time.Millisecond) { // the rest of the last second tells nothing
			rates = append(rates, float64(x.Bytes)/time.Duration(x.Length).Seconds())
			kept = append(kept, x)
		}
	}
	r := &record.ProbeSustainedResult{Before: s.BytesRate, Ceiling: s.BytesRate, Variation: variation(rates), Like: "steady"}
	changes := stats.ChangePoints(rates, stats.ChangeOptions{Magnitude: 1 - fallen})
	for i, c := range changes {
		at := c.Index
		before, after := stats.Mean(rates[:at]), stats.Mean(rates[at:])
		if slices.ContainsFunc(changes[i:], func(later stats.ChangePoint) bool { return later.After >= fallen*before }) {
			continue // it came back
		}
		r.Fell, r.At, r.Before, r.Ceiling, r.Variation = true, kept[at].At, before, after, variation(rates[at:])
		for _, x := range kept[:at] {
			r.After += x.Bytes
		}
		if r.Like = "write cache"; r.Variation < even {
			r.Like = "burst credits"
		}
		return r
	}
	return r
}

// variation returns the coefficient of variation.
func variation(xs []float64) float64 {
	if len(xs) < 2 {
		return 0
	}
	m, sum := stats.Mean(xs), 0.0
	for _, x := range xs {
		sum += (x - m) * (x - m)
	}
	return over(math.Sqrt(sum/float64(len(xs)-1)), m)
}
