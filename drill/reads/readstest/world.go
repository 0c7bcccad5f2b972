// Package readstest is a replica set with known truth, for tests of reads and for the campaign of known liars. It is
// not in the program.
package readstest

import (
	"math"
	"math/rand/v2"

	"github.com/plimsoll-bench/plimsoll/drill/reads"
)

// World is a replica set of three as far as reads can tell: a log that branches when a primary is cut off and
// another one is elected, members that apply it with a lag, a commit point that each of them hears of late, and the
// rollback of the one that was cut off. Sessions write to whom they take for the primary and read from any member, one
// operation at a time, with steps of all of them in a random order. What a member may answer follows the rules of
// MongoDB, so that what is promised holds, and what is not does break.
type World struct {
	r       *rand.Rand
	cfg     Config
	now     int64
	members [3]*member
	primary int
	cut     int // the member that is cut off, -1 for none
	term    int
	clients []*client
	Events  [][]reads.Event // by session
	there   map[[2]int64]bool
	places  map[[2]int64]int // of writes among the events of their session
}

// Config is the kind of a world.
type Config struct {
	Concern         string
	Majority        bool // writes
	Causal          bool
	Steps, Sessions int
}

// entry is one entry of the log. Position orders all entries of all branches as optimes do.
type entry struct {
	parent      *entry
	term, index int
	writer      int // -1 for none
	sequence    int64
}

func (e *entry) position() int64 { return int64(e.term)<<32 | int64(e.index) }

// has reports whether an entry is on the branch that ends with e.
func (e *entry) has(o *entry) bool {
	for e != nil && e.index > o.index {
		e = e.parent
	}
	return e == o
}

type member struct{ head, commit *entry }

// client is a session and what it is at.
type client struct {
	number   int
	next     int64
	after    int64 // position that it must not read behind
	primary  int   // whom it takes for the primary
	busy     bool
	done     bool // the server has done it, only the answer is missing
	event    reads.Event
	at       int    // the member that it asked
	entry    *entry // of its write, or of a linearizable read
	observed int64
}

// The geometry of the registers in tests: four at a time.
const wide = 4

// SequenceOf is the number of a version among the writes of its writer.
func SequenceOf(register int64, version int) int64 {
	return register/wide*wide*reads.Versions + int64(version)*wide + register%wide
}

// RegisterOf is the inverse of [SequenceOf].
func RegisterOf(sequence int64) (register int64, version int) {
	r := sequence % (wide * reads.Versions)
	return sequence/(wide*reads.Versions)*wide + r%wide, int(r / wide)
}

// New returns a world after all its steps, in which nothing is under way.
func New(seed uint64, cfg Config) *World {
	w := &World{r: rand.New(rand.NewPCG(seed, 7)), cfg: cfg, cut: -1, term: 1}
	root := &entry{writer: -1, term: 1}
	for i := range w.members {
		w.members[i] = &member{root, root}
	}
	for i := range cfg.Sessions {
		w.clients = append(w.clients, &client{number: i})
	}
	w.Events = make([][]reads.Event, cfg.Sessions)
	for range cfg.Steps {
		w.step()
	}
	w.heal()
	for range 300 { // what is under way comes to its end
		w.replicate()
		for _, c := range w.clients {
			if c.busy {
				w.now += 1 + w.r.Int64N(50_000)
				w.move(c)
			}
		}
	}
	return w
}

func (w *World) step() {
	w.now += 1 + w.r.Int64N(100_000)
	switch n := w.r.IntN(100); {
	case n < 35:
		w.replicate()
	case n < 36 && w.cut < 0:
		w.cutPrimary()
	case n == 37:
		w.heal()
	default:
		w.move(w.clients[w.r.IntN(len(w.clients))])
	}
}

