package disk

import (
	"context"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"runtime/debug"
	"slices"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/plimsoll-bench/plimsoll/disk/files"
	"github.com/plimsoll-bench/plimsoll/internal/figure"
	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/spec"
)

// gain is the minimal increase of the rate for more threads to count as an improvement.
const gain = 0.10

// wholeChecks is the interval of complete comparisons of read blocks. The headers and the sectors of every block are
// checked; a complete check needs as much processor time as the read.
const wholeChecks = 16

// random measures random reads and durable writes with increasing numbers of threads.
func (p *probe) random(ctx context.Context) error {
	if err := p.dataFile(ctx); err != nil {
		return err
	}
	for _, op := range p.spec.Operations {
		var done []record.ProbeStep
		ramp := Ramp(*p.spec)
		for i, threads := range ramp {
			if ctx.Err() != nil {
				break
			}
			length := time.Duration(0)
			if p.Endless && i == len(ramp)-1 { // only an interrupt ends it
				length = 100 * 365 * 24 * time.Hour
			}
			s, err := p.randomStep(ctx, op, threads, length)
			if s != nil && !s.Interrupted {
				done = append(done, *s)
			}
			if err != nil {
				return err
			}
		}
		if r := rampOf(op, done); r != nil {
			p.out.Ramps = append(p.out.Ramps, *r)
		}
	}
	return p.Writer.Save()
}

// rampOf returns the smallest number of threads after which no step improves the rate by gain.
func rampOf(op string, steps []record.ProbeStep) *record.ProbeRamp {
	if len(steps) == 0 {
		return nil
	}
	r := &record.ProbeRamp{Operation: op, Gain: gain}
	var rates []float64
	for _, s := range steps {
		rates = append(rates, s.Rate)
	}
	end := record.RampEnd(rates, gain)
	if r.Best, r.Rate = slices.Max(rates), rates[end]; end < len(steps)-1 {
		r.Threads = steps[end].Threads
	}
	return r
}

// randomStep measures one operation with a number of threads.
func (p *probe) randomStep(ctx context.Context, op string, threads int,
	length time.Duration) (*record.ProbeStep, error) {
	p.Progress.Step(fmt.Sprintf("random %s of %s, %s", op, figure.Bytes(p.spec.Block), threadsText(threads)))
	sync := ""
	if op != Read {
		sync = p.spec.Sync
	}
	j := &job{threads: threads, length: length, step: record.ProbeStep{
		Profile: spec.ProbeRandom, Operation: op, Threads: threads, Block: p.spec.Block, Mode: p.spec.Mode, Sync: sync,
	}}
	if sync == SyncData || sync == SyncOpen {
		j.syncs = func(kinds map[string]*measure.Histogram, ops int64) int64 {
			if op == Mixed {
				return kinds[Write].Count()
			}
			return ops
		}
	}
	if p.spec.Mode == files.Mapped {
		j.step.Sync, j.syncs = "", nil
		return p.mapped(ctx, j)
	}
	f, err := p.set.Create(files.Data, p.spec.Mode == files.Direct, sync == SyncOpen)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	f.Random()
	j.body = func(thread int, t *tally, stop *atomic.Bool) error {
		b := files.Buffer(int(p.spec.Block))
		defer files.Unmap(b)
		r := &accesses{p: p, file: f, block: b, source: newSource(p.spec, op, threads, thread), thread: thread,
			threads: threads, tally: t, begin: time.Now()}
		return r.loop(op, stop)
	}
	_, s, err := p.perform(ctx, j)
	return s, err
}

// newSource returns the random source of offsets of one thread: the same in each probe of a seed, different in each
// step.
func newSource(s *record.ProbeSpec, op string, threads, thread int) *rand.PCG {
	return rand.NewPCG(s.Seed^uint64(op[0])<<56, uint64(threads)<<32|uint64(thread))
}

// accesses is one thread that reads and writes blocks of a file.
type accesses struct {
	p               *probe
	file            *files.File
	block           []byte
	source          *rand.PCG
	thread, threads int
	reads           uint64
	tally           *tally
	begin           time.Time
}

// offset chooses the next block. Threads that read and write concurrently use separate blocks, because a read during a
// write may return a mix of both versions.
func (a *accesses) offset(own bool) int64 {
	size := a.p.spec.Block
	n := uint64(a.p.spec.Size / size)
	if own {
		return (int64(a.source.Uint64()%(n/uint64(a.threads)))*int64(a.threads) + int64(a.thread)) * size
	}
	return int64(a.source.Uint64()%n) * size
}

func (a *accesses) loop(op string, stop *atomic.Bool) error {
	for !stop.Load() {
		if op != Write {
			if err := a.read(op == Mixed); err != nil {
				return err
			}
		}
		if op != Read {
			if err := a.write(op == Mixed); err != nil {
				return err
			}
		}
		a.pause()
	}
	return nil
}

