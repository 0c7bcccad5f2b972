package readstest

import "github.com/plimsoll-bench/plimsoll/drill/reads"

// Planted is a violation that was put into a history: which guarantee, which version, and where.
type Planted struct {
	w         *World
	guarantee string
	session   int
	event     int
	writer    int
	sequence  int64
	lost      bool // the version is taken out of the final history
}

// Is reports whether a conflict is the planted one.
func (p Planted) Is(c reads.Conflict) bool {
	at := p.w.Events[p.session][p.event]
	there := func(o reads.Operation) bool {
		return o.Session == p.session && o.Sent == at.Sent && o.Read == at.Read
	}
	if p.guarantee == reads.OneOrder { // either of the two reads may be the wrong one
		return c.Guarantee == p.guarantee && c.Promised && c.Writer == p.writer && (there(c.First) || there(c.Second))
	}
	return c.Guarantee == p.guarantee && c.Writer == p.writer && c.Sequence == p.sequence && c.Promised && there(c.Second)
}

// Final is [World.Final] after the violation was planted.
func (p Planted) Final() func(writer int, sequence int64) bool {
	was := p.w.Final()
	return func(writer int, sequence int64) bool {
		return (!p.lost || writer != p.writer || sequence != p.sequence) && was(writer, sequence)
	}
}

// Plant changes one read, or the end of the history, so that a guarantee is broken. It returns false if there is no
// place for that.
func (w *World) Plant(guarantee string) (Planted, bool) {
	var places []Planted
	for s, list := range w.Events {
		last := map[[2]int64]uint16{}
		for i := range list {
			e := &list[i]
			if !e.Read {
				continue
			}
			r := [2]int64{int64(e.Writer), e.Register}
			for v := range reads.Versions {
				if w.fits(guarantee, s, i, v, last[r]) {
					places = append(places, Planted{w: w, guarantee: guarantee, session: s, event: i, writer: e.Writer,
						sequence: SequenceOf(e.Register, v)})
				}
			}
			last[r] = e.Seen
		}
	}
	if len(places) == 0 {
		return Planted{}, false
	}
	p := places[w.r.IntN(len(places))]
	e := &w.Events[p.session][p.event]
	_, v := RegisterOf(p.sequence)
	switch guarantee {
	case reads.Committed, reads.WritesFollowReads:
		p.lost = true
		if guarantee == reads.WritesFollowReads {
			p.event = nextWrite(w.Events[p.session], p.event)
		}
	case reads.Written:
		e.Seen |= 1 << v
	default:
		e.Seen &^= 1 << v
	}
	return p, true
}

// fits reports whether a version of a read is one with which a guarantee can be broken, without the code
// that is tested.
func (w *World) fits(guarantee string, session, event, version int, before uint16) bool {
	e := &w.Events[session][event]
	n := SequenceOf(e.Register, version)
	at := w.place(e.Writer, n)
	there := e.Seen>>version&1 == 1
	acked := at >= 0 && w.Events[e.Writer][at].Answer == reads.Acknowledged
	final := w.Final()
	switch guarantee {
	case reads.ReadYourWrites:
		return there && acked && e.Writer == session
	case reads.MonotonicReads:
		return there && before>>version&1 == 1
	case reads.MonotonicWrites:
		return there && acked && e.Seen>>(version+1) != 0
	case reads.Committed:
		return there && final(e.Writer, n) && e.Seen>>(version+1) == 0 && e.Seen == e.Seen&(1<<(version+1)-1)
	case reads.WritesFollowReads:
		next := nextWrite(w.Events[session], event)
		return there && final(e.Writer, n) && next >= 0 && w.Events[session][next].Answer == reads.Acknowledged &&
			nextRead(w.Events[session], event) > next &&
			(e.Writer != session || w.Events[session][next].Sequence != n) && lastDirty(e, version)
	case reads.Written:
		return !there && (at < 0 && n > w.clients[e.Writer].next || at >= 0 && w.Events[e.Writer][at].Sent > e.Ended)
	case reads.OneOrder:
		return there && w.smaller(e, version)
	case reads.Linearizable:
		return there && (acked && w.Events[e.Writer][at].Ended <= e.Sent || w.seenBefore(e, version))
	}
	return false
}

// lastDirty reports whether a version is the first of its read, which a conflict names.
func lastDirty(e *reads.Event, version int) bool { return e.Seen&(1<<version-1) == 0 }

// seenBefore reports whether a read that had ended before e was sent returned the version.
func (w *World) seenBefore(e *reads.Event, version int) bool {
	for _, list := range w.Events {
		for _, read := range list {
			if read.Read && read.Ended < e.Sent && read.Writer == e.Writer && read.Register == e.Register &&
				read.Seen>>version&1 == 1 {
				return true
			}
		}
	}
	return false
}

// smaller reports whether another read returned the version and less than e, so that the two cannot have one order
// without it.
func (w *World) smaller(e *reads.Event, version int) bool {
	for _, list := range w.Events {
		for _, read := range list {
			if read.Read && read.Writer == e.Writer && read.Register == e.Register && read.Seen>>version&1 == 1 &&
				read.Seen != e.Seen && read.Seen&^e.Seen == 0 {
				return true
			}
		}
	}
	return false
}

func nextWrite(list []reads.Event, after int) int {
	for i := after + 1; i < len(list); i++ {
		if !list[i].Read {
			return i
		}
	}
	return -1
}

func nextRead(list []reads.Event, after int) int {
	for i := after + 1; i < len(list); i++ {
		if list[i].Read {
			return i
		}
	}
	return len(list)
}
