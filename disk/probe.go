// Package disk probes what storage can do for MongoDB, without a database: random reads and durable writes, the group
// commit of the journal, checkpoints beside commits, and what is left when caches are full; and it says whether the
// storage tells the truth about durability.
//
// [Run] does one probe and fills a record. Devices are seen by disk/device, test files are kept by disk/files, their
// data is made by disk/pattern. Nothing is printed here.
package disk

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/plimsoll-bench/plimsoll/disk/device"
	"github.com/plimsoll-bench/plimsoll/disk/files"
	"github.com/plimsoll-bench/plimsoll/disk/pattern"
	"github.com/plimsoll-bench/plimsoll/internal/figure"
	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/spec"
)

// Progress hears how a probe goes on. Its methods are called from one goroutine at a time.
type Progress interface {
	// Step says what begins now.
	Step(text string)
	// Second has what happened in the last second of a step.
	Second(s record.ProbeSecond)
	// Note says what the user should know.
	Note(text string)
}

// Options are what a probe needs.
type Options struct {
	Writer   *record.ProbeWriter
	Progress Progress
	// System is where the kernel tells about devices; the zero value is this machine.
	System device.System
	// Cutter takes away the power of the disks below the directory; nil where nobody can.
	Cutter PowerCutter
	// Live adds what the devices do to each second.
	Live bool
	// Endless lets the last step of the profile random go on until the context ends.
	Endless bool
	// Pause is how long a thread of the profile random waits after each turn, divided by the number of threads.
	Pause time.Duration
	// Synced hears how long each sync of the mode mmap took; may be nil. It is called from another goroutine.
	Synced func(took time.Duration)
}

// probe is one probe under way.
type probe struct {
	Options
	out     *record.Probe
	spec    *record.ProbeSpec
	set     *files.Set
	pool    *pattern.Pool
	direct  bool // O_DIRECT works
	align   files.Alignment
	names   []string // devices that are accounted
	begin   time.Time
	written uint64 // sequence of blocks, for data that is written by one thread
	data    int64  // size of the data file, 0 until it is written
	idle    idleness
}

// Run does what the specification of the record asks for. What was measured before an error or an interrupt stays in
// the record, and all test files are removed. The caller finishes the record.
func Run(ctx context.Context, o Options) (err error) {
	p := &probe{Options: o, out: o.Writer.Probe, spec: &o.Writer.Probe.Specification, begin: time.Now()}
	if p.System == (device.System{}) {
		p.System = device.Here()
	}
	if err := Check(p.spec); err != nil {
		return err
	}
	if err := p.prepare(); err != nil {
		return err
	}
	defer p.set.Remove()
	p.pool = pattern.NewPool(p.spec.Seed, p.spec.Block)
	p.idle = p.watchIdle(ctx)
	if err := p.account(ctx); err != nil {
		return err
	}
	if err := p.save(); err != nil { // what is known is known, should the first step be killed
		return err
	}
	for _, profile := range p.spec.Profiles {
		if err := p.profile(ctx, profile); err != nil {
			return errors.Join(p.set.Explain(err), p.conclude(ctx))
		}
	}
	return p.conclude(ctx)
}

// profile runs one profile.
func (p *probe) profile(ctx context.Context, name string) error {
	if ctx.Err() != nil {
		return nil
	}
	switch name {
	case spec.ProbeRandom:
		return p.random(ctx)
	case spec.ProbeJournal:
		return p.journal(ctx)
	case spec.ProbeCheckpoint:
		return p.checkpoint(ctx)
	case spec.ProbeSustained:
		return p.sustained(ctx)
	}
	return fmt.Errorf("unknown profile %q", name)
}

// prepare looks at the directory and makes the one for test files.
func (p *probe) prepare() error {
	if err := files.Refuse(p.spec.Directory); err != nil {
		var r *files.RefusedError
		if !errors.As(err, &r) || !r.Forced || !p.spec.Forced {
			return err
		}
	}
	storage, err := p.System.Storage(p.spec.Directory)
	if err != nil {
		return err
	}
	if storage.Memory && !p.spec.Forced {
		return &files.RefusedError{Forced: true, Text: fmt.Sprintf(
			"%s is in memory (%s), so there is no storage to probe: give a directory on a disk, or --force for a result that is labelled as memory", p.spec.Directory, storage.Filesystem)}
	}
	set, removed, err := files.Open(p.spec.Directory)
	for _, dir := range removed {
		p.Progress.Note("removed the test files of a probe that was killed: " + dir)
	}
	if err != nil {
		return err
	}
	p.set, p.out.Storage = set, storage
	if err := p.room(); err != nil {
		set.Remove()
		return err
	}
	if err := p.alignment(); err != nil {
		set.Remove()
		return err
	}
	for _, d := range storage.Devices {
		p.names = append(p.names, d.Name)
	}
	p.names = append(p.names, p.spec.Devices...)
	return nil
}

