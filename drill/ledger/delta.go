package ledger

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"math"
	"math/bits"
	"time"

	"github.com/plimsoll-bench/plimsoll/drill/reads"
	"github.com/plimsoll-bench/plimsoll/internal/varint"
)

// magic begins a hand-over. Its last byte is the version of the format.
const magic = "PLMLDG\x00\x05"

// Delta returns everything since the last call, for [Remote.Take]. One goroutine calls it. The streams may run
// meanwhile: then writes under way follow in the next hand-over.
func (l *Ledger) Delta() []byte {
	e := encoder{b: []byte(magic)}
	e.put(uint64(l.opts.Run), l.opts.Seed, l.serial)
	l.serial++
	// The reads come before the writes, so that no read shows a write that the delta does not have.
	e.b = l.reads.AppendDelta(e.b)
	l.mu.Lock()
	writers, groups := l.writers(), l.groups
	l.mu.Unlock()
	e.put(uint64(len(writers)))
	for _, w := range writers {
		e.writer(w)
	}
	e.groups(groups)
	return e.seal()
}

// encoder appends numbers of variable length.
type encoder struct{ b []byte }

// seal appends a checksum.
func (e *encoder) seal() []byte {
	return binary.LittleEndian.AppendUint32(e.b, crc32.Checksum(e.b, castagnoli))
}

func (e *encoder) put(numbers ...uint64) {
	for _, n := range numbers {
		e.b = binary.AppendUvarint(e.b, n)
	}
}

func (e *encoder) signed(numbers ...int64) {
	for _, n := range numbers {
		e.b = binary.AppendVarint(e.b, n)
	}
}

func (e *encoder) writer(w *writer) {
	w.mu.Lock()
	defer w.mu.Unlock()
	absent := w.absent[w.handed:]
	w.handed = len(w.absent)
	e.put(uint64(w.number), uint64(w.missed), uint64(w.wrong), uint64(len(absent)))
	for _, n := range w.skipped {
		e.put(uint64(n))
	}
	for _, a := range absent {
		e.put(uint64(a.kind), uint64(a.sequence))
		e.signed(a.begun)
	}
	e.outcomes(&w.inserts)
	e.outcomes(&w.updates)
	e.undecided(w.open[w.openHanded:])
	w.openHanded = len(w.open)
}

// undecided appends transactions of unknown result.
func (e *encoder) undecided(list []undecided) {
	e.put(uint64(len(list)))
	for _, u := range list {
		e.put(uint64(len(u.groups)), uint64(len(u.inserts)))
		for _, g := range u.groups {
			e.put(uint64(g))
		}
		for _, n := range u.inserts {
			e.put(uint64(n))
		}
	}
}

// outcomes appends the states since the first that was not settled, the new marks as differences, and the times of the
// ring.
func (e *encoder) outcomes(l *outcomes) {
	from := l.handed
	e.put(uint64(from), uint64(l.next), uint64(len(l.ring)), uint64(len(l.marks)-l.marked))
	for n := from; n < l.next; n += 4 {
		p := &l.pages[n/pageWrites]
		if p.bits == nil {
			e.b = append(e.b, 0x55*byte(p.same))
			continue
		}
		e.b = append(e.b, p.bits[n%pageWrites/4])
	}
	last := int64(0)
	for _, m := range l.marks[l.marked:] {
		e.signed(int64(m) - last)
		last = int64(m)
	}
	last = 0
	for n := oldest(from, l.next, len(l.ring)); n < l.next; n++ {
		at := l.ring[n&int64(len(l.ring)-1)]
		e.signed(at - last)
		e.put(uint64(l.took[n&int64(len(l.ring)-1)]))
		last = at
	}
	for n := from; n < l.next; n++ {
		if l.joined.has(n) {
			e.put(uint64(n - from + 1))
		}
	}
	e.put(0)
	where := l.where[min(from, int64(len(l.where))):]
	e.put(uint64(len(where)))
	e.b = append(e.b, where...)
	l.marked = len(l.marks)
	l.settled()
}

// oldest returns the first write since the last hand-over whose time is in a ring.
func oldest(handed, next int64, ring int) int64 { return max(handed, next-int64(ring)) }

// groups appends the new counts of the groups that have some, each after its distance from the one before.
func (e *encoder) groups(g *groups) {
	if g == nil {
		e.put(0)
		return
	}
	last := 0
	for i := range groupCount {
		if c := g.fresh(i); c != (groupCounts{}) {
			e.put(1, uint64(i-last), uint64(c[acknowledged]), uint64(c[notApplied]), uint64(c[indeterminate]))
			last = i
		}
	}
	e.put(0)
}

var errDamaged = errors.New("ledger: what a load process handed over is damaged")

// Remote is the ledger of another process of the run, in the ledger of the process that audits.
type Remote struct {
	l     *Ledger
	shift int64 // to be added to all times
	reads *reads.Remote
	next  uint64 // serial number
	bad   error
}

// Remote returns an empty one. shift is added to the run times of the other process.
func (l *Ledger) Remote(shift time.Duration) *Remote {
	return &Remote{l: l, shift: int64(shift), reads: l.reads.Remote(int64(shift))}
}

// Take adds what [Ledger.Delta] of the other process returned. After an error the ledger is incomplete, and Take
// returns the same error again.
func (p *Remote) Take(delta []byte) error {
	if p.bad == nil {
		p.bad = p.take(delta)
	}
	return p.bad
}

