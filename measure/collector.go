package measure

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// Options are the settings of a [Collector].
type Options struct {
	Dims  Dims
	Phase string        // the phase in which the run begins, "measure" if empty
	Width time.Duration // of an interval, one second if zero
	// Grace is the time for which an interval stays open after its end, one second if zero, because a worker reads the
	// clock before it records its sample.
	Grace time.Duration
	Loops func() []LoopUse // what the event loops of the client did since their start, in a fixed order; may be nil
}

// Collector gathers the samples of all workers into intervals. It has no clock: the caller passes the time since the
// start of the run.
//
// A sample is counted in the interval in which it ended. If that is already closed, the sample is counted in the oldest
// open interval and in [Collector.Displaced].
type Collector struct {
	dims             Dims
	grace            int64
	shards           []*shard
	displaced        atomic.Int64
	rejected         atomic.Int64
	recordersStarted atomic.Int64

	mu        sync.Mutex // guards recorders and closed
	recorders []*Recorder
	closed    flight // of the recorders that were removed

	ticking  sync.Mutex // held by Tick, Phase and Finish; guards what follows
	timeline timeline
	next     int64 // start of the oldest open interval
	finished bool
	usage    usageSampler

	gauge   gauge
	workers atomic.Int64
}

// NewCollector returns a collector without recorders. It fails for invalid dimensions.
func NewCollector(o Options) (*Collector, error) {
	if err := checkDims(o.Dims); err != nil {
		return nil, err
	}
	c := &Collector{dims: o.Dims, grace: int64(cmp.Or(o.Grace, time.Second))}
	c.timeline = timeline{width: int64(cmp.Or(o.Width, time.Second))}.with(cmp.Or(o.Phase, "measure"), 0)
	for range min(4, max(1, runtime.GOMAXPROCS(0)/4)) {
		c.shards = append(c.shards, &shard{
			dims: o.Dims, displaced: &c.displaced, rejected: &c.rejected, timeline: c.timeline, latest: -1,
		})
	}
	c.usage.start(o.Loops)
	return c, nil
}

func checkDims(d Dims) error {
	switch {
	case len(d.Classes) == 0 || len(d.Classes) > MaxClasses:
		return fmt.Errorf("a run needs 1 to %d operation classes, got %d", MaxClasses, len(d.Classes))
	case len(d.Outcomes) == 0 || len(d.Outcomes) > math.MaxUint8:
		return fmt.Errorf("a run needs 1 to %d outcomes, got %d", math.MaxUint8, len(d.Outcomes))
	case !slices.ContainsFunc(d.Outcomes, func(o Outcome) bool { return o.Success }):
		return errors.New("no outcome counts as a success, so nothing could ever succeed")
	}
	return nil
}

// Recorder returns a new recorder for one worker.
func (c *Collector) Recorder() *Recorder {
	n := c.recordersStarted.Add(1)
	r := &Recorder{collector: c, shard: c.shards[int(n)%len(c.shards)]}
	c.mu.Lock()
	defer c.mu.Unlock()
	r.place = len(c.recorders)
	c.recorders = append(c.recorders, r)
	c.workers.Store(int64(len(c.recorders)))
	return r
}

func (c *Collector) remove(r *Recorder) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if r.place < 0 {
		return // closed before
	}
	c.closed.join(&r.flight)
	// All workers close theirs at the end of the warm-up, so the time must not depend on their number.
	last := len(c.recorders) - 1
	moved := c.recorders[last]
	c.recorders[r.place], moved.place = moved, r.place
	c.recorders[last] = nil
	c.recorders, r.place = c.recorders[:last], -1
	c.workers.Store(int64(last))
}

// Displaced returns the number of samples that were recorded after their interval was closed.
func (c *Collector) Displaced() int64 { return c.displaced.Load() }

// Rejected returns the number of samples with an unknown class or outcome, which were not counted.
func (c *Collector) Rejected() int64 { return c.rejected.Load() }

// Phase begins a phase at the given time and returns its actual beginning. A phase cannot begin before samples that are
// already counted, so announce it in advance if its beginning is known. It removes announced phases that would begin
// later.
func (c *Collector) Phase(name string, at time.Duration) time.Duration {
	c.ticking.Lock()
	defer c.ticking.Unlock()
	for _, s := range c.shards {
		s.mu.Lock()
		defer s.mu.Unlock()
	}
	start := max(int64(at), c.next)
	for _, s := range c.shards {
		start = max(start, s.latest+1)
	}
	c.timeline = c.timeline.with(name, start)
	for _, s := range c.shards {
		s.timeline, s.current = c.timeline, nil
	}
	return time.Duration(start)
}

// Tick drains the recorders and returns the intervals to close at the time now, oldest first, including empty ones.
// Call it once per second.
func (c *Collector) Tick(now time.Duration) ([]*Interval, error) {
	c.ticking.Lock()
	defer c.ticking.Unlock()
	c.collect(now)
	return c.closeUntil(int64(now) - c.grace)
}

// Finish closes all intervals at the end of the run. Later samples are not counted.
func (c *Collector) Finish(now time.Duration) ([]*Interval, error) {
	c.ticking.Lock()
	defer c.ticking.Unlock()
	if c.finished {
		return nil, nil
	}
	c.collect(now)
	end := max(int64(now), c.next)
	for _, s := range c.shards {
		end = max(end, s.lastEnd()+1)
	}
	closed, err := c.closeUntil(end - 1)
	if err != nil || end <= c.next {
		return closed, err
	}
	last := c.timeline.at(c.next)
	last.end = end
	iv, err := c.close(last, math.MaxInt64)
	c.finished = true
	return append(closed, iv), err
}

// collect drains the recorders and samples the use of the client.
func (c *Collector) collect(now time.Duration) {
	c.mu.Lock()
	recorders := slices.Clone(c.recorders)
	c.mu.Unlock()
	for _, r := range recorders {
		r.drain()
	}
	c.usage.sample(int64(now), c.timeline)
}

func (c *Collector) closeUntil(end int64) ([]*Interval, error) {
	var closed []*Interval
	for !c.finished {
		span := c.timeline.at(c.next)
		if span.end > end {
			break
		}
		iv, err := c.close(span, span.end)
		if err != nil {
			return closed, err
		}
		closed = append(closed, iv)
	}
	return closed, nil
}

// close makes the interval of a span from the bins that begin before until.
func (c *Collector) close(s span, until int64) (*Interval, error) {
	iv := newInterval(c.dims, s)
	failures := map[Failure]*FailureCount{}
	for _, sh := range c.shards {
		for _, b := range sh.take(s.start, until) {
			if err := b.drainInto(iv, failures); err != nil {
				return nil, fmt.Errorf("closing the interval from %v to %v: %w", iv.Start, iv.End, err)
			}
			sh.giveBack(b)
		}
	}
	iv.Failures = sortedFailures(failures)
	iv.Workers = int(c.workers.Load())
	iv.InFlight, iv.Samples = c.gauge.take(s.start, s.end)
	ofBins := iv.Client
	iv.Client = c.usage.take(until).Add(ofBins)
	iv.Client.LatenessP99 = time.Duration(iv.Lateness.Quantile(0.99))
	c.next = s.end
	return iv, nil
}

func newInterval(d Dims, s span) *Interval {
	iv := &Interval{Phase: s.phase, Start: time.Duration(s.start), End: time.Duration(s.end)}
	iv.Classes = make([]ClassInterval, len(d.Classes))
	for i := range iv.Classes {
		iv.Classes[i].Counts = make([]int64, len(d.Outcomes))
	}
	return iv
}