// pause waits for [Options].Pause after an operation.
func (a *accesses) pause() {
	if wait := a.p.Pause / time.Duration(a.threads); wait > 0 {
		time.Sleep(wait)
	}
}

// read reads a block, and checks it outside of the measured time.
func (a *accesses) read(own bool) error {
	at := a.offset(own)
	begin := time.Since(a.begin)
	if err := a.file.ReadAt(a.block, at); err != nil {
		return err
	}
	a.tally.add(kindIn(own, Read), int64(time.Since(a.begin)-begin), int64(len(a.block)))
	want := a.p.blocks.of(at)
	if a.reads++; a.reads%wholeChecks != 0 {
		return a.p.pool.CheckHeaders(a.block, at, want)
	}
	return a.p.pool.Check(a.block, at, want)
}

// write writes and syncs a block; the measured time includes both.
func (a *accesses) write(own bool) error {
	at := a.offset(own || a.threads > 1)
	sequence := a.p.next()
	a.p.pool.Fill(a.block, at, sequence)
	a.p.blocks.write(at, sequence)
	begin := time.Since(a.begin)
	if err := a.file.WriteAt(a.block, at); err != nil {
		return err
	}
	if a.p.spec.Sync == SyncData {
		if err := a.file.Sync(); err != nil {
			return err
		}
	}
	a.tally.add(kindIn(own, Write), int64(time.Since(a.begin)-begin), int64(len(a.block)))
	return nil
}

// kindIn returns the kind of an operation in a mixed step, "" in others.
func kindIn(mixed bool, kind string) string {
	if mixed {
		return kind
	}
	return ""
}

// mapped reads and writes in a mapping of the file. Another thread syncs the mapping periodically.
func (p *probe) mapped(ctx context.Context, j *job) (*record.ProbeStep, error) {
	f, err := p.set.Create(files.Data, false, false)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	m, err := f.Map(p.spec.Size)
	if err != nil {
		return nil, fmt.Errorf("cannot map %s of the test file: %w", figure.Bytes(p.spec.Size), err)
	}
	defer files.Unmap(m)
	op := j.step.Operation
	j.body = func(thread int, t *tally, stop *atomic.Bool) error {
		a := &accesses{p: p, block: make([]byte, p.spec.Block), source: newSource(p.spec, op, j.threads, thread),
			thread: thread, threads: j.threads, tally: t, begin: time.Now()}
		return a.copies(m, op, stop)
	}
	if op != Read {
		j.meanwhile = func(t *tally, stop *atomic.Bool) error { return p.syncOften(m, t, stop) }
	}
	kinds, s, err := p.perform(ctx, j)
	s.SyncOnly = record.NewLatency(kinds["sync"])
	s.Flushes = kinds["sync"].Count()
	return s, err
}

// copies copies records between the mapping and a block. It returns an error for a fault on a page, which would end the
// process otherwise.
func (a *accesses) copies(m []byte, op string, stop *atomic.Bool) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if r := recover(); r != nil {
			err = &fs.PathError{Op: Read, Path: "the mapped test file", Err: syscall.EIO} // SIGBUS
		}
	}()
	for !stop.Load() {
		if op != Write {
			at := a.offset(op == Mixed)
			begin := time.Since(a.begin)
			copy(a.block, m[at:])
			a.tally.add(kindIn(op == Mixed, Read), int64(time.Since(a.begin)-begin), int64(len(a.block)))
			if err := a.p.pool.Check(a.block, at, a.p.blocks.of(at)); err != nil {
				return err
			}
		}
		if op != Read {
			at := a.offset(op == Mixed || a.threads > 1)
			sequence := a.p.next()
			a.p.pool.Fill(a.block, at, sequence)
			a.p.blocks.write(at, sequence)
			begin := time.Since(a.begin)
			copy(m[at:], a.block)
			a.tally.add(kindIn(op == Mixed, Write), int64(time.Since(a.begin)-begin), int64(len(a.block)))
		}
		a.pause()
	}
	return nil
}

// syncOften syncs the mapping, waits, and repeats both until stop; then it syncs it again.
func (p *probe) syncOften(m []byte, t *tally, stop *atomic.Bool) error {
	for {
		begin := time.Now()
		if err := files.Flush(m); err != nil {
			return err
		}
		took := time.Since(begin)
		t.aside("sync", int64(took))
		if p.Synced != nil {
			p.Synced(took)
		}
		for wake := time.Now().Add(time.Duration(p.spec.SyncDelay)); !stop.Load() && time.Now().Before(wake); {
			time.Sleep(min(20*time.Millisecond, max(time.Until(wake), 0)))
		}
		if stop.Load() {
			return nil
		}
	}
}
