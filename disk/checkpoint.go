package disk

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/plimsoll-bench/plimsoll/disk/files"
	"github.com/plimsoll-bench/plimsoll/internal/figure"
	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/spec"
)

const (
	// stallAfter is the minimal pause between acknowledgements, while commits wait, that counts as a stall: the
	// interval of MongoDB's periodic journal flushes.
	stallAfter = 100 * time.Millisecond
	// readers is the number of threads for cache misses.
	readers = 8
	// readPatience is the time after the end of a step for reads that were due before it.
	readPatience = 5 * time.Second
	// behindBelow is the share of due operations below which the storage did not keep up.
	behindBelow = 0.95
)

// arrivals is a Poisson process with a rate per second. It may be used by several threads.
type arrivals struct {
	mu     sync.Mutex
	source *rand.Rand
	mean   float64 // ns between two
	due    time.Duration
}

func newArrivals(rate float64, seed uint64) *arrivals {
	a := &arrivals{source: rand.New(rand.NewPCG(seed, 0x706f6973736f6e))}
	if rate > 0 {
		a.mean = 1e9 / rate
	}
	a.due = a.gap()
	return a
}

func (a *arrivals) gap() time.Duration { return time.Duration(a.source.ExpFloat64() * a.mean) }

// next returns the due time of the next arrival. Each arrival is returned once.
func (a *arrivals) next() time.Duration {
	a.mu.Lock()
	defer a.mu.Unlock()
	due := a.due
	a.due += a.gap()
	return due
}

// until returns the due times until now, and the next one.
func (a *arrivals) until(now time.Duration, into []time.Duration) (due []time.Duration, next time.Duration) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for a.due <= now {
		into = append(into, a.due)
		a.due += a.gap()
	}
	return into, a.due
}

// burst has the checkpoints of a step.
type burst struct {
	p       *probe
	begin   time.Time
	active  atomic.Bool
	read    atomic.Int64 // cache misses that were read
	mu      sync.Mutex
	windows []window
}

// window is one checkpoint, in times since the start of the step. to is 0 while it runs.
type window struct {
	from, to, writing time.Duration
	bytes             int64
}

// during reports whether a checkpoint ran at any time in an interval.
func (b *burst) during(from, to time.Duration) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, w := range b.windows {
		if to >= w.from && (w.to == 0 || from < w.to) {
			return true
		}
	}
	return false
}

// stall returns the time without an acknowledgement while commits waited: from the last acknowledgement, at which the
// flush began, or from the first arrival. Times below stallAfter count as 0.
func stall(due, begin, now time.Duration) time.Duration {
	if pause := now - max(due, begin); pause > stallAfter {
		return pause
	}
	return 0
}

// checkpoint measures commits and cache misses at fixed rates during checkpoints.
func (p *probe) checkpoint(ctx context.Context) error {
	if err := p.dataFile(ctx); err != nil || ctx.Err() != nil {
		return err
	}
	tables, err := p.tables()
	if err != nil {
		return err
	}
	defer func() {
		for _, f := range tables {
			f.Close()
		}
	}()
	l, err := p.openLog()
	if err != nil {
		return err
	}
	defer l.close()
	return p.checkpointStep(ctx, l, tables)
}

// tables reserves the files of checkpoints.
func (p *probe) tables() ([]*files.File, error) {
	each := (2*p.spec.Dirty/int64(p.spec.Files) + 1<<20) / 4096 * 4096
	var list []*files.File
	for i := range p.spec.Files {
		f, err := p.set.Create(files.TableName(i), false, false)
		if err == nil {
			list = append(list, f)
			if _, err = f.Reserve(each, false); err == nil {
				err = f.Sync()
			}
		}
		if err != nil {
			for _, f := range list {
				f.Close()
			}
			return nil, err
		}
	}
	return list, nil
}

