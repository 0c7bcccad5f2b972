package fleet

import (
	"fmt"
	"time"

	"github.com/plimsoll-bench/plimsoll/load"
	"github.com/plimsoll-bench/plimsoll/measure"
)

// PhaseOutside is the phase of intervals of the measured time in which not all clients took part: before the
// last one began, or after the first one ended. They are in the record, but not part of the result.
const PhaseOutside = "outside"

// merger puts the intervals of several clients together, second by second, as they come. Histograms are
// added bucket by bucket, so nothing is lost but to which client an operation belonged.
//
// Only what all clients measured counts: phase "measure" of the merged intervals is the common window, from
// the last start to the first end, in whole intervals.
type merger struct {
	dims    measure.Dims
	width   time.Duration
	clients []*stream
	emit    func(*measure.Interval) error

	window window
}

// window is what all clients measured together.
type window struct {
	open     bool // its first interval was merged
	over     bool // some client lacked an interval since
	from, to time.Duration
	last     int // index of its last interval
	outside  int64
	inside   int64 // operations attempted
}

// stream is what one client measured and was not merged yet.
type stream struct {
	queue []*measure.Interval
	shift int    // how many intervals later than the first client it began
	next  [2]int // the index of its next interval of warm-up and measured time, on the common clock
	ended bool   // nothing more comes
	last  int    // index of its last measured interval that was merged; -1 for none
	sum   measure.Tally
	from  time.Duration // of its own measured window, as far as it came
	to    time.Duration
}

func newMerger(d measure.Dims, width time.Duration, clients int, emit func(*measure.Interval) error) *merger {
	m := &merger{dims: d, width: width, emit: emit}
	for range clients {
		m.clients = append(m.clients, &stream{last: -1})
	}
	return m
}

// began says how much later than the first client one began.
func (m *merger) began(client int, late time.Duration) {
	s := m.clients[client]
	s.shift = int((late + m.width/2) / m.width)
	s.next = [2]int{s.shift, s.shift}
}

// add takes an interval of a client and merges what can be merged now.
func (m *merger) add(client int, iv *measure.Interval) error {
	if len(iv.Classes) != len(m.dims.Classes) {
		return fmt.Errorf("client %d sent an interval with %d operation classes, not %d", client, len(iv.Classes), len(m.dims.Classes))
	}
	s := m.clients[client]
	if phase := iv.Phase; phase == load.PhaseMeasure || phase == load.PhaseDrain {
		s.sum = s.sum.Add(iv.Tally(m.dims))
		if phase == load.PhaseMeasure {
			if s.to == 0 {
				s.from = iv.Start
			}
			s.to = iv.End
		}
	}
	s.queue = append(s.queue, iv)
	return m.merge()
}

// end says that nothing more comes from a client.
func (m *merger) end(client int) error {
	m.clients[client].ended = true
	return m.merge()
}

// The phases whose intervals are merged index by index. The others belong to one of these and are added to
// it one by one.
var aligned = []string{load.PhaseWarmup, load.PhaseMeasure}

// slot is where an interval belongs on the common clock.
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

// merge emits all intervals that no client can add to any more.
func (m *merger) merge() error {
	for {
		for _, s := range m.clients {
			if err := m.passTails(s); err != nil {
				return err
			}
		}
		at, ok := m.first()
		if !ok {
			return nil
		}
		var parts []*measure.Interval
		for _, s := range m.clients {
			head, ok := s.head()
			switch {
			case ok && head == at:
				parts = append(parts, s.moved(m.width))
			case !ok && !s.ended && s.next[at.phase] <= at.index:
				return nil // it may still come
			}
		}
		if err := m.close(at, parts); err != nil {
			return err
		}
	}
}

// first returns the earliest slot that some client has an interval of.
func (m *merger) first() (at slot, ok bool) {
	for _, s := range m.clients {
		if head, has := s.head(); has && (!ok || head.before(at)) {
			at, ok = head, true
		}
	}
	return at, ok
}

