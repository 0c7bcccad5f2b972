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

// tally has the counters of one thread since the last drain.
type tally struct {
	mu    sync.Mutex
	kinds map[string]*measure.Histogram // times by kind; "" is all operations
	ops   int64
	bytes int64
}

// add counts an operation with its bytes and its time in nanoseconds. kind may be "".
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

// aside records a time of a part of an operation, such as a flush.
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

// drain moves the histograms into others, and returns and resets the numbers.
func (t *tally) drain(into map[string]*measure.Histogram) (ops, bytes int64, err error) {
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

// job is a step of the probe. ready, meanwhile, busy and syncs may be nil.
type job struct {
	step    record.ProbeStep
	threads int           // that run body, each in its own thread of the system (see undisturbed)
	ready   func()        // called directly before the threads start
	length  time.Duration // 0 for the duration of the specification

	body      func(thread int, t *tally, stop *atomic.Bool) error // runs until stop is set
	meanwhile func(t *tally, stop *atomic.Bool) error             // runs concurrently with the threads
	busy      func() bool                                         // a checkpoint runs, for the timeline
	// syncs returns the number of requested syncs from the histograms.
	syncs func(kinds map[string]*measure.Histogram, ops int64) int64
}

// stepThreads are the threads of a running step.
type stepThreads struct {
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
	c := &stepThreads{p: p, job: j, failed: make(chan error, 1), total: map[string]*measure.Histogram{}}
	defer undisturbed(j.threads)()
	s := &j.step
	s.Start = int64(time.Since(p.begin))
	before, cpu := p.System.Sample(), measure.ProcessCPU()
	if j.ready != nil {
		j.ready()
	}
	c.start()
	interrupted, err := c.watch(ctx, len(p.out.Steps))
	s.CPUSeconds = (measure.ProcessCPU() - cpu).Seconds() // before the sample, which needs CPU time too
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
	return c.total, &p.out.Steps[len(p.out.Steps)-1], errors.Join(err, p.Writer.Save())
}

// undisturbed raises GOMAXPROCS, so that a thread never waits for another one after a system call, and disables garbage
// collection, which stops all threads, up to a memory limit. The returned function restores both. A read or write keeps
// its P (see files), so there are as many running threads of the system as threads of the step. Threads are not locked
// with LockOSThread: the scheduler preempts each of them a hundred times a second, and would switch from a locked
// thread to another one and back each time (six times as many futex calls with 16 threads, measured).
func undisturbed(threads int) (end func()) {
	runtimeSettings.Lock()
	defer runtimeSettings.Unlock()
	old := &runtimeSettings.old
	if runtimeSettings.steps == 0 {
		old.procs, old.limit, old.percent = runtime.GOMAXPROCS(0), debug.SetMemoryLimit(-1), debug.SetGCPercent(-1)
		debug.SetMemoryLimit(min(old.limit, 512<<20))
	}
	runtimeSettings.steps++
	runtimeSettings.threads += threads
	runtime.GOMAXPROCS(max(old.procs, runtimeSettings.threads+2))
	return func() {
		runtimeSettings.Lock()
		defer runtimeSettings.Unlock()
		runtimeSettings.threads -= threads
		if runtimeSettings.steps--; runtimeSettings.steps == 0 {
			debug.SetGCPercent(old.percent)
			debug.SetMemoryLimit(old.limit)
			runtime.GOMAXPROCS(old.procs)
		}
	}
}

// runtimeSettings counts the running steps and threads of the process, and has the settings before them.
var runtimeSettings struct {
	sync.Mutex
	steps, threads int
	old            struct {
		procs, percent int
		limit          int64
	}
}

func (c *stepThreads) start() {
	run := func(f func(t *tally, stop *atomic.Bool) error) {
		t := &tally{kinds: map[string]*measure.Histogram{}}
		c.talls = append(c.talls, t)
		c.group.Go(func() {
			if err := f(t, &c.stop); err != nil {
				select {
				case c.failed <- err:
				default: // keep the first error
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

// watch writes the results of each second until the step ends.
func (c *stepThreads) watch(ctx context.Context, step int) (interrupted bool, err error) {
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

// second adds the results of the threads to the step, and writes a line of the timeline.
func (c *stepThreads) second(step int, at, length time.Duration, before, after device.Sample) (err error) {
	recent := map[string]*measure.Histogram{}
	s := record.ProbeSecond{Step: step, At: int64(at), Length: int64(length)}
	for _, t := range c.talls {
		ops, bytes, e := t.drain(recent)
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

func threadsText(n int) string { return figure.Plural(n, "thread") }
