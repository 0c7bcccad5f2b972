package disk

import (
	"context"
	"errors"
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"github.com/plimsoll-bench/plimsoll/disk/device"
	"github.com/plimsoll-bench/plimsoll/internal/figure"
	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/record"
)

// tally is what one thread did since it was last looked at.
type tally struct {
	mu    sync.Mutex
	kinds map[string]*measure.Histogram // what was timed, by name; "" is the operation as a whole
	ops   int64
	bytes int64
}

// add counts an operation of some bytes that took a time in nanoseconds. kind is "" or one to be told apart.
func (t *tally) add(kind string, ns, bytes int64) {
	t.mu.Lock()
	t.ops++
	t.bytes += bytes
	t.record("", ns)
	if kind != "" {
		t.record(kind, ns)
	}
	t.mu.Unlock()
}

// aside counts a time that is no operation of its own, such as a flush.
func (t *tally) aside(kind string, ns int64) {
	t.mu.Lock()
	t.record(kind, ns)
	t.mu.Unlock()
}

func (t *tally) record(kind string, ns int64) {
	h := t.kinds[kind]
	if h == nil {
		h = measure.NewHistogram()
		t.kinds[kind] = h
	}
	h.Record(ns)
}

// take moves what was counted into other histograms and returns the numbers.
func (t *tally) take(into map[string]*measure.Histogram) (ops, bytes int64, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	ops, bytes, t.ops, t.bytes = t.ops, t.bytes, 0, 0
	for kind, h := range t.kinds {
		if into[kind] == nil {
			into[kind] = measure.NewHistogram()
		}
		err = errors.Join(err, into[kind].Merge(h))
		h.Reset()
	}
	return ops, bytes, err
}

// job is a step that threads do.
type job struct {
	step record.ProbeStep
	// threads each run body until stop is set, each in a thread of the system of its own (see undisturbed).
	threads int
	// ready is called right before the threads begin; may be nil.
	ready func()
	// length is how long it goes on, the duration of the specification if absent.
	length time.Duration
	body   func(thread int, t *tally, stop *atomic.Bool) error
	// meanwhile runs beside them, if there is one.
	meanwhile func(t *tally, stop *atomic.Bool) error
	// busy says whether a checkpoint is under way, for the timeline.
	busy func() bool
	// syncs says how many syncs were asked for, given the histograms; nil for none.
	syncs func(kinds map[string]*measure.Histogram, ops int64) int64
}

// crew is the threads of a step under way.
type crew struct {
	p      *probe
	job    *job
	talls  []*tally
	stop   atomic.Bool
	group  sync.WaitGroup
	failed chan error
	total  map[string]*measure.Histogram
}

// perform runs a step for its duration, or until ctx ends or something fails, and adds it to the record.
func (p *probe) perform(ctx context.Context, j *job) (map[string]*measure.Histogram, *record.ProbeStep, error) {
	c := &crew{p: p, job: j, failed: make(chan error, 1), total: map[string]*measure.Histogram{}}
	defer undisturbed(j.threads)()
	s := &j.step
	s.Start = int64(time.Since(p.begin))
	before, cpu := p.System.Sample(), measure.ProcessCPU()
	if j.ready != nil {
		j.ready()
	}
	c.start()
	interrupted, err := c.watch(ctx, len(p.out.Steps))
	s.CPUSeconds = (measure.ProcessCPU() - cpu).Seconds() // without what the samples take
	after := p.System.Sample()
	s.Seconds = device.Seconds(before, after)
	s.Interrupted = interrupted
	s.Latency = record.NewLatency(c.total[""])
	s.Reads, s.Writes = record.NewLatency(c.total[Read]), record.NewLatency(c.total[Write])
	s.Rate, s.BytesRate = float64(s.Operations)/s.Seconds, float64(s.Bytes)/s.Seconds
	var syncs int64
	if j.syncs != nil {
		syncs = j.syncs(c.total, s.Operations)
	}
	s.Devices, s.Host = device.Between(before, after, p.names, syncs)
	s.Histograms = map[string]string{}
	for kind, h := range c.total {
		name := kind
		if name == "" {
			name = "latency"
		}
		text, eerr := h.Encode()
		err = errors.Join(err, eerr)
		s.Histograms[name] = text
	}
	p.out.Steps = append(p.out.Steps, *s)
	return c.total, &p.out.Steps[len(p.out.Steps)-1], errors.Join(err, p.save())
}

// collectAt is how much memory a step may take before garbage is collected, in bytes.
const collectAt = 512 << 20

