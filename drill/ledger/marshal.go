package ledger

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
	"math"
	"math/bits"
	"slices"

	"github.com/plimsoll-bench/plimsoll/drill/reads"
	"github.com/plimsoll-bench/plimsoll/internal/varint"
)

// magic begins a marshalled ledger. Its last byte is the version of the format.
const magic = "PLMLDG\x00\x02"

// MarshalBinary implements [encoding.BinaryMarshaler], for a client process after its run.
func (l *Ledger) MarshalBinary() ([]byte, error) {
	e := encoder{b: []byte(magic)}
	e.put(uint64(l.opts.Run), l.opts.Seed, uint64(l.opts.First), uint64(l.opts.Writers), uint64(l.opts.Recent))
	writers := l.writers()
	e.put(uint64(len(writers)))
	for _, w := range writers {
		e.writer(w)
	}
	e.groups(l.groups)
	e.put(uint64(len(l.notes)))
	for text, n := range l.notes {
		e.put(uint64(len(text)))
		e.b = append(e.b, text...)
		e.put(uint64(n))
	}
	var err error
	if e.b, err = l.reads.AppendBinary(e.b); err != nil {
		return nil, err
	}
	return e.seal(), nil
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
	e.put(uint64(w.number), uint64(w.missed), uint64(w.wrong), uint64(w.skipped), uint64(len(w.absent)))
	for _, a := range w.absent {
		e.put(uint64(a.kind), uint64(a.sequence))
		e.signed(a.begun)
	}
	e.lane(&w.inserts)
	e.lane(&w.updates)
}

// lane appends the states, the marks as differences, and the times of the ring.
func (e *encoder) lane(l *lane) {
	gone := uint64(0)
	if l.gone {
		gone = 1
	}
	e.put(gone, uint64(l.next), uint64(len(l.ring)), uint64(len(l.marks)))
	for _, p := range l.pages {
		if p.bits == nil {
			e.b = append(e.b, byte(p.same))
			continue
		}
		e.b = append(append(e.b, pageIsBits), p.bits[:]...)
	}
	last := int64(0)
	for _, m := range l.marks {
		e.signed(int64(m) - last)
		last = int64(m)
	}
	last = 0
	for _, i := range l.recent() {
		e.signed(l.ring[i] - last)
		last = l.ring[i]
	}
	e.put(uint64(len(l.where)))
	e.b = append(e.b, l.where...)
}

// recent returns the places of the ring that are in use, oldest first.
func (l *lane) recent() []int64 {
	var places []int64
	for n := max(0, l.next-int64(len(l.ring))); n < l.next; n++ {
		places = append(places, n&int64(len(l.ring)-1))
	}
	return places
}

// pageIsBits precedes the bits of a page. A page without bits is one byte, its state.
const pageIsBits = 0xff

// groups appends the groups that have counts, each after its distance from the one before.
func (e *encoder) groups(g *groups) {
	if g == nil {
		e.put(0)
		return
	}
	used := uint64(0)
	for i := range groupCount {
		if g.of(i) != (groupCounts{}) {
			used++
		}
	}
	e.put(1, used)
	last := 0
	for i := range groupCount {
		if c := g.of(i); c != (groupCounts{}) {
			e.put(uint64(i-last), uint64(c[acknowledged]), uint64(c[notApplied]), uint64(c[indeterminate]))
			last = i
		}
	}
}

var errDamaged = errors.New("ledger: the ledger of a load process is damaged")

// UnmarshalBinary implements [encoding.BinaryUnmarshaler]. After an error l is unchanged.
func (l *Ledger) UnmarshalBinary(data []byte) error {
	if len(data) < len(magic)+4 || string(data[:len(magic)]) != magic {
		return errDamaged
	}
	body, sum := data[:len(data)-4], binary.LittleEndian.Uint32(data[len(data)-4:])
	if crc32.Checksum(body, castagnoli) != sum {
		return errDamaged
	}
	d := decoder{varint.Reader{B: body[len(magic):]}}
	fresh := &Ledger{by: map[int]*writer{}, notes: map[string]int64{}}
	fresh.opts = Options{Run: uint32(d.Get(math.MaxUint32)), Seed: d.Get(math.MaxUint64), First: int(d.Get(MaxWriters)),
		Writers: int(d.Get(math.MaxInt64)), Recent: int(d.Get(math.MaxInt64))}
	for range d.Get(MaxWriters) {
		if w := d.writer(); !d.Bad && fresh.by[w.number] == nil {
			fresh.by[w.number] = w
			continue
		}
		return errDamaged
	}
	fresh.groups = d.groups()
	for n := d.Get(math.MaxInt64); n > 0 && !d.Bad; n-- {
		text := string(d.Take(d.Get(math.MaxInt64)))
		fresh.notes[text] = int64(d.Get(math.MaxInt64))
	}
	if d.Bad {
		return errDamaged
	}
	history, rest, err := reads.Parse(d.B)
	if err != nil || len(rest) > 0 {
		return errDamaged
	}
	l.opts, l.by, l.groups, l.notes, l.reads = fresh.opts, fresh.by, fresh.groups, fresh.notes, history
	return nil
}

