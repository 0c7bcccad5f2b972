package reads

import (
	"maps"
	"math"
	"math/bits"
	"slices"
	"strings"
)

// The guarantees, see the package comment.
const (
	ReadYourWrites    = "read-your-writes"
	MonotonicReads    = "monotonic-reads"
	MonotonicWrites   = "monotonic-writes"
	WritesFollowReads = "writes-follow-reads"
	Committed         = "committed"
	Written           = "written"
	Linearizable      = "linearizable"
	OneOrder          = "one-order"
)

// Names are all guarantees, in the order of a result.
var Names = []string{ReadYourWrites, MonotonicReads, MonotonicWrites, WritesFollowReads, Committed, Written,
	Linearizable, OneOrder}

// Question is what a history is judged against.
type Question struct {
	// Sequence is the number, among the writes of its writer, of a version of a register.
	Sequence func(register int64, version int) int64
	// Final reports whether a write is there in the end; nil if that is not known.
	Final func(writer int, sequence int64) bool
	// Promised are the guarantees that hold; see [Promise].
	Promised map[string]bool
	// Linearizable compares reads of different sessions in real time.
	Linearizable bool
	// Fault and Healed are the borders between before, during and after, in run time; without a fault both are
	// [math.MaxInt64].
	Fault, Healed int64
	// MostConflicts is how many conflicts of each guarantee are named; 0 stands for 5.
	MostConflicts int
}

// The phases of a run around its faults.
const (
	Before = iota
	During
	After
	Phases
)

// Verdict is what a history shows.
type Verdict struct {
	Reads, Writes, Dropped int64
	// Of each guarantee: how many operations could have broken it, and how many did.
	Checked, Broken map[string]int64
	// RolledBack says how many of the broken ones are explained by a write that is not there in the end.
	RolledBack map[string]int64
	Conflicts  []Conflict
	Staleness  [Phases]Staleness
	Servers    []Server
	// FinalKnown is false if the final read did not end.
	FinalKnown bool
}

// Conflict is two operations that exclude each other.
type Conflict struct {
	Guarantee string
	Promised  bool
	Writer    int
	Sequence  int64 // of the version that one has and the other lacks
	First     Operation
	Second    Operation
	// Alone says that there is no first operation.
	Alone bool
}

// Operation is a read or write of a session.
type Operation struct {
	Read        bool
	Session     int
	Sent, Ended int64
	Server      string
	Register    int64  // of a read
	Seen        uint16 // of a read
	Sequence    int64  // of a write
	Answer      Answer // of a write
}

// Staleness is how old reads were, in nanoseconds; a read that lacks nothing counts with 0. All are lower bounds.
type Staleness struct {
	Reads, Stale  int64
	P50, P99, Max int64
}

// Server sums up the reads that one server answered.
type Server struct {
	Name         string
	Reads, Stale int64
	Max          int64 // staleness
}

type write struct {
	ended  int64
	took   uint32 // microseconds, rounded up
	server uint16
	answer Answer
	known  bool
}

func (w *write) sent() int64 { return w.ended - int64(w.took)*1000 }

// written are the writes of one writer, from the first that is kept.
type written struct {
	first    int64
	list     []write
	complete bool // no write before the first was dropped, and none is missing after the last
}

func (w *written) at(sequence int64) *write {
	if w == nil || sequence < w.first || sequence >= w.first+int64(len(w.list)) {
		return nil
	}
	if found := &w.list[sequence-w.first]; found.known {
		return found
	}
	return nil
}

// judge holds the state of [Judge].
type judge struct {
	q       Question
	h       *History
	v       *Verdict
	writers map[int]*written
	phase   [Phases][]uint32 // staleness of stale reads in microseconds
	servers []Server
	named   map[string]int
	orders  map[register]*order
}

// register names a document.
type register struct {
	writer int
	number int64
}

// Judge is a pure function.
func Judge(h *History, q Question) *Verdict {
	if q.MostConflicts <= 0 {
		q.MostConflicts = 5
	}
	j := &judge{q: q, h: h, writers: map[int]*written{}, servers: make([]Server, len(h.servers)), named: map[string]int{},
		orders: map[register]*order{},
		v: &Verdict{Checked: map[string]int64{}, Broken: map[string]int64{}, RolledBack: map[string]int64{},
			FinalKnown: q.Final != nil}}
	numbers := slices.Sorted(maps.Keys(h.sessions))
	for _, n := range numbers {
		j.collect(h.sessions[n])
	}
	for _, n := range numbers {
		j.session(h.sessions[n])
	}
	if q.Linearizable {
		j.inRealTime()
	}
	j.sum()
	return j.v
}

