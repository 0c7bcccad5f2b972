// Package disk measures storage for MongoDB without a database: random reads and durable writes, the group commit of
// the journal, commits during checkpoints, and sustained writes with full caches. It also tests whether the storage is
// honest about durability.
//
// [Run] runs one probe and fills a record. Package disk/device reads devices, disk/files has the test files,
// disk/pattern their data. This package prints nothing.
package disk

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/plimsoll-bench/plimsoll/disk/device"
	"github.com/plimsoll-bench/plimsoll/disk/files"
	"github.com/plimsoll-bench/plimsoll/disk/pattern"
	"github.com/plimsoll-bench/plimsoll/internal/figure"
	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/spec"
)

// Progress receives the progress of a probe. Its methods are called from one goroutine at a time.
type Progress interface {
	// Step is called at the start of a step.
	Step(text string)
	// Second is called with the results of each second of a step.
	Second(s record.ProbeSecond)
	// Note is called with messages for the user.
	Note(text string)
}

// Options are the options of a probe.
type Options struct {
	Writer   *record.ProbeWriter
	Progress Progress
	// System reads devices from the kernel; the zero value is this machine.
	System device.System
	// Cutter cuts the power of the disks below the directory; nil if that is impossible.
	Cutter PowerCutter
	// Live adds the activity of devices to each second.
	Live bool
	// Endless runs the last step of the profile random until the context ends.
	Endless bool
	// Pause is the wait of a thread of the profile random after each operation, divided by the number of threads.
	Pause time.Duration
	// Synced is called with the duration of each sync in the mode mmap, from another goroutine; it may be nil.
	Synced func(took time.Duration)
}

// probe is one running probe.
type probe struct {
	Options
	out     *record.Probe
	spec    *record.ProbeSpec
	set     *files.Set
	pool    *pattern.Pool
	direct  bool // O_DIRECT works
	align   files.Alignment
	names   []string // of measured devices
	begin   time.Time
	written atomic.Uint64 // sequence number of the last block that was made
	data    int64         // size of the data file, 0 until it is written
	blocks  *versions     // of the data file
}

// Run runs the specification of the record. After an error or an interrupt the record has the results until then. Run
// removes all test files. The caller finishes the record.
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
	p.watchIdle(ctx)
	if err := p.account(ctx); err != nil {
		return p.fail(err)
	}
	if err := p.Writer.Save(); err != nil { // in case that the probe is killed in its first step
		return err
	}
	for _, profile := range p.spec.Profiles {
		if ctx.Err() != nil {
			break
		}
		var err error
		switch profile {
		case spec.ProbeRandom:
			err = p.random(ctx)
		case spec.ProbeJournal:
			err = p.journal(ctx)
		case spec.ProbeCheckpoint:
			err = p.checkpoint(ctx)
		case spec.ProbeSustained:
			err = p.sustained(ctx)
		}
		if err != nil {
			return p.fail(err)
		}
	}
	if err := p.proof(ctx); err != nil {
		return p.fail(err)
	}
	return p.conclude()
}

// fail concludes a probe that ends with an error, and explains the error.
func (p *probe) fail(err error) error {
	p.broken(err)
	wrong := new(pattern.Mismatch)
	if err = p.set.Explain(err); errors.As(err, &wrong) {
		err = fmt.Errorf("the storage of %s returned wrong data: %w", p.spec.Directory, wrong)
	}
	return errors.Join(err, p.conclude())
}

// prepare checks the directory and makes the directory of test files.
func (p *probe) prepare() error {
	if err := files.Refuse(p.spec.Directory); err != nil {
		var r *files.RefusedError
		if !errors.As(err, &r) || !r.Forced || !p.spec.Forced {
			return err
		}
	}
	storage, err := p.System.Storage(p.spec.Directory, p.spec.Devices...)
	if err != nil {
		return err
	}
	if len(storage.Memory) > 0 && !p.spec.Forced {
		return &files.RefusedError{Forced: true, Text: fmt.Sprintf(
			"data of %s is in memory (%s): use a directory on a disk, or --force for a result that is labelled as memory",
			p.spec.Directory, strings.Join(storage.Memory, ", "))}
	}
	set, removed, err := files.Open(p.spec.Directory)
	for _, dir := range removed {
		p.Progress.Note("removed the test files of a probe that was killed: " + dir)
	}
	if err != nil {
		return err
	}
	p.set, p.out.Storage = set, storage
	room, err := set.Room()
	if err != nil {
		set.Remove()
		return fmt.Errorf("cannot read the free space of %s: %w", p.spec.Directory, err)
	}
	if need := p.needs(); room < need {
		set.Remove()
		return &files.FullError{Text: fmt.Sprintf("%s has %s free, and the probe needs %s: free space, or probe with a smaller --size",
			p.spec.Directory, figure.Bytes(room), figure.Bytes(need))}
	}
	if err := p.alignment(); err != nil {
		set.Remove()
		return err
	}
	for _, d := range storage.Devices {
		p.names = append(p.names, d.Name)
	}
	return nil
}

// needs returns the maximal size of the test files in bytes, with some reserve.
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
	return n + n/20 + 16<<20
}

// alignment checks whether O_DIRECT works, and its alignment. If the specification requires O_DIRECT and it does not
// work, alignment returns an error or, with the option Fallback, adds a finding.
func (p *probe) alignment() error {
	err := p.set.TryDirect()
	p.direct = err == nil
	f, cerr := p.set.Create(files.Data, p.direct, false)
	if cerr != nil {
		return p.set.Explain(cerr)
	}
	logical := int64(0)
	for _, d := range p.out.Storage.Devices {
		logical = max(logical, d.Logical)
	}
	p.align = f.Align(logical)
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
		if deviceFailed(err) {
			return p.fail(err)
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

// next returns the sequence number of another block. No two blocks of a probe have the same.
func (p *probe) next() uint64 { return p.written.Add(1) }

// find adds a finding, once for each id.
func (p *probe) find(id string, severity measure.Severity, text string) {
	for _, f := range p.out.Validity {
		if f.ID == id {
			return
		}
	}
	p.out.Validity = append(p.out.Validity, measure.Finding{ID: id, Severity: severity, Text: text})
}

// write fills a test file with data of one sequence number and syncs it. It ends early when ctx ends.
func (p *probe) write(ctx context.Context, name string, size int64, sequence uint64) error {
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
		p.pool.Fill(b[:n], at, sequence)
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

// dataFile writes the data file, unless it is already complete. Its blocks begin at multiples of the parts with
// headers, so that each can be checked.
func (p *probe) dataFile(ctx context.Context) error {
	if p.data == p.spec.Size {
		return nil
	}
	p.Progress.Step("writing the test file, " + figure.Bytes(p.spec.Size))
	p.blocks = newVersions(p.spec.Size, p.spec.Block, p.next())
	if err := p.write(ctx, files.Data, p.spec.Size, p.blocks.first); err != nil {
		return err
	}
	if ctx.Err() == nil {
		p.data = p.spec.Size
	}
	return nil
}