// undisturbed gives each thread a place to run, so that one that comes back from the kernel never waits for another
// one, and keeps the collector, which stops all threads, from running without need. It returns what ends that. As a
// read or write keeps its place (see files), there are as many threads of the system at work as threads of the step.
// They are not locked: the scheduler stops each of them a hundred times a second, and a locked one would be handed over
// to another thread and back each time (six times as many calls of futex with 16 threads, measured).
func undisturbed(threads int) (end func()) {
	calm.Lock()
	defer calm.Unlock()
	if calm.steps == 0 {
		calm.places, calm.limit, calm.percent = runtime.GOMAXPROCS(0), debug.SetMemoryLimit(-1), debug.SetGCPercent(-1)
		debug.SetMemoryLimit(min(calm.limit, collectAt))
	}
	calm.steps++
	calm.threads += threads
	runtime.GOMAXPROCS(max(calm.places, calm.threads+2))
	return func() {
		calm.Lock()
		defer calm.Unlock()
		calm.threads -= threads
		if calm.steps--; calm.steps == 0 {
			debug.SetGCPercent(calm.percent)
			debug.SetMemoryLimit(calm.limit)
			runtime.GOMAXPROCS(calm.places)
		}
	}
}

// calm is what undisturbed changed of the whole process, for all steps that are under way in it, and how it was before.
var calm struct {
	sync.Mutex
	steps, threads  int
	places, percent int
	limit           int64
}

// start begins all threads.
func (c *crew) start() {
	run := func(f func(t *tally, stop *atomic.Bool) error) {
		t := &tally{kinds: map[string]*measure.Histogram{}}
		c.talls = append(c.talls, t)
		c.group.Go(func() {
			if err := f(t, &c.stop); err != nil {
				select {
				case c.failed <- err:
				default: // the first failure tells
				}
			}
		})
	}
	for i := range c.job.threads {
		run(func(t *tally, stop *atomic.Bool) error { return c.job.body(i, t, stop) })
	}
	if c.job.meanwhile != nil {
		run(c.job.meanwhile)
	}
}

// watch closes a second after the other until the step is over.
func (c *crew) watch(ctx context.Context, step int) (interrupted bool, err error) {
	begin := time.Now()
	length := c.job.length
	if length == 0 {
		length = time.Duration(c.p.spec.Duration)
	}
	end := time.NewTimer(length)
	defer end.Stop()
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	var sample device.Sample
	if c.p.Live {
		sample = c.p.System.Sample()
	}
	last := begin
	for over := false; !over; {
		select {
		case <-end.C:
			over = true
		case <-ctx.Done():
			over, interrupted = true, true
		case err = <-c.failed:
			over = true
		case <-tick.C:
		}
		if over {
			c.stop.Store(true)
			c.group.Wait()
		}
		now := time.Now()
		next := sample
		if c.p.Live {
			next = c.p.System.Sample()
		}
		err = errors.Join(err, c.second(step, last.Sub(begin), now.Sub(last), sample, next))
		sample, last = next, now
	}
	select {
	case late := <-c.failed:
		err = errors.Join(err, late)
	default:
	}
	return interrupted, err
}

// second moves what the threads did into the step and writes a line of the timeline.
func (c *crew) second(step int, at, length time.Duration, before, after device.Sample) (err error) {
	recent := map[string]*measure.Histogram{}
	s := record.ProbeSecond{Step: step, At: int64(at), Length: int64(length)}
	for _, t := range c.talls {
		ops, bytes, e := t.take(recent)
		s.Operations += ops
		s.Bytes += bytes
		err = errors.Join(err, e)
	}
	for kind, h := range recent {
		if c.total[kind] == nil {
			c.total[kind] = measure.NewHistogram()
		}
		err = errors.Join(err, c.total[kind].Merge(h))
	}
	c.job.step.Operations += s.Operations
	c.job.step.Bytes += s.Bytes
	if h := recent[""]; h != nil {
		s.P50, s.P99, s.Max = h.Quantile(0.5), h.Quantile(0.99), h.Max()
	}
	if c.job.busy != nil {
		s.Checkpoint = c.job.busy()
	}
	if c.p.Live {
		s.Devices, _ = device.Between(before, after, c.p.names, 0)
	}
	c.p.Progress.Second(s)
	return errors.Join(err, c.p.Writer.Second(s))
}

// threadsText is "4 threads".
func threadsText(n int) string { return figure.Plural(n, "thread") }