// moved returns the first interval of the queue on the common clock, without taking it out.
func (s *stream) moved(width time.Duration) *measure.Interval {
	iv, by := *s.queue[0], time.Duration(s.shift)*width
	iv.Start, iv.End = iv.Start+by, iv.End+by
	return &iv
}

// close merges the intervals of one slot and takes them out of the queues.
func (m *merger) close(at slot, parts []*measure.Interval) error {
	merged, err := m.sum(parts)
	if err != nil {
		return err
	}
	inside := true
	if aligned[at.phase] == load.PhaseMeasure {
		inside = m.inWindow(at.index, parts, merged)
	}
	for _, s := range m.clients {
		if head, ok := s.head(); ok && head == at {
			s.queue = s.queue[1:]
			s.next[at.phase]++
			if aligned[at.phase] == load.PhaseMeasure {
				s.last = at.index
			}
		}
	}
	if !inside {
		merged.Phase = PhaseOutside
	}
	return m.emit(merged)
}

// unevenShare is how much of the window its last interval may lack of some client. The ends of clients lie
// within a second, and a second in which one of them was away for a moment would be left out otherwise; where
// it would make a rate too small, it is left out.
const unevenShare = 0.05

// inWindow decides whether a merged interval of the measured time counts, and keeps the window.
func (m *merger) inWindow(index int, parts []*measure.Interval, merged *measure.Interval) bool {
	w := &m.window
	attempted := merged.Tally(m.dims).Attempted
	shared := len(parts) == len(m.clients) && !w.over && m.ends(parts, merged)
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

// ends reports whether the parts of an interval end together, as far as that matters.
func (m *merger) ends(parts []*measure.Interval, merged *measure.Interval) bool {
	first := merged.End
	for _, p := range parts {
		first = min(first, p.End)
	}
	if !m.window.open {
		return true
	}
	return float64(merged.End-first) <= unevenShare*float64(first-m.window.from)
}

// passTails passes on what ended after its phase. It belongs to the result if the window of its client is
// not longer than the common one.
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

// sum adds intervals of the same moment and phase up.
func (m *merger) sum(parts []*measure.Interval) (*measure.Interval, error) {
	s, err := measure.Merge(m.dims, parts)
	if err != nil {
		return nil, err
	}
	iv := &measure.Interval{
		Phase: s.Phase, Start: parts[0].Start, End: s.End, Classes: s.Classes, Failures: s.Failures,
		Offered: s.Offered, Dropped: s.Dropped, Lateness: s.Lateness,
	}
	iv.Samples = parts[0].Samples
	for _, p := range parts {
		iv.Start = min(iv.Start, p.Start)
		iv.Workers += p.Workers
		iv.InFlight += p.InFlight
		iv.Samples = min(iv.Samples, p.Samples)
		iv.Client = together(iv.Client, p.Client)
	}
	iv.Client.GCPauseSum /= time.Duration(len(parts)) // an operation meets the pauses of its own process only
	// what is under way in one of them is unknown, so it is unknown of all
	if iv.Samples == 0 {
		iv.InFlight = 0
	}
	iv.Client.LatenessP99 = time.Duration(iv.Lateness.Quantile(0.99))
	return iv, nil
}

// together is what several processes used in the same interval: what adds up is added up, and of single delays
// the largest counts, because some operations met it.
func together(a, b measure.ClientUse) measure.ClientUse {
	return measure.ClientUse{
		CPU:          a.CPU + b.CPU,
		SchedP99:     max(a.SchedP99, b.SchedP99),
		GCPauseMax:   max(a.GCPauseMax, b.GCPauseMax),
		GCPauseSum:   a.GCPauseSum + b.GCPauseSum,
		HeapBytes:    a.HeapBytes + b.HeapBytes,
		LatenessOver: a.LatenessOver + b.LatenessOver,
	}
}
