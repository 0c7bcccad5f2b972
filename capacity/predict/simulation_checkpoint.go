package predict

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"time"

	"github.com/plimsoll-bench/plimsoll/capacity"
	"github.com/plimsoll-bench/plimsoll/capacity/simulate"
	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/spec"
)

// checkpoints write all dirty pages to the disk of the journal.
type checkpoints struct {
	every  time.Duration
	rate   float64    // bytes per second that they write
	longer difference // by how much a commit is longer while one runs
	keys   capacity.Keys
	scale  float64 // bytes that the server wrote, as a multiple of the model's dirty pages
	writes float64 // share of the operations
}

// syncDelay is the documented default of mongod's parameter syncdelay, the time between two checkpoints.
const syncDelay = 60 * time.Second

// checkpointsOf reads what checkpoints do, or says why that is not known. What one of them writes is counted by the
// server in the calibration with most workers that is long enough. How fast the storage writes it, and how much longer
// commits are while it does, is the profile checkpoint of the probe.
func (m *deploymentModel) checkpointsOf(p *record.Probe, calibrations []Calibration) (*checkpoints, error) {
	x := &checkpoints{every: syncDelay, writes: m.out.Writes}
	if n, err := strconv.ParseFloat(m.base.Run.Target.Settings["syncdelay"], 64); err == nil && n > 0 && n < 1e6 {
		x.every = time.Duration(n * float64(time.Second))
	}
	for _, step := range p.ProfileSteps(spec.ProbeCheckpoint) {
		inside, err := measure.Decode(step.Histograms["inside"])
		outside, err2 := measure.Decode(step.Histograms["outside"])
		if err == nil && err2 == nil && !step.Interrupted && inside.Count() > 0 && outside.Count() > 0 {
			x.longer = difference{drawsOf(inside), drawsOf(outside)}
		}
	}
	if len(x.longer.more.up) == 0 || p.Checkpoint == nil || !(p.Checkpoint.Reached > 0) {
		return nil, errors.New("the probe has no complete step of the profile checkpoint, so it is not known how long they take and how much longer commits are")
	}
	x.rate = p.Checkpoint.Reached
	keys, err := capacity.KeysOf(m.base.Run.Specification.Workload)
	if err != nil {
		return nil, err
	}
	x.keys = keys
	seconds := x.every.Seconds()
	most := 0
	for _, c := range calibrations {
		ph := c.phase()
		if written := cacheWritten(c.Run); written > 0 && ph.Seconds >= seconds && ph.Workers > most {
			most = ph.Workers
			x.scale = written * seconds / keys.Dirty(ph.Rates.Achieved*x.writes*seconds)
		}
	}
	if !(x.scale > 0) {
		return nil, fmt.Errorf("no calibration of at least %s has cache.written_bytes of the server, so it is not known what they write",
			x.every)
	}
	return x, nil
}

// cacheWritten is how many bytes the cache of a server wrote per second.
func cacheWritten(r *record.Run) float64 {
	for _, s := range r.Series {
		if s.Name == "cache.written_bytes" && strings.HasPrefix(s.Source, "server:") {
			return s.Mean
		}
	}
	return 0
}

// share is the part of the time in which a checkpoint runs, at a rate of operations. One that does not end before the
// next is due runs always.
func (x *checkpoints) share(rate float64) float64 {
	return min(1, x.scale*x.keys.Dirty(rate*x.writes*x.every.Seconds())/x.rate/x.every.Seconds())
}

// during is a sync while a checkpoint runs.
func (x *checkpoints) during(sync func(*rand.Rand, int) time.Duration) func(*rand.Rand, int) time.Duration {
	return func(r *rand.Rand, commits int) time.Duration { return sync(r, commits) + x.longer.draw(r) }
}

// mix is a shard over many checkpoints. They last far longer than operations, so each of both states is simulated by
// itself. The more operations there are, the more a checkpoint writes, so its share of the time is found by iteration.
func (x *checkpoints) mix(without, with *simulate.Outcome) (simulate.Outcome, float64) {
	share := 0.0
	for range 30 {
		share = (share + x.share((1-share)*without.Rate+share*with.Rate)) / 2
	}
	a, b := 1-share, share
	of := func(f func(o *simulate.Outcome) float64) float64 { return a*f(without) + b*f(with) }
	out := *without
	out.Rate = of(func(o *simulate.Outcome) float64 { return o.Rate })
	out.Journal = of(func(o *simulate.Outcome) float64 { return o.Journal })
	out.Cores = of(func(o *simulate.Outcome) float64 { return o.Cores })
	for _, h := range []struct {
		to **measure.Histogram
		of func(o *simulate.Outcome) *measure.Histogram
	}{
		{&out.Writes, func(o *simulate.Outcome) *measure.Histogram { return o.Writes }},
		{&out.Reads, func(o *simulate.Outcome) *measure.Histogram { return o.Reads }},
		{&out.Lag, func(o *simulate.Outcome) *measure.Histogram { return o.Lag }},
	} {
		*h.to = measure.NewHistogram()
		for _, part := range []struct {
			o     *simulate.Outcome
			share float64
		}{{without, a * without.Rate}, {with, b * with.Rate}} {
			from := h.of(part.o)
			for v, n := range from.Buckets() { // of a million values in all
				(*h.to).RecordN(v, int64(float64(n)/float64(from.Count())*part.share/out.Rate*1e6+0.5))
			}
		}
	}
	return out, share
}

// checkpointsShown reports whether enough runs show checkpoints, and otherwise says why they are not simulated.
func (m *deploymentModel) checkpointsShown(out *record.Simulation, checked []setup) bool {
	why := m.unknown
	if why == nil {
		n := 0
		for _, s := range checked {
			if s.checkpoints {
				n++
			}
		}
		if n >= leastChecks {
			return true
		}
		why = fmt.Errorf("%d of the runs that do not calibrate are at least %s long, and %d are needed", n, m.checkpoints.every,
			leastChecks)
	}
	out.LeftOut = append(out.LeftOut, "checkpoints: "+why.Error())
	return false
}