// room checks that the test files fit and leave a little.
func (p *probe) room() error {
	need := p.needs()
	if have := p.set.Room(); have < need+need/20+16<<20 {
		return &files.FullError{Text: fmt.Sprintf("%s has %s free, and the probe needs %s: free space, or probe with a smaller --size",
			p.spec.Directory, figure.Bytes(have), figure.Bytes(need+need/20+16<<20))}
	}
	return nil
}

// needs is how much the test files take at most.
func (p *probe) needs() int64 {
	var n int64
	for _, name := range p.spec.Profiles {
		switch name {
		case spec.ProbeRandom, spec.ProbeSustained:
			n = max(n, p.spec.Size)
		case spec.ProbeJournal:
			n = max(n, 3*p.spec.Segment)
		case spec.ProbeCheckpoint:
			n = max(n, p.spec.Size+3*p.spec.Segment+2*p.spec.Dirty)
		}
	}
	if len(p.spec.Profiles) > 1 {
		n += 3 * p.spec.Segment
	}
	return n
}

// alignment finds out whether O_DIRECT works and what it asks for. What was asked for and cannot be had is an error, or
// a fallback that is stated.
func (p *probe) alignment() error {
	err := p.set.TryDirect()
	p.direct = err == nil
	f, cerr := p.set.Create(files.Data, p.direct, false)
	if cerr != nil {
		return p.set.Explain(cerr)
	}
	p.align = f.Align(p.logical())
	if cerr := f.Close(); cerr != nil {
		return cerr
	}
	s := &p.out.Storage
	s.Direct, s.MemoryAlign, s.OffsetAlign, s.AlignFrom = p.direct, p.align.Memory, p.align.Offset, p.align.From
	if p.spec.Mode != files.Direct {
		return nil
	}
	if !p.direct {
		if full := new(files.FullError); errors.As(p.set.Explain(err), &full) {
			return full
		}
		if !p.spec.Fallback {
			return &files.NoDirectError{Filesystem: s.Filesystem, Err: err}
		}
		p.spec.Mode = files.Buffered
		p.find("no-direct", measure.Warning, fmt.Sprintf("this filesystem does not support O_DIRECT (%v), so the probe used the page cache, "+
			"as --fallback allows. Results include the page cache", err))
		return nil
	}
	if p.spec.Block%p.align.Offset != 0 {
		return fmt.Errorf("O_DIRECT on this filesystem needs blocks of %s (%s), and --block is %s: use a multiple, or --mode buffered",
			figure.Bytes(p.align.Offset), p.align.From, figure.Bytes(p.spec.Block))
	}
	return nil
}

// logical is the largest logical block of the devices below, 0 if there are none.
func (p *probe) logical() int64 {
	var n int64
	for _, d := range p.out.Storage.Devices {
		n = max(n, d.Logical)
	}
	return n
}

// find adds a reason for doubt, once.
func (p *probe) find(id string, severity measure.Severity, text string) {
	for _, f := range p.out.Validity {
		if f.ID == id {
			return
		}
	}
	p.out.Validity = append(p.out.Validity, measure.Finding{ID: id, Severity: severity, Text: text})
}

// save keeps what is known so far.
func (p *probe) save() error { return p.Writer.Save() }

// write fills a test file with data and makes it durable. It ends early when ctx does.
func (p *probe) write(ctx context.Context, name string, size int64) error {
	f, err := p.set.Create(name, p.direct, false)
	if err != nil {
		return err
	}
	defer f.Close()
	const chunk = 1 << 20
	b := files.Buffer(chunk)
	defer files.Unmap(b)
	for at := int64(0); at < size && ctx.Err() == nil; at += chunk {
		n := min(chunk, size-at)
		p.written++
		p.pool.Fill(b[:n], at, p.written)
		if err := f.WriteAt(b[:n], at); err != nil {
			return err
		}
	}
	if err := f.Sync(); err != nil {
		return err
	}
	f.Forget(0, size)
	return nil
}

// dataFile makes sure that the data file is there in its full size. Blocks of the data file begin at multiples of the
// pieces that hold headers, so that each can be checked.
func (p *probe) dataFile(ctx context.Context) error {
	if p.data == p.spec.Size {
		return nil
	}
	p.Progress.Step("writing the test file, " + figure.Bytes(p.spec.Size))
	if err := p.write(ctx, files.Data, p.spec.Size); err != nil {
		return err
	}
	if ctx.Err() == nil {
		p.data = p.spec.Size
	}
	return nil
}