// mostWrites bounds the numbers of writes of one writer, as far apart as they may be in one history: damaged ones must
// not take memory.
const mostWrites = 1 << 28

// collect notes the writes of a session.
func (j *judge) collect(s *Session) {
	w := &written{first: -1, complete: s.dropped == 0 && !s.cut}
	s.each(func(e *event) bool {
		if e.read {
			return true
		}
		if w.first < 0 {
			w.first = e.sequence
		}
		at := e.sequence - w.first
		if at < int64(len(w.list)) || at > int64(len(w.list))+mostWrites>>8 {
			return true // no writer goes back or skips that many
		}
		for int64(len(w.list)) < at {
			w.list = append(w.list, write{})
		}
		took := (e.ended - e.sent + 999) / 1000
		w.list = append(w.list, write{ended: e.ended, took: uint32(min(took, math.MaxUint32)), server: uint16(e.server),
			answer: e.answer, known: true})
		j.v.Writes++
		return true
	})
	if w.first < 0 {
		w.first = 0
	}
	w.complete = w.complete && w.first == 0
	j.v.Dropped += s.dropped
	j.writers[s.number] = w
}

// mostRemembered bounds the registers of which a session's last read is remembered. A session reads a register again
// soon or never.
const mostRemembered = 1 << 10

// memory is the state of judging one session.
type memory struct {
	last  map[register]Operation
	order []register // oldest first
	dirty *Conflict  // a read of a version that is not there in the end, before the next write
	reads int64      // since the last write
}

func (j *judge) session(s *Session) {
	m := &memory{last: map[register]Operation{}}
	s.each(func(e *event) bool {
		if e.read {
			j.read(s, m, e)
		} else {
			j.afterReads(s, m, e)
		}
		return true
	})
}

func (j *judge) operation(s *Session, e *event) Operation {
	return Operation{Read: e.read, Session: s.number, Sent: e.sent, Ended: e.ended, Server: j.server(e.server),
		Register: e.register, Seen: e.seen,
		Sequence: e.sequence, Answer: e.answer}
}

func (j *judge) server(i int) string {
	if i < len(j.h.servers) {
		return j.h.servers[i]
	}
	return ""
}

func (j *judge) wrote(writer int, sequence int64, w *write) Operation {
	return Operation{Session: writer, Sent: w.sent(), Ended: w.ended, Server: j.server(int(w.server)), Sequence: sequence,
		Answer: w.answer}
}

// gone reports whether a write is known to be missing at the end.
func (j *judge) gone(writer int, sequence int64) bool {
	return j.q.Final != nil && !j.q.Final(writer, sequence)
}

// broke counts a conflict and keeps the first ones of each guarantee.
func (j *judge) broke(c Conflict) {
	j.v.Broken[c.Guarantee]++
	if j.gone(c.Writer, c.Sequence) {
		j.v.RolledBack[c.Guarantee]++
	}
	if j.named[c.Guarantee]++; j.named[c.Guarantee] <= j.q.MostConflicts {
		c.Promised = j.q.Promised[c.Guarantee]
		j.v.Conflicts = append(j.v.Conflicts, c)
	}
}

func (j *judge) read(s *Session, m *memory, e *event) {
	j.v.Reads++
	m.reads++
	op := j.operation(s, e)
	r := register{e.writer, e.register}
	own := e.writer == s.number
	j.present(m, r, op)
	stale := j.absent(r, op, own)
	j.again(m, r, op)
	j.age(e, stale)
	j.order(r, e, s.number)
}

// present judges the versions that a read returned.
func (j *judge) present(m *memory, r register, op Operation) {
	j.v.Checked[Written]++
	if j.q.Final != nil {
		j.v.Checked[Committed]++
	}
	w := j.writers[r.writer]
	dirty, odd := false, false
	for i := range Versions {
		if op.Seen>>i&1 == 0 {
			continue
		}
		n := j.q.Sequence(r.number, i)
		c := Conflict{Writer: r.writer, Sequence: n, Second: op}
		switch found := w.at(n); {
		case found == nil:
			c.Alone = true
			odd = odd || w != nil && w.complete && n >= w.first+int64(len(w.list)) && j.odd(c)
		case found.answer == Refused, found.sent() > op.Ended:
			c.First = j.wrote(r.writer, n, found)
			odd = odd || j.odd(c)
		}
		if !dirty && j.gone(r.writer, n) {
			dirty = true
			c.Guarantee, c.Alone = Committed, w.at(n) == nil
			if found := w.at(n); found != nil {
				c.First = j.wrote(r.writer, n, found)
			}
			j.broke(c)
			m.dirty = &c
		}
	}
}