// decoder reads what an encoder wrote. After an error it is bad and returns zeros.
type decoder struct{ varint.Reader }

func (d *decoder) writer() *writer {
	w := &writer{number: int(d.Get(MaxWriters)), missed: int64(d.Get(math.MaxInt64)), wrong: int64(d.Get(math.MaxInt64)),
		skipped: int64(d.Get(math.MaxInt64))}
	n := d.Get(mostAbsences)
	for range n {
		a := absence{kind: kind(d.Get(uint64(kinds) - 1)), sequence: int64(d.Get(maxSequence)), begun: d.Signed()}
		if d.Bad {
			return w
		}
		w.absent = append(w.absent, a)
	}
	w.inserts = d.lane()
	w.updates = d.lane()
	w.absent = slices.DeleteFunc(w.absent, func(a absence) bool { return a.sequence >= w.lane(a.kind).next })
	return w
}

func (d *decoder) lane() lane {
	l := lane{gone: d.Get(1) == 1, next: int64(d.Get(maxSequence))}
	ring, marks := d.Get(math.MaxInt32), d.Get(math.MaxInt64)
	pages := (uint64(l.next) + pageWrites - 1) / pageWrites
	if !d.Fits(pages) {
		return lane{}
	}
	for range pages {
		l.pages = append(l.pages, d.page())
	}
	if !d.Fits(marks) {
		return lane{}
	}
	last := int64(0)
	for range marks {
		last += d.Signed()
		l.marks = append(l.marks, uint32(min(max(last, 0), math.MaxUint32)))
	}
	d.ring(&l, ring)
	l.recount()
	l.where = slices.Clone(d.Take(d.Get(uint64(l.next))))
	return l
}

// page reads a state, or the bits of all.
func (d *decoder) page() page {
	head := d.Take(1)
	switch {
	case d.Bad:
		return page{}
	case head[0] <= byte(indeterminate):
		return page{same: state(head[0])}
	case head[0] != pageIsBits:
		d.Fail()
		return page{}
	}
	p := page{bits: new([pageBytes]byte)}
	copy(p.bits[:], d.Take(pageBytes))
	return p
}

// ring reads the last acknowledgement times into a ring that is no larger than they need.
func (d *decoder) ring(l *lane, size uint64) {
	used := min(size, uint64(l.next))
	if size&(size-1) != 0 || !d.Fits(used) {
		d.Fail()
		return
	}
	l.ring = make([]int64, max(64, 1<<bits.Len64(max(used, 1)-1)))
	last := int64(0)
	for n := l.next - int64(used); n < l.next; n++ {
		last += d.Signed()
		l.ring[n&int64(len(l.ring)-1)] = last
	}
}

// recount counts the states itself, because the data may be wrong.
func (l *lane) recount() {
	for i := range l.pages {
		p, n := &l.pages[i], min(l.next-int64(i)*pageWrites, pageWrites)
		if p.bits == nil {
			l.count[p.same] += n
			continue
		}
		for at := range n {
			l.count[p.bits[at/4]>>(2*(at%4))&3]++
		}
	}
}

func (d *decoder) groups() *groups {
	if d.Get(1) == 0 {
		return nil
	}
	g, at := newGroups(), uint64(0)
	used := d.Get(groupCount)
	for range used {
		at += d.Get(groupCount)
		if at >= groupCount || d.Bad {
			d.Fail()
			return g
		}
		for _, s := range []state{acknowledged, notApplied, indeterminate} {
			g.byState[s][at] = uint32(d.Get(math.MaxUint32))
		}
	}
	return g
}
