package reads_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/plimsoll-bench/plimsoll/drill/reads"
)

// small is a short history of one register: the writes of its writer, session 0, and reads of other sessions.
type small struct {
	writes, reads []reads.Event
}

// randomSmall returns a history in which reads return what the register had at some moment, in most cases.
func randomSmall(r *rand.Rand) (s small) {
	now := int64(0)
	var takesEffect []int64
	for n := range 1 + r.IntN(4) {
		sent := now + 1000*r.Int64N(3)
		now = sent + 1000*(1+r.Int64N(4))
		e := reads.Event{Sequence: int64(n), Sent: sent, Ended: now, Answer: reads.Acknowledged}
		at := sent + r.Int64N(now-sent)
		switch r.IntN(6) {
		case 0:
			e.Answer, at = reads.Refused, math.MaxInt64
		case 1:
			e.Answer, at = reads.Indeterminate, sent+r.Int64N(10_000)
		case 2:
			e.Answer, at = reads.Indeterminate, math.MaxInt64
		}
		s.writes, takesEffect = append(s.writes, e), append(takesEffect, at)
	}
	for range 2 + r.IntN(4) {
		e := reads.Event{Read: true, Sent: 1000 * r.Int64N(15)}
		e.Ended = e.Sent + 1000*(1+r.Int64N(6))
		moment := e.Sent + r.Int64N(e.Ended-e.Sent)
		for v, at := range takesEffect {
			if at <= moment != (r.IntN(12) == 0) {
				e.Seen |= 1 << v
			}
		}
		s.reads = append(s.reads, e)
	}
	return s
}

// possible reports whether some order of all operations explains the reads. It tries them all.
func (s *small) possible() bool {
	return s.orders(0, make([]bool, len(s.writes)), make([]bool, len(s.reads)))
}

func (s *small) orders(state uint16, wrote, read []bool) bool {
	// The next operation must have been sent before the end of all that are still to come.
	first := int64(math.MaxInt64)
	for i, e := range s.reads {
		if !read[i] {
			first = min(first, e.Ended)
		}
	}
	for i, e := range s.writes {
		if !wrote[i] && e.Answer == reads.Acknowledged {
			first = min(first, e.Ended)
		}
	}
	if first == math.MaxInt64 {
		return true // what remains may never take effect
	}
	for i, e := range s.reads {
		if !read[i] && e.Sent <= first && e.Seen == state {
			read[i] = true
			ok := s.orders(state, wrote, read)
			if read[i] = false; ok {
				return true
			}
		}
	}
	for i, e := range s.writes {
		if !wrote[i] && e.Sent <= first && e.Answer != reads.Refused {
			wrote[i] = true
			ok := s.orders(state|1<<i, wrote, read)
			if wrote[i] = false; ok {
				return true
			}
		}
		if !wrote[i] && e.Answer == reads.Acknowledged {
			break // the writer sent the next one after the answer
		}
	}
	return false
}

// TestExact compares the judge of linearizable reads with all orders of short histories: it finds a conflict if and
// only if no order is possible.
func TestExact(t *testing.T) {
	const wanted = 20_000
	impossible := 0
	for seed := range uint64(wanted) {
		s := randomSmall(rand.New(rand.NewPCG(seed, 11)))
		h := reads.New(8, 0)
		for i := range s.writes {
			h.Session(0).Note(&s.writes[i])
		}
		for i := range s.reads {
			h.Session(1 + i).Note(&s.reads[i])
		}
		v := reads.Judge(h, reads.Question{Sequence: func(_ int64, version int) int64 { return int64(version) },
			Linearizable: true,
			Fault:        math.MaxInt64, Healed: math.MaxInt64})
		broken := v.Broken[reads.Linearizable] + v.Broken[reads.OneOrder] + v.Broken[reads.Written]
		possible := s.possible()
		if possible != (broken == 0) {
			t.Fatalf("seed %d: possible: %t, broken: %v\nwrites %+v\nreads %+v\n%+v", seed, possible, v.Broken, s.writes, s.reads, v.Conflicts)
		}
		if !possible {
			impossible++
		}
	}
	if impossible < wanted/10 || impossible > wanted*9/10 {
		t.Errorf("%d of %d histories are impossible, so the test shows little", impossible, wanted)
	}
	t.Logf("%d of %d histories were impossible, and all of them were found", impossible, wanted)
}