func (p *probe) checkpointStep(ctx context.Context, l *log, tables []*files.File) error {
	p.Progress.Step(fmt.Sprintf("checkpoints of %s every %s with %s commits/s and %s reads/s", figure.Bytes(p.spec.Dirty),
		figure.Duration(time.Duration(p.spec.Period)), figure.Rate(p.spec.CommitRate), figure.Rate(p.spec.ReadRate)))
	data, err := p.set.Create(files.Data, p.direct, false)
	if err != nil {
		return err
	}
	defer data.Close()
	data.Random()
	b := &burst{p: p}
	c := &committer{burst: b, log: l, arrivals: newArrivals(p.spec.CommitRate, p.spec.Seed)}
	reads := newArrivals(p.spec.ReadRate, p.spec.Seed+1)
	j := &job{threads: 2 + readers, busy: b.active.Load, ready: func() { b.begin = time.Now() }, step: record.ProbeStep{
		Profile: spec.ProbeCheckpoint, Operation: Checkpoint, Threads: 2 + readers, Clients: 1, Block: p.spec.Record,
		Mode: modeOf(p.direct), Sync: SyncData,
	}}
	j.syncs = func(kinds map[string]*measure.Histogram, _ int64) int64 {
		return kinds["sync"].Count() + kinds["table-sync"].Count()
	}
	j.body = func(thread int, t *tally, stop *atomic.Bool) error {
		switch {
		case thread == 0:
			return c.run(t, stop)
		case thread == 1:
			return b.run(tables, t, stop)
		case p.spec.ReadRate > 0:
			return b.reads(data, reads, thread, t, stop)
		}
		return nil
	}
	kinds, s, err := p.perform(ctx, j)
	s.Flush, s.SyncOnly = record.NewLatency(kinds["flush"]), record.NewLatency(kinds["sync"])
	s.Reads = record.NewLatency(kinds[Read])
	s.Flushes = kinds["flush"].Count()
	p.out.Checkpoint = b.result(c, s, kinds)
	p.doubtRates(b, c, s)
	if p.out.Checkpoint.Checkpoints == 0 {
		p.find("no-checkpoint", measure.Warning, "no checkpoint ended during the step, so there is no result for a complete one. "+
			"Use a --duration longer than --checkpoint-period")
	}
	return err
}

// doubtRates adds a finding if the storage did not keep up: then times grow with the length of the step.
func (p *probe) doubtRates(b *burst, c *committer, s *record.ProbeStep) {
	if s.Interrupted {
		return
	}
	for _, x := range []struct {
		what string
		done int64
		rate float64
	}{{"commits", c.done, p.spec.CommitRate}, {"reads", b.read.Load(), p.spec.ReadRate}} {
		due := x.rate * time.Duration(p.spec.Duration).Seconds()
		if float64(x.done) < behindBelow*due-3*math.Sqrt(due) { // the standard deviation of a Poisson number is its root
			p.find("behind", measure.Warning, fmt.Sprintf("only %s of about %s due %s were done, so the storage did not keep up with %s/s. "+
				"Times grow with the length of the step. Lower the rate",
				figure.Count(x.done), figure.Count(int64(due)), x.what, figure.Rate(x.rate)))
		}
	}
}

// modeOf returns the mode of a file.
func modeOf(direct bool) string {
	if direct {
		return files.Direct
	}
	return files.Buffered
}

// committer is the journal with commits that arrive independently of earlier ones.
type committer struct {
	burst    *burst
	log      *log
	arrivals *arrivals
	stalled  time.Duration
	done     int64
}

// run flushes the commits that arrived before each flush. The time of a commit starts at its arrival.
func (c *committer) run(t *tally, stop *atomic.Bool) error {
	var due []time.Duration
	for !stop.Load() {
		var next time.Duration
		begin := time.Since(c.burst.begin)
		if due, next = c.arrivals.until(begin, due[:0]); len(due) == 0 {
			time.Sleep(min(next-begin, 50*time.Millisecond))
			continue
		}
		if err := c.flush(t, due, begin); err != nil {
			return err
		}
	}
	// Without an interrupt, commits that were due and still wait are done and counted, because they may wait for a
	// stall.
	now, end := time.Since(c.burst.begin), time.Duration(c.burst.p.spec.Duration)
	if due, _ = c.arrivals.until(end, due[:0]); len(due) > 0 && now >= end {
		return c.flush(t, due, now)
	}
	return nil
}

// flush writes and syncs the due commits.
func (c *committer) flush(t *tally, due []time.Duration, begin time.Duration) error {
	both, flush, err := c.log.append(len(due))
	if err != nil {
		return err
	}
	now := time.Since(c.burst.begin)
	t.aside("flush", int64(both))
	t.aside("sync", int64(flush))
	c.stalled += stall(due[0], begin, now)
	for _, at := range due {
		kind := "outside"
		if c.burst.during(at, now) {
			kind = "inside"
		}
		t.add(kind, int64(now-at), c.burst.p.spec.Record)
		c.done++
	}
	return nil
}

// run writes a checkpoint every period after the end of the last one; the first one after half a period, so that a step
// of one period has time before and after it.
func (b *burst) run(tables []*files.File, t *tally, stop *atomic.Bool) error {
	source := rand.New(rand.NewPCG(b.p.spec.Seed, 0x636b7074))
	buffer := files.Buffer(32 << 10)
	defer files.Unmap(buffer)
	next := time.Duration(b.p.spec.Period) / 2
	for !stop.Load() {
		if now := time.Since(b.begin); now < next {
			time.Sleep(min(next-now, 10*time.Millisecond))
			continue
		}
		if err := b.one(tables, t, source, buffer, stop); err != nil {
			return err
		}
		next = time.Since(b.begin) + time.Duration(b.p.spec.Period)
	}
	return nil
}