// odd counts a read of a version that had not been written.
func (j *judge) odd(c Conflict) bool {
	c.Guarantee = Written
	j.broke(c)
	return true
}

// absent judges the versions that a read lacks. It returns how long ago the oldest of those that stay was acknowledged,
// 0 if there is none.
func (j *judge) absent(r register, op Operation, own bool) (stale int64) {
	w := j.writers[r.writer]
	mine, hole, old := int64(-1), int64(-1), int64(-1)
	due, newest := int64(0), int64(-1)
	for i := Versions - 1; i >= 0; i-- {
		n := j.q.Sequence(r.number, i)
		found := w.at(n)
		if op.Seen>>i&1 == 1 {
			newest = max(newest, n)
			due++
			continue
		}
		if found == nil || found.answer != Acknowledged {
			continue
		}
		if newest > n { // a writer's writes are sequential
			hole = n
		}
		if found.ended > op.Sent || found.ended == op.Sent && !own { // at one reading of the clock, the order is not known
			continue
		}
		due++
		mine, old = n, n
		if !j.gone(r.writer, n) {
			stale = max(stale, op.Sent-found.ended)
		}
	}
	tell := func(guarantee string, checked bool, n int64) {
		if !checked {
			return
		}
		j.v.Checked[guarantee]++
		if n >= 0 {
			j.broke(Conflict{Guarantee: guarantee, Writer: r.writer, Sequence: n, First: j.wrote(r.writer, n, w.at(n)),
				Second: op})
		}
	}
	tell(ReadYourWrites, own && due > 0, mine)
	tell(MonotonicWrites, newest >= 0, hole)
	if old < 0 {
		old = hole
	}
	tell(Linearizable, j.q.Linearizable, old)
	return stale
}

// again compares a read with the previous one of the same session and register.
func (j *judge) again(m *memory, r register, op Operation) {
	before, known := m.last[r]
	if known {
		j.v.Checked[MonotonicReads]++
		if missing := before.Seen &^ op.Seen; missing != 0 {
			j.broke(Conflict{Guarantee: MonotonicReads, Writer: r.writer,
				Sequence: j.q.Sequence(r.number, bits.TrailingZeros16(missing)),
				First:    before, Second: op})
		}
	} else {
		if len(m.order) >= mostRemembered {
			delete(m.last, m.order[0])
			m.order = m.order[1:]
		}
		m.order = append(m.order, r)
	}
	m.last[r] = op
}

// afterReads judges a write against what its session had read before.
func (j *judge) afterReads(s *Session, m *memory, e *event) {
	if e.answer != Acknowledged || m.reads == 0 || j.q.Final == nil {
		return
	}
	j.v.Checked[WritesFollowReads]++
	m.reads = 0
	if d := m.dirty; d != nil && !j.gone(s.number, e.sequence) {
		j.broke(Conflict{Guarantee: WritesFollowReads, Writer: d.Writer, Sequence: d.Sequence, First: d.Second,
			Second: j.operation(s, e)})
	}
	m.dirty = nil
}

// age adds the staleness of a read.
func (j *judge) age(e *event, stale int64) {
	phase := Before
	switch {
	case e.sent >= j.q.Healed:
		phase = After
	case e.sent >= j.q.Fault:
		phase = During
	}
	p, s := &j.v.Staleness[phase], &j.servers[min(e.server, len(j.servers)-1)]
	p.Reads++
	s.Reads++
	if stale > 0 {
		p.Stale++
		s.Stale++
		p.Max, s.Max = max(p.Max, stale), max(s.Max, stale)
		j.phase[phase] = append(j.phase[phase], uint32(min(stale/1000, math.MaxUint32)))
	}
}

func (j *judge) sum() {
	for i := range j.phase {
		p := &j.v.Staleness[i]
		slices.Sort(j.phase[i])
		p.P50, p.P99 = quantile(j.phase[i], p.Reads, 0.5), quantile(j.phase[i], p.Reads, 0.99)
	}
	for i := range j.servers {
		if s := &j.servers[i]; s.Reads > 0 {
			s.Name = j.h.servers[i]
			j.v.Servers = append(j.v.Servers, *s)
		}
	}
	slices.SortFunc(j.v.Servers, func(a, b Server) int { return strings.Compare(a.Name, b.Name) })
}

// quantile returns the q-quantile of the staleness of all reads: the stale ones are given in order, all others are 0.
func quantile(stale []uint32, reads int64, q float64) int64 {
	rank := int64(math.Ceil(q*float64(reads))) - 1 // from 0
	if at := rank - (reads - int64(len(stale))); at >= 0 && at < int64(len(stale)) {
		return int64(stale[at]) * 1000
	}
	return 0
}
