package fleet

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/plimsoll-bench/plimsoll/load"
	"github.com/plimsoll-bench/plimsoll/measure"
)

// PhaseOutside is the phase of measured intervals in which not all clients ran: before the last one began, or after the
// first one ended. They are in the record, but not part of the result.
const PhaseOutside = "outside"

// merger adds up the intervals of several clients, second by second, as they arrive. It adds histograms bucket by
// bucket, so only the client of an operation is lost.
//
// Phase "measure" of the merged intervals is the common window, from the last start to the first end, in whole
// intervals.
type merger struct {
	dims    measure.Dims
	width   time.Duration
	clients []*stream
	emit    func(*measure.Interval) error
	// missing is a client without whose next interval nothing can be merged at the slot next; -1 for none.
	missing int
	next    slot

	window window
}

// window is the time that all clients measured.
type window struct {
	open     bool // its first interval was merged
	over     bool // some client had no interval since
	from, to time.Duration
	last     int // index of its last interval
	outside  int64
	inside   int64 // operations attempted
}

// stream is the intervals of one client that are not merged yet.
type stream struct {
	queue []*measure.Interval
	shift int    // how many intervals later than the first client it began
	next  [3]int // the index of its next interval of each aligned phase, on the common clock
	ended bool
	lost  bool // the others go on without it
	last  int  // index of its last measured interval that was merged; -1 for none
	sum   measure.Tally
	// offered and dropped operations of an open loop in its measured time.
	offered, dropped int64
	from             time.Duration // of its own measured window until now
	to               time.Duration
	ends             map[string]time.Duration // of its last interval, by aligned phase
	broken           string                   // where its intervals do not follow each other, in words
}

func newMerger(d measure.Dims, width time.Duration, clients int, emit func(*measure.Interval) error) *merger {
	m := &merger{dims: d, width: width, emit: emit, missing: -1}
	for range clients {
		m.clients = append(m.clients, &stream{last: -1})
	}
	return m
}

// began sets how much later than the first client one began.
func (m *merger) began(client int, late time.Duration) {
	s := m.clients[client]
	s.shift = int((late + m.width/2) / m.width)
	s.next = [3]int{s.shift, s.shift, s.shift}
}

// add receives an interval of a client and merges all complete ones.
func (m *merger) add(client int, iv *measure.Interval) error {
	if len(iv.Classes) != len(m.dims.Classes) {
		return fmt.Errorf("client %d sent an interval with %d operation classes, not %d", client, len(iv.Classes), len(m.dims.Classes))
	}
	s := m.clients[client]
	s.follow(iv)
	if phase := iv.Phase; phase == load.PhaseMeasure || phase == load.PhaseDrain {
		s.sum = s.sum.Add(iv.Tally(m.dims))
		s.offered, s.dropped = s.offered+iv.Offered, s.dropped+iv.Dropped
		if phase == load.PhaseMeasure {
			if s.to == 0 {
				s.from = iv.Start
			}
			s.to = iv.End
		}
	}
	s.queue = append(s.queue, iv)
	if len(s.queue) > 1 {
		return nil // it is ahead
	}
	if err := m.passTails(s); err != nil {
		return err
	}
	head, ok := s.head()
	if !ok || m.missing >= 0 && m.missing != client && !head.before(m.next) {
		return nil
	}
	return m.merge()
}

// follow notes the first interval that does not begin where the one before it ended. Merging by index would put such an
// interval, and all later ones, into other seconds.
func (s *stream) follow(iv *measure.Interval) {
	if !slices.Contains(aligned, iv.Phase) {
		return
	}
	end, known := s.ends[iv.Phase]
	if known && iv.Start != end && s.broken == "" {
		s.broken = fmt.Sprintf("its interval from %v to %v followed the one that ended at %v", iv.Start, iv.End, end)
	}
	if s.ends == nil {
		s.ends = map[string]time.Duration{}
	}
	s.ends[iv.Phase] = iv.End
}

// end notes that a client sends no further intervals.
func (m *merger) end(client int) error {
	m.clients[client].ended = true
	return m.merge()
}

// lose notes that a client was lost and that the others go on. From then on the window needs only them.
func (m *merger) lose(client int) error {
	m.clients[client].lost = true
	return m.end(client)
}

// until is the run time of a client's last measured interval, 0 without one.
func (m *merger) until(client int) time.Duration {
	s := m.clients[client]
	if s.to == 0 {
		return 0
	}
	return s.to + time.Duration(s.shift)*m.width
}

// aligned are the phases whose intervals are merged by index. Those of other phases are passed on one by one.
var aligned = []string{load.PhaseWarmup, load.PhaseMeasure, load.PhaseLoad}

// measured is the place of the measured phase among them.
const measured = 1

// slot is the place of an interval on the common clock.
type slot struct{ phase, index int }

func (s slot) before(o slot) bool {
	return s.phase < o.phase || s.phase == o.phase && s.index < o.index
}

// head returns the slot of the next interval of a stream, false if it has none.
func (s *stream) head() (slot, bool) {
	if len(s.queue) == 0 {
		return slot{}, false
	}
	for phase, name := range aligned {
		if s.queue[0].Phase == name {
			return slot{phase, s.next[phase]}, true
		}
	}
	return slot{}, false
}