// one writes dirty blocks of 4 to 32 KiB to random offsets of all files, then syncs the files one after the other.
func (b *burst) one(tables []*files.File, t *tally, source *rand.Rand, buffer []byte,
	stop *atomic.Bool) error {
	w := window{from: time.Since(b.begin)}
	b.mu.Lock()
	b.windows = append(b.windows, w)
	b.mu.Unlock()
	b.active.Store(true)
	defer b.active.Store(false)
	each := (2*b.p.spec.Dirty/int64(len(tables)) + 1<<20) / 4096
	for w.bytes < b.p.spec.Dirty && !stop.Load() {
		block := buffer[:4096*(1+source.IntN(8))]
		at := source.Int64N(each-8) * 4096
		b.p.pool.Fill(block, at, b.p.next())
		if err := tables[source.IntN(len(tables))].WriteAt(block, at); err != nil {
			return err
		}
		w.bytes += int64(len(block))
	}
	w.writing = time.Since(b.begin) - w.from
	for _, f := range tables {
		if stop.Load() {
			return nil // cut short: it is not a whole one
		}
		begin := time.Now()
		if err := f.Sync(); err != nil {
			return err
		}
		t.aside("table-sync", int64(time.Since(begin)))
	}
	w.to = time.Since(b.begin)
	b.mu.Lock()
	b.windows[len(b.windows)-1] = w
	b.mu.Unlock()
	return nil
}

// await waits until a read is due. It returns false at the end of the step, except for reads that were due before the
// end, for at most readPatience.
func (b *burst) await(at time.Duration, stop *atomic.Bool) bool {
	for {
		now := time.Since(b.begin)
		switch end := time.Duration(b.p.spec.Duration); {
		case stop.Load() && (at > end || now < end || now > end+readPatience):
			return false
		case now >= at:
			return true
		default:
			time.Sleep(min(at-now, 50*time.Millisecond))
		}
	}
}

// reads reads random blocks when they are due. The time of a read starts at its due time.
func (b *burst) reads(f *files.File, due *arrivals, thread int, t *tally, stop *atomic.Bool) error {
	p := b.p
	block := files.Buffer(int(p.spec.Block))
	defer files.Unmap(block)
	source := rand.NewPCG(p.spec.Seed, uint64(thread)<<8|3)
	for at := due.next(); ; at = due.next() {
		if !b.await(at, stop) {
			return nil
		}
		offset := int64(source.Uint64()%uint64(p.spec.Size/p.spec.Block)) * p.spec.Block
		if !p.direct {
			f.Forget(offset, p.spec.Block) // or it would be no miss the second time
		}
		if err := f.ReadAt(block, offset); err != nil {
			return err
		}
		now := time.Since(b.begin)
		kind := "read-outside"
		if b.during(at, now) {
			kind = "read-inside"
		}
		b.read.Add(1)
		t.aside(Read, int64(now-at))
		t.aside(kind, int64(now-at))
		if err := p.pool.Check(block, offset, p.blocks.of(offset)); err != nil {
			return err
		}
	}
}

// result summarizes the complete checkpoints.
func (b *burst) result(c *committer, s *record.ProbeStep,
	kinds map[string]*measure.Histogram) *record.ProbeCheckpointResult {
	r := &record.ProbeCheckpointResult{
		Inside: record.NewLatency(kinds["inside"]), Outside: record.NewLatency(kinds["outside"]),
		ReadsInside: record.NewLatency(kinds["read-inside"]), ReadsOutside: record.NewLatency(kinds["read-outside"]),
		Stalled: int64(c.stalled), StallAfter: int64(stallAfter), Asked: b.p.spec.CommitRate,
		Done:   over(float64(c.done), s.Seconds),
		Needed: float64(b.p.spec.Dirty) / time.Duration(b.p.spec.Period).Seconds(), Dirty: b.p.spec.Dirty,
	}
	var took, writing time.Duration
	var bytes int64
	for _, w := range b.windows {
		if w.to == 0 {
			continue
		}
		r.Checkpoints++
		took += w.to - w.from
		writing += w.writing
		bytes += w.bytes
		r.Longest = max(r.Longest, int64(w.to-w.from))
	}
	if n := int64(r.Checkpoints); n > 0 {
		r.Took, r.WriteTook, r.SyncTook = int64(took)/n, int64(writing)/n, int64(took-writing)/n
		r.Reached = over(float64(bytes), took.Seconds())
	}
	return r
}
