package ledger

import (
	"math"
	"math/bits"
)

// state is the outcome of a write, as the client knows it.
type state uint8

const (
	open          state = iota // sent and never settled, because the process ended; counts as indeterminate
	acknowledged               // at the requested write concern
	notApplied                 // proven not to have been applied
	indeterminate              // anything else
)

// A page holds the states of pageWrites writes, two bits each. A full page in which all states are the same is kept as
// that state alone. So a run without failures takes a few bytes per 4096 writes, and the worst one, in which every
// other write fails, 1 KiB. That is at most 25 MB for 10^8 writes. Sets of intervals would need 16 bytes for each
// change.
const (
	pageWrites = 4096
	pageBytes  = pageWrites / 4
	markWrites = 64 // writes per coarse time mark
	markUnit   = 100_000
)

// page is the states of pageWrites writes; bits is nil if all of them are same.
type page struct {
	bits *[pageBytes]byte
	same state
}

// outcomes are those of the numbered writes of one kind of a writer. Only the last two pages change, because a writer
// settles its writes before it begins others.
type outcomes struct {
	next  int64 // sequence of the next write
	pages []page
	ring  []int64  // exact acknowledgement times of the last writes, by sequence modulo length
	took  []uint32 // how long before that each was sent, in microseconds, rounded up
	marks []uint32 // time of the first settled write of each markWrites, in markUnit ns
	count [4]int64 // settled writes by state
	// where is 1 + the number of the shard of each write, 0 if not known; nil without shards.
	where []uint8
	// joined has the writes that belong to the same transaction as the write before.
	joined bitset
	cut    bool // nothing is known from next on: any of these may have been attempted

	handed int64 // all writes before it are settled and were handed over
	marked int   // marks that were handed over
}

// ringSize returns the power of two that is at most n, and at least 64.
func ringSize(n int) int { return 1 << (bits.Len(uint(max(n, 64))) - 1) }

func newOutcomes(recent int) outcomes {
	return outcomes{ring: make([]int64, recent), took: make([]uint32, recent)}
}

// begin reserves n sequence numbers and returns the first.
func (l *outcomes) begin(n int64) int64 {
	first := l.next
	l.next += n
	for int64(len(l.pages))*pageWrites < l.next {
		l.grow()
	}
	return first
}

// grow adds a page. The previous page may still change, so the one before that is compacted.
func (l *outcomes) grow() {
	if n := len(l.pages); n >= 2 {
		l.pages[n-2].compact()
	}
	l.pages = append(l.pages, page{bits: new([pageBytes]byte)})
}

// compact drops the bits of a page in which all states are the same.
func (p *page) compact() {
	if p.bits == nil {
		return
	}
	first := p.bits[0]
	if first != 0x55*(first&3) {
		return
	}
	for _, b := range p.bits {
		if b != first {
			return
		}
	}
	p.bits, p.same = nil, state(first&3)
}

// mostShards is the most shards that outcomes distinguish.
const mostShards = 255

// place sets the shard of a write.
func (l *outcomes) place(sequence int64, shard int) {
	for int64(len(l.where)) <= sequence {
		l.where = append(l.where, 0)
	}
	if shard >= 0 && shard < mostShards {
		l.where[sequence] = uint8(shard + 1)
	}
}

// shardOf returns the number of the shard of a write, -1 if not known.
func (l *outcomes) shardOf(sequence int64) int {
	if sequence >= int64(len(l.where)) {
		return -1
	}
	return int(l.where[sequence]) - 1
}

// join notes that a write belongs to the same transaction as the one before.
func (l *outcomes) join(sequence int64) {
	for int64(len(l.joined)) <= sequence/64 {
		l.joined = append(l.joined, 0)
	}
	l.joined[sequence/64] |= 1 << (sequence % 64)
}

// resolve sets the outcome of a write, once. sent and at are when it was sent and when the outcome was known, in run
// time.
func (l *outcomes) resolve(sequence int64, s state, sent, at int64) {
	l.set(sequence, s)
	if s == acknowledged {
		i := sequence & int64(len(l.ring)-1)
		l.ring[i], l.took[i] = at, uint32(min(max(at-sent+999, 0)/1000, math.MaxUint32))
	}
	if mark := int(sequence / markWrites); mark >= len(l.marks) {
		l.mark(mark, at)
	}
}

// set sets the state of a write, once.
func (l *outcomes) set(sequence int64, s state) {
	p := &l.pages[sequence/pageWrites]
	if p.bits == nil { // a batch of more than a page was compacted before it was settled
		p.expand()
	}
	i := sequence % pageWrites
	p.bits[i/4] |= byte(s) << (2 * (i % 4))
	l.count[s]++
}

func (p *page) expand() {
	p.bits = new([pageBytes]byte)
	for i := range p.bits {
		p.bits[i] = 0x55 * byte(p.same)
	}
}

// mark sets the time of a block of writes, and of earlier blocks that were never settled.
func (l *outcomes) mark(block int, at int64) {
	t := uint32(min(max(at, 0)/markUnit, math.MaxUint32))
	for len(l.marks) <= block {
		l.marks = append(l.marks, t)
	}
}

func (l *outcomes) state(sequence int64) state {
	p := &l.pages[sequence/pageWrites]
	if p.bits == nil {
		return p.same
	}
	i := sequence % pageWrites
	return state(p.bits[i/4]>>(2*(i%4))) & 3
}

// acknowledgedAt returns the earliest time at which a write was acknowledged, and how much later it may have been; -1
// if not known.
func (l *outcomes) acknowledgedAt(sequence int64) (at, within int64) {
	if l.next-sequence <= int64(len(l.ring)) && l.state(sequence) == acknowledged {
		return l.ring[sequence&int64(len(l.ring)-1)], 0
	}
	block := sequence / markWrites
	if block+1 >= int64(len(l.marks)) {
		return -1, 0
	}
	from, to := int64(l.marks[block])*markUnit, (int64(l.marks[block+1])+1)*markUnit
	return from, to - from
}

// sentAt returns a time at which an acknowledged write had not been sent yet, or was being sent.
func (l *outcomes) sentAt(sequence int64) int64 {
	if l.next-sequence <= int64(len(l.ring)) {
		i := sequence & int64(len(l.ring)-1)
		return l.ring[i] - int64(l.took[i])*1000
	}
	block := min(sequence/markWrites, int64(len(l.marks))-1)
	for b := block - 1; b >= 0; b-- { // a batch may have several marks of the same time
		if l.marks[b] < l.marks[block] {
			return int64(l.marks[b]) * markUnit
		}
	}
	return 0
}

// known reports whether a write of this number was begun.
func (l *outcomes) known(sequence int64) bool { return sequence >= 0 && sequence < l.next }

// attempted reports whether a write of this number may have been begun.
func (l *outcomes) attempted(sequence int64) bool { return l.known(sequence) || l.cut && sequence >= 0 }

// settled moves handed past the writes that are settled, on a border of bytes.
func (l *outcomes) settled() {
	for l.handed < l.next && l.state(l.handed) != open {
		l.handed++
	}
	l.handed &^= 3
}

func (l *outcomes) bytes() int64 {
	n := int64(cap(l.pages))*16 + int64(cap(l.ring))*12 + int64(cap(l.marks))*4 + int64(cap(l.where)) +
		int64(cap(l.joined))*8
	for _, p := range l.pages {
		if p.bits != nil {
			n += pageBytes
		}
	}
	return n
}