func (p *Remote) take(delta []byte) error {
	if len(delta) < len(magic)+4 || string(delta[:len(magic)]) != magic {
		return errDamaged
	}
	body, sum := delta[:len(delta)-4], binary.LittleEndian.Uint32(delta[len(delta)-4:])
	if crc32.Checksum(body, castagnoli) != sum {
		return errDamaged
	}
	d := decoder{Reader: varint.Reader{B: body[len(magic):]}, shift: p.shift}
	run, seed := uint32(d.Get(math.MaxUint32)), d.Get(math.MaxUint64)
	if run != p.l.opts.Run || seed != p.l.opts.Seed {
		return fmt.Errorf("ledger: run %d with seed %d and run %d with seed %d wrote different documents",
			p.l.opts.Run, p.l.opts.Seed, run, seed)
	}
	if d.Get(math.MaxUint64) != p.next {
		return errDamaged
	}
	p.next++
	p.reads.Take(&d.Reader)
	for n := d.Get(maxWriters); n > 0 && !d.Bad; n-- {
		number := int(d.Get(maxWriters - 1))
		w := p.l.by[number]
		if w == nil {
			w = &writer{number: number, remote: p}
			p.l.by[number] = w
		}
		if w.remote != p {
			return fmt.Errorf("ledger: two processes have a writer %d. Give each process its own numbers (Options.First)", number)
		}
		d.writer(w)
	}
	d.groups(p.l.shared)
	if d.Bad || len(d.B) > 0 {
		return errDamaged
	}
	return nil
}

// decoder reads what an encoder wrote. After an error it is bad and reads nothing more.
type decoder struct {
	varint.Reader
	shift int64
}

func (d *decoder) writer(w *writer) {
	w.missed, w.wrong = int64(d.Get(math.MaxInt64)), int64(d.Get(math.MaxInt64))
	absent := d.Get(mostAbsences)
	for i := range w.skipped {
		w.skipped[i] = int64(d.Get(math.MaxInt64))
	}
	for ; absent > 0 && !d.Bad; absent-- {
		a := absence{kind: kind(d.Get(uint64(kinds) - 1)), sequence: int64(d.Get(maxSequence)), begun: d.Signed() + d.shift}
		w.absent = append(w.absent, a)
	}
	d.outcomes(&w.inserts)
	d.outcomes(&w.updates)
	for _, a := range w.absent {
		if !w.outcomes(a.kind).known(a.sequence) {
			d.Fail()
		}
	}
	d.undecided(w)
}

func (d *decoder) undecided(w *writer) {
	for n := d.Get(uint64(mostUndecided - len(w.open))); n > 0 && !d.Bad; n-- {
		u := undecided{}
		groups, inserts := d.Get(math.MaxInt32), d.Get(math.MaxInt32) // each takes a byte, so the loops end with the data
		for ; groups > 0 && !d.Bad; groups-- {
			u.groups = append(u.groups, uint32(d.Get(groupCount-1)))
		}
		for ; inserts > 0 && !d.Bad; inserts-- {
			u.inserts = append(u.inserts, int64(d.Get(maxSequence)))
			if last := u.inserts[len(u.inserts)-1]; !w.inserts.known(last) {
				d.Fail()
			}
		}
		if !d.Bad {
			w.open = append(w.open, u)
		}
	}
}

func (d *decoder) outcomes(l *outcomes) {
	from, next := int64(d.Get(maxSequence)), int64(d.Get(maxSequence))
	ring, marks := d.Get(math.MaxInt32), d.Get(math.MaxInt32)
	states := d.Take(uint64(max(0, next-from)+3) / 4)
	if d.Bad || from != l.handed || next < l.next || ring < 64 || ring&(ring-1) != 0 {
		d.Fail()
		return
	}
	l.enlarge(int(min(ring, 1<<bits.Len64(uint64(max(next, 64)-1)))))
	for n := from; n < next; n++ {
		if n == l.next {
			l.begin(1)
		}
		i := n - from
		if s := state(states[i/4]>>(2*(i%4))) & 3; s != open && l.state(n) == open {
			l.set(n, s)
		}
	}
	last := int64(0)
	for ; marks > 0 && !d.Bad; marks-- {
		last += d.Signed()
		l.marks = append(l.marks, uint32(min(max(last+d.shift/markUnit, 0), math.MaxUint32)))
	}
	last = 0
	for n := oldest(from, next, int(ring)); n < next && !d.Bad; n++ {
		last += d.Signed()
		i := n & int64(len(l.ring)-1)
		l.ring[i], l.took[i] = last+d.shift, uint32(d.Get(math.MaxUint32))
	}
	for !d.Bad {
		at := int64(d.Get(uint64(next - from)))
		if at == 0 {
			break
		}
		l.join(from + at - 1)
	}
	if where := d.Take(d.Get(uint64(next - from))); len(where) > 0 {
		l.where = append(l.where, make([]uint8, max(0, from-int64(len(l.where))))...)
		l.where = append(l.where[:from], where...)
	}
	l.settled()
}

// enlarge makes room for more times. The ring of another process is as large as its writes need.
func (l *outcomes) enlarge(size int) {
	if len(l.ring) >= size {
		return
	}
	ring, took := make([]int64, size), make([]uint32, size)
	for n := oldest(0, l.next, len(l.ring)); n < l.next; n++ {
		to, of := n&int64(size-1), n&int64(len(l.ring)-1)
		ring[to], took[to] = l.ring[of], l.took[of]
	}
	l.ring, l.took = ring, took
}

func (d *decoder) groups(shared func() *groups) {
	for at := uint64(0); d.Get(1) == 1; {
		at += d.Get(groupCount)
		c := groupCounts{acknowledged: uint32(d.Get(math.MaxUint32)), notApplied: uint32(d.Get(math.MaxUint32)),
			indeterminate: uint32(d.Get(math.MaxUint32))}
		if d.Bad || at >= groupCount {
			d.Fail()
			return
		}
		shared().add(int(at), c)
	}
}
