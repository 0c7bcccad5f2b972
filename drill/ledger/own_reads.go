package ledger

import (
	"bytes"

	"github.com/plimsoll-bench/plimsoll/drill/reads"
	"github.com/plimsoll-bench/plimsoll/load"
	"github.com/plimsoll-bench/plimsoll/store"
)

// peersEvery is after how many reads of slots a stream refreshes its list of other writers.
const peersEvery = 256

// chooseSlot chooses the slot to read: the same as last time, or the newest or another live one of this writer, of its
// neighbour or of any writer. It returns false as long as there is none.
func (s *ownStream) chooseSlot() bool {
	r := s.random()
	if s.event.Sent > 0 && r&3 == 0 { // what was seen must not disappear
		s.event.Read = true
		return true
	}
	if s.looked--; s.looked < 0 {
		s.peers, s.looked = s.w.l.peers(s.writer.number), peersEvery
	}
	of := s.writer
	if r>>2&1 == 1 && len(s.peers) > 0 {
		at := uint64(0)
		if r>>3&1 == 1 {
			at = r >> 16 % uint64(len(s.peers))
		}
		of = s.peers[at]
	}
	latest := of.latest.Load()
	if latest == 0 {
		return false
	}
	back := int64(0)
	if r>>4&1 == 1 {
		back = int64(r >> 8 % liveSlots)
	}
	slot, _ := slotOf(max(0, latest-1-back))
	s.event = reads.Event{Read: true, Writer: of.number, Register: slot}
	return true
}

// peers returns the other writers of this process, the next one first.
func (l *Ledger) peers(number int) []*writer {
	l.mu.Lock()
	all := l.writers()
	l.mu.Unlock()
	var after, before []*writer
	for _, w := range all {
		switch {
		case w.number > number:
			after = append(after, w)
		case w.number < number:
			before = append(before, w)
		}
	}
	return append(after, before...)
}

func (s *ownStream) settleUpdate(st *load.Settlement) (confirmed bool) {
	now := stateOf(st, 0, 1)
	s.writer.updates.resolve(s.sequence, now, st.Sent, st.Ended)
	e := reads.Event{Sent: st.Sent, Ended: st.Ended, Server: st.Server, Sequence: s.sequence}
	switch now {
	case acknowledged:
		e.Answer = reads.Acknowledged
		s.writer.latest.Store(s.sequence + 1)
	case notApplied:
		e.Answer = reads.Refused
	}
	s.session.Note(&e)
	return confirms(now, st)
}

// settleSlot records what a read of a slot returned. A failed read shows nothing.
func (s *ownStream) settleSlot(st *load.Settlement) {
	switch {
	case st.Abandoned:
	case st.Outcome == store.OK:
		s.event.Sent, s.event.Ended, s.event.Server = st.Sent, st.Ended, st.Server
		s.session.Note(&s.event)
	case st.Outcome == store.Corrupt:
		s.writer.wrong++
	}
}

// verifySlot records the versions of a slot, and returns whether it is the requested one and undamaged.
func (s *ownStream) verifySlot(doc []byte) bool {
	s.event.Seen = 0
	if doc == nil {
		return true
	}
	var r reading
	requested := s.filter[4 : len(s.filter)-1] // its only element is _id
	if !r.read(doc, "", true) || r.strange || !bytes.Equal(r.id, requested) {
		return false
	}
	for i, e := range r.slot {
		if e == nil {
			continue
		}
		n := updateOf(s.event.Register, i)
		if v, ok := integerOf(e); !ok || v <= 0 || v%weightOf(s.run, s.event.Writer, n) != 0 {
			return false
		}
		s.event.Seen |= 1 << i
	}
	return true
}