// replicate has one member apply an entry of its source, or hear of the commit point.
func (w *World) replicate() {
	i := w.r.IntN(3)
	p := w.members[w.primary]
	if i == w.cut || i == w.primary {
		w.commit()
		return
	}
	m := w.members[i]
	if next := child(p.head, m.head); next != nil {
		m.head = next
	}
	w.commit()
	if w.r.IntN(2) == 0 && m.head.has(p.commit) {
		m.commit = p.commit
	} else if p.commit.has(m.head) && w.r.IntN(2) == 0 {
		m.commit = m.head
	}
}

// child is the entry after e on the branch that ends with head.
func child(head, e *entry) *entry {
	for head != nil && head.parent != e {
		head = head.parent
	}
	return head
}

// commit moves the commit point of the primary to what two members have, once something of its own term is among it.
func (w *World) commit() {
	p := w.members[w.primary]
	for e := p.head; e != nil && e.term == w.term && e.index > p.commit.index; e = e.parent {
		n := 0
		for i, m := range w.members {
			if i != w.cut && m.head.has(e) {
				n++
			}
		}
		if n >= 2 {
			p.commit = e
			return
		}
	}
}

// cutPrimary isolates the primary and elects the better of the others.
func (w *World) cutPrimary() {
	w.cut = w.primary
	a, b := (w.cut+1)%3, (w.cut+2)%3
	if w.members[b].head.position() > w.members[a].head.position() {
		a = b
	}
	w.primary = a
	w.term++
	m := w.members[a]
	m.head = &entry{parent: m.head, term: w.term, index: m.head.index + 1, writer: -1}
}

// heal has the member that was cut off give up what the others have not.
func (w *World) heal() {
	if w.cut < 0 {
		return
	}
	m, p := w.members[w.cut], w.members[w.primary]
	for !p.head.has(m.head) {
		m.head = m.head.parent
	}
	w.cut = -1
	// Another one may have been behind on a branch of its own, as when it followed the one that was cut off.
	for _, o := range w.members {
		for !p.head.has(o.head) {
			o.head = o.head.parent
		}
	}
}

// move takes a client one step further.
func (w *World) move(c *client) {
	switch {
	case !c.busy:
		w.send(c)
	case !c.done:
		w.perform(c)
	default:
		w.answer(c)
	}
}

func (w *World) send(c *client) {
	if w.r.IntN(3) == 0 {
		c.primary = w.primary
	}
	c.busy, c.done, c.entry = true, false, nil
	c.at = c.primary
	if w.r.IntN(5) < 2 {
		c.event = reads.Event{Sent: w.now, Sequence: c.next}
		c.next++
		return
	}
	owner := c
	if w.r.IntN(2) == 0 {
		owner = w.clients[w.r.IntN(len(w.clients))]
	}
	register, _ := RegisterOf(max(0, owner.next-1-w.r.Int64N(wide)))
	c.event = reads.Event{Read: true, Sent: w.now, Writer: owner.number, Register: register}
	if w.cfg.Concern != "linearizable" {
		c.at = w.r.IntN(3)
	}
}

// perform has the server do what it was asked to, if it can do it now.
func (w *World) perform(c *client) {
	m := w.members[c.at]
	if !c.event.Read {
		if c.at != w.primary && c.at != w.cut {
			c.event.Answer, c.done = reads.Refused, true
			return
		}
		term := w.term
		if c.at == w.cut {
			term = m.head.term
		}
		m.head = &entry{parent: m.head, term: term, index: m.head.index + 1, writer: c.number, sequence: c.event.Sequence}
		c.entry, c.done = m.head, true
		return
	}
	if w.cfg.Concern == "linearizable" {
		if c.at != w.primary && c.at != w.cut {
			c.busy = false // not a primary: the read fails
			return
		}
		// all it has, and then it waits until a majority has that too
		c.event.Seen = mask(m.head, c.event.Writer, c.event.Register)
		m.head = &entry{parent: m.head, term: m.head.term, index: m.head.index + 1, writer: -1}
		c.entry, c.done = m.head, true
		return
	}
	from := m.head
	if w.cfg.Concern == "majority" {
		from = m.commit
	}
	if w.cfg.Causal && from.position() < c.after {
		return // it waits
	}
	c.observed, c.done = from.position(), true
	c.event.Seen = mask(from, c.event.Writer, c.event.Register)
}