// merge emits all intervals that are complete.
func (m *merger) merge() error {
	for {
		for _, s := range m.clients {
			if err := m.passTails(s); err != nil {
				return err
			}
		}
		at, ok := m.first()
		if !ok {
			m.missing = -1
			return nil
		}
		if m.next, m.missing = at, m.waitsFor(at); m.missing >= 0 {
			return nil
		}
		var parts []*measure.Interval
		all := true
		first := time.Duration(math.MaxInt64) // end of a client that is not lost
		for _, s := range m.clients {
			if head, ok := s.head(); !ok || head != at {
				all = all && s.lost
				continue
			}
			part := s.moved(m.width)
			parts = append(parts, part)
			if !s.lost {
				first = min(first, part.End)
			}
		}
		if err := m.close(at, parts, all, first); err != nil {
			return err
		}
	}
}

// waitsFor returns a client whose next interval is needed before a slot can be merged, -1 if there is none. It begins
// with a random one: of n missing clients, only about log n are found before the last has arrived, whatever their
// order.
func (m *merger) waitsFor(at slot) int {
	n := len(m.clients)
	for i, from := 0, rand.IntN(n); i < n; i++ {
		client := (from + i) % n
		s := m.clients[client]
		head, ok := s.head()
		switch {
		case s.ended:
		case !ok && s.next[at.phase] <= at.index:
			return client // its interval may follow
		case ok && head == at && at.phase == measured && s.queue[0].End-s.queue[0].Start < m.width:
			return client // its last one: whether it was lost is about to be known
		}
	}
	return -1
}

// first returns the earliest slot with an interval.
func (m *merger) first() (at slot, ok bool) {
	for _, s := range m.clients {
		if head, has := s.head(); has && (!ok || head.before(at)) {
			at, ok = head, true
		}
	}
	return at, ok
}

// moved returns the first interval of the queue on the common clock, and leaves it in the queue.
func (s *stream) moved(width time.Duration) *measure.Interval {
	iv, by := *s.queue[0], time.Duration(s.shift)*width
	iv.Start, iv.End = iv.Start+by, iv.End+by
	return &iv
}

// close merges the intervals of one slot and removes them from the queues. all says that no client lacks that is not
// lost; first is the earliest end of those.
func (m *merger) close(at slot, parts []*measure.Interval, all bool, first time.Duration) error {
	merged, err := m.sum(parts)
	if err != nil {
		return err
	}
	inside := true
	if at.phase == measured {
		inside = m.inWindow(at.index, merged, all, first)
	}
	for _, s := range m.clients {
		if head, ok := s.head(); ok && head == at {
			s.queue = s.queue[1:]
			s.next[at.phase]++
			if at.phase == measured {
				s.last = at.index
			}
		}
	}
	if !inside {
		merged.Phase = PhaseOutside
	}
	return m.emit(merged)
}

// unevenShare is the largest share of the window that its last interval may lack of some client. The clients end within
// one second of each other. More would make the rate too small.
const unevenShare = 0.05

// inWindow reports whether a merged interval of the measured time is in the window, and extends the window.
func (m *merger) inWindow(index int, merged *measure.Interval, all bool, first time.Duration) bool {
	w := &m.window
	attempted := merged.Tally(m.dims).Attempted
	shared := all && !w.over && m.ends(first, merged.End)
	if !shared {
		w.over = w.over || w.open
		w.outside += attempted
		return false
	}
	if !w.open {
		w.open, w.from = true, merged.Start
	}
	w.to, w.last = merged.End, index
	w.inside += attempted
	return true
}

// ends reports whether the parts of an interval end together, by [unevenShare].
func (m *merger) ends(first, last time.Duration) bool {
	return !m.window.open || float64(last-first) <= unevenShare*float64(first-m.window.from)
}

// passTails passes on the operations that ended after their phase. They belong to the result if the window of their
// client is not longer than the common one.
func (m *merger) passTails(s *stream) error {
	for len(s.queue) > 0 {
		if _, ok := s.head(); ok {
			return nil
		}
		iv := s.moved(m.width)
		s.queue = s.queue[1:]
		if iv.Phase == load.PhaseDrain && (!m.window.open || s.last != m.window.last) {
			iv.Phase = PhaseOutside
			m.window.outside += iv.Tally(m.dims).Attempted
		}
		if err := m.emit(iv); err != nil {
			return err
		}
	}
	return nil
}

// sum adds up intervals of the same time and phase.
func (m *merger) sum(parts []*measure.Interval) (*measure.Interval, error) {
	s, err := measure.Merge(m.dims, parts)
	if err != nil {
		return nil, err
	}
	iv := &measure.Interval{
		Phase: s.Phase, Start: parts[0].Start, End: s.End, Classes: s.Classes, Failures: s.Failures,
		Offered: s.Offered, Dropped: s.Dropped, Lateness: s.Lateness, Noticed: s.Noticed, Bare: s.Bare,
	}
	iv.Samples = parts[0].Samples
	for _, p := range parts {
		iv.Start = min(iv.Start, p.Start)
		iv.Workers += p.Workers
		iv.InFlight += p.InFlight
		iv.Samples = min(iv.Samples, p.Samples)
		iv.Client = together(iv.Client, p.Client)
	}
	iv.Client.GCPauseSum /= time.Duration(len(parts)) // only the pauses of its own process affect an operation
	if iv.Samples == 0 {                              // some client does not know its operations in flight
		iv.InFlight = 0
	}
	iv.Client.LatenessP99 = time.Duration(iv.Lateness.Quantile(0.99))
	return iv, nil
}

// together adds up the use of several processes in the same interval. Of single delays it has the largest, because that
// affected some operations. The throttling of a control group is that of all its processes.
func together(a, b measure.ClientUse) measure.ClientUse {
	sum := a.Add(b)
	sum.HeapBytes = a.HeapBytes + b.HeapBytes
	sum.Throttled, sum.ThrottledTimes = max(a.Throttled, b.Throttled), max(a.ThrottledTimes, b.ThrottledTimes)
	return sum
}