// mask is what is to be seen of a register at the end of a branch.
func mask(e *entry, writer int, register int64) (m uint16) {
	for ; e != nil; e = e.parent {
		if e.writer != writer {
			continue
		}
		if r, v := RegisterOf(e.sequence); r == register {
			m |= 1 << v
		}
	}
	return m
}

// answer brings the answer, if what it says is known.
func (w *World) answer(c *client) {
	defer func() {
		if !c.busy && c.event.Ended > 0 {
			w.Events[c.number] = append(w.Events[c.number], c.event)
		}
	}()
	committed := func() bool { return w.members[w.primary].commit.has(c.entry) }
	over := c.entry != nil && !w.members[w.primary].head.has(c.entry) && c.at != w.cut
	switch {
	case c.event.Read && w.cfg.Concern == "linearizable":
		if !committed() {
			c.busy = !over && w.r.IntN(50) > 0
			c.event.Ended = 0 // it failed, or is waiting
			return
		}
	case c.event.Read || c.event.Answer == reads.Refused:
		c.after = max(c.after, c.observed)
	case w.cfg.Majority && !committed():
		if !over && w.r.IntN(30) > 0 {
			return
		}
		c.event.Answer = reads.Indeterminate
	default:
		c.event.Answer = reads.Acknowledged
	}
	if c.entry != nil && !c.event.Read {
		c.after = max(c.after, c.entry.position())
	}
	c.busy, c.observed = false, 0
	c.event.Ended = w.now
	c.event.Server = string(rune('a' + c.at))
}

// Final reports what is there in the end.
func (w *World) Final() func(writer int, sequence int64) bool {
	if w.there == nil {
		w.there = map[[2]int64]bool{}
		for e := w.members[w.primary].head; e != nil; e = e.parent {
			w.there[[2]int64{int64(e.writer), e.sequence}] = true
		}
	}
	return func(writer int, sequence int64) bool { return w.there[[2]int64{int64(writer), sequence}] }
}

// place is where a write is among the events of its session, -1 if nowhere.
func (w *World) place(writer int, sequence int64) int {
	if w.places == nil {
		w.places = map[[2]int64]int{}
		for s, list := range w.Events {
			for i, e := range list {
				if !e.Read {
					w.places[[2]int64{int64(s), e.Sequence}] = i
				}
			}
		}
	}
	if i, ok := w.places[[2]int64{int64(writer), sequence}]; ok {
		return i
	}
	return -1
}

// HistoryOf writes down what sessions did, in at most limit bytes; 0 is the default.
func HistoryOf(events [][]reads.Event, limit int) *reads.History {
	h := reads.New(len(events), limit)
	for n, list := range events {
		for i := range list {
			h.Session(n).Note(&list[i])
		}
	}
	return h
}

// Question is what a world's history is judged against, with what MongoDB promises in it.
func (w *World) Question() reads.Question {
	return reads.Question{Sequence: SequenceOf, Final: w.Final(), Linearizable: w.cfg.Concern == "linearizable",
		Promised: reads.Promise(reads.Circumstances{Concern: w.cfg.Concern, Causal: w.cfg.Causal,
			MajorityWrites: w.cfg.Majority, Durable: true, Set: true}),
		Fault: math.MaxInt64, Healed: math.MaxInt64}
}

// Kinds are all combinations of concerns and sessions that the server allows.
func Kinds() (list []Config) {
	for _, concern := range []string{"local", "majority", "linearizable"} {
		for _, majority := range []bool{false, true} {
			for _, causal := range []bool{false, true} {
				if causal && concern == "linearizable" {
					continue
				}
				list = append(list, Config{Concern: concern, Majority: majority, Causal: causal, Steps: 500, Sessions: 4})
			}
		}
	}
	return list
}
