package reads

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"testing"

	"github.com/plimsoll-bench/plimsoll/internal/varint"
)

// histories is how many random histories each kind is judged on.
const histories = 1000

func question(w *world, promised map[string]bool) Question {
	return Question{Sequence: sequenceOf, Final: w.final(), Promised: promised, Linearizable: w.cfg.concern == "linearizable",
		Fault: math.MaxInt64, Healed: math.MaxInt64}
}

func promiseOf(cfg worldConfig) map[string]bool {
	return Promise(Circumstances{Concern: cfg.concern, Causal: cfg.causal, MajorityWrites: cfg.majority, Durable: true,
		Set: true})
}

// TestNothingFalse judges histories of a set that keeps what MongoDB promises, with lag, failovers and rollbacks: what
// is promised must never be found broken. What is not promised must be found broken somewhere, or the world is too tame
// to show anything.
func TestNothingFalse(t *testing.T) {
	breaks := map[string]int64{}
	for _, cfg := range kinds() {
		promised := promiseOf(cfg)
		checked := map[string]int64{}
		for seed := range uint64(histories) {
			w := newWorld(seed, cfg)
			v := Judge(historyOf(w.events, 0), question(w, promised))
			for _, name := range Names {
				if promised[name] && v.Broken[name] > 0 {
					t.Fatalf("seed %d, %+v: %s is promised, and said to be broken %d times: %+v", seed, cfg, name, v.Broken[name], v.Conflicts)
				}
				breaks[name] += v.Broken[name]
				checked[name] += v.Checked[name]
			}
			if want := dirtyReads(w); v.Broken[Committed] != want {
				t.Fatalf("seed %d, %+v: %d dirty reads, want %d", seed, cfg, v.Broken[Committed], want)
			}
			if got, want := v.Staleness[Before], slowStaleness(w); got.Stale != want.Stale || got.Max != want.Max ||
				got.Reads != want.Reads {
				t.Fatalf("seed %d, %+v: staleness %+v, want %+v", seed, cfg, got, want)
			}
		}
		for name := range promised {
			if promised[name] && checked[name] == 0 {
				t.Errorf("%+v: %s was never checked", cfg, name)
			}
		}
	}
	for _, name := range Names {
		if breaks[name] == 0 && name != Written && name != Linearizable {
			t.Errorf("%s is never broken in a world without promises", name)
		}
	}
	t.Logf("seeds 0 to %d of each of %d kinds; broken where nothing is promised: %v", histories-1, len(kinds()), breaks)
}

func kinds() (list []worldConfig) {
	for _, concern := range []string{"local", "majority", "linearizable"} {
		for _, majority := range []bool{false, true} {
			for _, causal := range []bool{false, true} {
				if causal && concern == "linearizable" {
					continue
				}
				list = append(list, worldConfig{concern: concern, majority: majority, causal: causal, steps: 500, sessions: 4})
			}
		}
	}
	return list
}

// dirtyReads counts them from what the world knows.
func dirtyReads(w *world) (n int64) {
	final := w.final()
	for _, list := range w.events {
		for _, e := range list {
			dirty := false
			for i := range Versions {
				dirty = dirty || e.Read && e.Seen>>i&1 == 1 && !final(e.Writer, sequenceOf(e.Register, i))
			}
			if dirty {
				n++
			}
		}
	}
	return n
}

// slowStaleness is the staleness of all reads, each compared with all writes.
func slowStaleness(w *world) (s Staleness) {
	final := w.final()
	for _, list := range w.events {
		for _, e := range list {
			if !e.Read {
				continue
			}
			s.Reads++
			stale := int64(0)
			for _, write := range w.events[e.Writer] {
				r, v := registerOf(write.Sequence)
				if !write.Read && write.Told == Acknowledged && r == e.Register && e.Seen>>v&1 == 0 && write.Ended <= e.Sent &&
					final(e.Writer, write.Sequence) {
					stale = max(stale, e.Sent-write.Ended)
				}
			}
			if stale > 0 {
				s.Stale++
				s.Max = max(s.Max, stale)
			}
		}
	}
	return s
}

// planted is a violation that was put into a history: which guarantee, which version, and where.
type planted struct {
	guarantee string
	session   int
	event     int
	writer    int
	sequence  int64
	lost      bool // the version is taken out of the final history
}

// TestPlantedViolationsAreFound puts one violation into each of many histories in which everything holds.
func TestPlantedViolationsAreFound(t *testing.T) {
	for _, guarantee := range Names {
		cfg := worldConfig{concern: "majority", majority: true, causal: true, steps: 700, sessions: 4}
		if guarantee == Linearizable {
			cfg.concern, cfg.causal = "linearizable", false
		}
		found := 0
		for seed := uint64(0); found < histories && seed < 20*histories; seed++ {
			w := newWorld(seed, cfg)
			p, ok := plant(w, guarantee)
			if !ok {
				continue
			}
			found++
			q := question(w, promiseOf(cfg))
			if p.lost {
				was := q.Final
				q.Final = func(writer int, sequence int64) bool {
					return (writer != p.writer || sequence != p.sequence) && was(writer, sequence)
				}
			}
			q.MostConflicts = math.MaxInt
			v := Judge(historyOf(w.events, 0), q)
			if !slices.ContainsFunc(v.Conflicts, p.is(w)) {
				t.Fatalf("seed %d: the planted %+v is not found; found: %+v", seed, p, v.Conflicts)
			}
			if !q.Promised[guarantee] {
				t.Fatalf("%s is not promised", guarantee)
			}
		}
		if found < histories {
			t.Errorf("%s: only %d histories had room for a violation", guarantee, found)
		}
		t.Logf("%s: planted and found in %d histories", guarantee, found)
	}
}

// is compares a conflict with what was planted.
func (p planted) is(w *world) func(c Conflict) bool {
	at := w.events[p.session][p.event]
	return func(c Conflict) bool {
		return c.Guarantee == p.guarantee && c.Writer == p.writer && c.Sequence == p.sequence && c.Promised &&
			c.Second.Session == p.session && c.Second.Sent == at.Sent && c.Second.Read == at.Read
	}
}

// plant changes one read, or the end of the history, so that a guarantee is broken.
func plant(w *world, guarantee string) (planted, bool) {
	var places []planted
	for s, list := range w.events {
		last := map[register]uint16{}
		for i := range list {
			e := &list[i]
			if !e.Read {
				continue
			}
			r := register{e.Writer, e.Register}
			for v := range Versions {
				if w.fits(guarantee, s, i, v, last[r]) {
					places = append(places, planted{guarantee: guarantee, session: s, event: i, writer: e.Writer,
						sequence: sequenceOf(e.Register, v)})
				}
			}
			last[r] = e.Seen
		}
	}
	if len(places) == 0 {
		return planted{}, false
	}
	p := places[w.r.IntN(len(places))]
	e := &w.events[p.session][p.event]
	_, v := registerOf(p.sequence)
	switch guarantee {
	case Committed, WritesFollowReads:
		p.lost = true
		if guarantee == WritesFollowReads {
			p.event = nextWrite(w.events[p.session], p.event)
		}
	case Written:
		e.Seen |= 1 << v
	default:
		e.Seen &^= 1 << v
	}
	return p, true
}

// fits reports whether a version of a read is one with which a guarantee can be broken, as seen by nobody but this
// test.
func (w *world) fits(guarantee string, session, event, version int, before uint16) bool {
	e := &w.events[session][event]
	n := sequenceOf(e.Register, version)
	at := w.place(e.Writer, n)
	there := e.Seen>>version&1 == 1
	acked := at >= 0 && w.events[e.Writer][at].Told == Acknowledged
	final := w.final()
	switch guarantee {
	case ReadYourWrites:
		return there && acked && e.Writer == session
	case MonotonicReads:
		return there && before>>version&1 == 1
	case MonotonicWrites:
		return there && acked && e.Seen>>(version+1) != 0
	case Committed:
		return there && final(e.Writer, n) && e.Seen>>(version+1) == 0 && e.Seen == e.Seen&(1<<(version+1)-1)
	case WritesFollowReads:
		next := nextWrite(w.events[session], event)
		return there && final(e.Writer, n) && next >= 0 && w.events[session][next].Told == Acknowledged &&
			nextRead(w.events[session], event) > next &&
			(e.Writer != session || w.events[session][next].Sequence != n) && lastDirty(e, version)
	case Written:
		return !there && (at < 0 && n > w.clients[e.Writer].next || at >= 0 && w.events[e.Writer][at].Sent > e.Ended)
	case Linearizable:
		return there && (acked && w.events[e.Writer][at].Ended <= e.Sent || w.seenBefore(e, version))
	}
	return false
}

// lastDirty reports whether a version is the first of its read, which a conflict names.
func lastDirty(e *Event, version int) bool { return e.Seen&(1<<version-1) == 0 }

// seenBefore reports whether a read that had ended before e was sent returned the version.
func (w *world) seenBefore(e *Event, version int) bool {
	for _, list := range w.events {
		for _, read := range list {
			if read.Read && read.Ended < e.Sent && read.Writer == e.Writer && read.Register == e.Register &&
				read.Seen>>version&1 == 1 {
				return true
			}
		}
	}
	return false
}

func nextWrite(list []Event, after int) int {
	for i := after + 1; i < len(list); i++ {
		if !list[i].Read {
			return i
		}
	}
	return -1
}

func nextRead(list []Event, after int) int {
	for i := after + 1; i < len(list); i++ {
		if list[i].Read {
			return i
		}
	}
	return len(list)
}

// TestPromises compares the promises with the table of MongoDB's documentation.
func TestPromises(t *testing.T) {
	all := []string{ReadYourWrites, MonotonicReads, MonotonicWrites, WritesFollowReads}
	for _, tc := range []struct {
		c    Circumstances
		want []string
	}{
		{Circumstances{Concern: "majority", Causal: true, MajorityWrites: true, Durable: true, Set: true},
			append([]string{Committed}, all...)},
		{Circumstances{Concern: "majority", Causal: true, Durable: true, Set: true},
			[]string{Committed, MonotonicReads, WritesFollowReads}},
		{Circumstances{Concern: "local", Causal: true, MajorityWrites: true, Durable: true, Set: true}, []string{MonotonicWrites}},
		{Circumstances{Concern: "local", Causal: true, Durable: true, Set: true}, nil},
		{Circumstances{Concern: "available", MajorityWrites: true, Durable: true, Set: true}, nil},
		{Circumstances{Concern: "majority", MajorityWrites: true, Durable: true, Set: true}, []string{Committed}},
		{Circumstances{Concern: "snapshot", MajorityWrites: true, Durable: true, Set: true}, []string{Committed}},
		{Circumstances{Concern: "linearizable", MajorityWrites: true, Durable: true, Set: true}, []string{Committed, Linearizable}},
		{Circumstances{Concern: "linearizable", Durable: true, Set: true}, []string{Committed}},
		{Circumstances{Concern: "majority", Causal: true, MajorityWrites: true, Set: true}, nil},
		{Circumstances{Concern: "majority", Causal: true, MajorityWrites: true, Durable: true}, nil},
	} {
		var got []string
		for name, holds := range Promise(tc.c) {
			if holds && name != Written {
				got = append(got, name)
			}
		}
		slices.Sort(got)
		slices.Sort(tc.want)
		if !slices.Equal(got, tc.want) {
			t.Errorf("%+v promises %v, want %v", tc.c, got, tc.want)
		}
	}
}

// TestHandingOver has the history of a process handed over piece by piece and judged by another, beside other
// histories.
func TestHandingOver(t *testing.T) {
	for seed := range uint64(100) {
		w := newWorld(seed, worldConfig{concern: "local", steps: 400, sessions: 4})
		q := question(w, nil)
		want := Judge(historyOf(w.events, 0), q)
		h := New(4, 0)
		h.serverIndex("somebody else") // so that the servers get other numbers
		here, there := h.Part(0), New(len(w.events), 0)
		for at, more := 0, true; more; at += int(1 + seed) {
			more = false
			for i, events := range w.events {
				for k := at; k < min(at+int(1+seed), len(events)); k++ {
					there.Session(i).Note(&events[k])
					more = true
				}
			}
			handOver(t, there, here)
		}
		if got := Judge(h, q); fmt.Sprint(*got) != fmt.Sprint(*want) {
			t.Fatalf("seed %d: after handing over:\n%+v\nwant\n%+v", seed, *got, *want)
		}
	}
}

func handOver(t *testing.T, from *History, to *Part) {
	t.Helper()
	r := varint.Reader{B: append(from.AppendNews(nil), 1, 2, 3)}
	if to.Take(&r); r.Bad || len(r.B) != 3 {
		t.Fatalf("bad %t, %d bytes left", r.Bad, len(r.B))
	}
}

// A history that forgets between two hand-overs, also what it never handed over, is the same at the other side.
func TestHandingOverWhatIsForgotten(t *testing.T) {
	w := newWorld(3, worldConfig{concern: "majority", majority: true, causal: true, steps: 20_000, sessions: 2})
	there, h := New(2, 4*chunkSize), New(2, 0)
	here := h.Part(0)
	for i := range w.events[0] {
		there.Session(0).Note(&w.events[0][i])
		if i%700 == 0 && (i < 3000 || i > 8000) {
			handOver(t, there, here)
		}
	}
	handOver(t, there, here)
	want, lost := there.Events()
	if got, forgotten := h.Events(); got != want || forgotten != lost || lost == 0 {
		t.Errorf("%d events are kept and %d forgotten, want %d and %d", got, forgotten, want, lost)
	}
}

// Of a session that was cut, a read may show writes that nobody handed over.
func TestCutSession(t *testing.T) {
	h := New(2, 0)
	h.Session(0).Note(&Event{Told: Acknowledged, Sent: 1, Ended: 2})
	h.Session(1).Note(&Event{Read: true, Seen: 3, Sent: 5, Ended: 6})
	q := Question{Sequence: func(_ int64, version int) int64 { return int64(version) }}
	if v := Judge(h, q); v.Broken[Written] != 1 {
		t.Fatalf("broken: %v, want a read of a write that was not made", v.Broken)
	}
	h.Cut(0)
	if v := Judge(h, q); v.Broken[Written] != 0 {
		t.Errorf("broken: %v", v.Broken)
	}
}

// TestForgetting has a history that is larger than its limit lose its oldest part, and claim nothing because of that.
func TestForgetting(t *testing.T) {
	cfg := worldConfig{concern: "majority", majority: true, causal: true, steps: 20_000, sessions: 2}
	w := newWorld(3, cfg)
	whole, part := historyOf(w.events, 0), historyOf(w.events, 4*chunkSize)
	if part.Bytes() > 4*(chunkSize+48) {
		t.Errorf("it takes %d bytes", part.Bytes())
	}
	kept, dropped := part.Events()
	if all, _ := whole.Events(); kept+dropped != all || dropped == 0 {
		t.Fatalf("%d are kept and %d forgotten of %d", kept, dropped, all)
	}
	v := Judge(part, question(w, promiseOf(cfg)))
	if n := maps.Collect(maps.All(v.Broken)); len(n) > 0 {
		t.Errorf("broken: %v", n)
	}
	t.Logf("%.1f bytes per event", float64(whole.Bytes())/float64(kept+dropped))
}

// FuzzTake reads histories that are damaged, and judges what can be read.
func FuzzTake(f *testing.F) {
	w := newWorld(1, worldConfig{concern: "local", steps: 200, sessions: 2})
	f.Add(historyOf(w.events, 0).AppendNews(nil))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, b []byte) {
		h := New(1, 0)
		r := varint.Reader{B: b}
		if h.Part(0).Take(&r); r.Bad {
			return
		}
		v := Judge(h, Question{Sequence: sequenceOf, Final: func(int, int64) bool { return true }, Linearizable: true})
		if v.Reads < 0 || v.Broken[Committed] > 0 {
			t.Errorf("%+v", v)
		}
	})
}

// FuzzPromises judges worlds of any seed and kind.
func FuzzPromises(f *testing.F) {
	f.Add(uint64(1), uint8(0), uint16(300))
	f.Fuzz(func(t *testing.T, seed uint64, kind uint8, steps uint16) {
		cfg := kinds()[int(kind)%len(kinds())]
		cfg.steps = int(steps % 2000)
		w := newWorld(seed, cfg)
		promised := promiseOf(cfg)
		v := Judge(historyOf(w.events, 0), question(w, promised))
		for name, n := range v.Broken {
			if n > 0 && promised[name] {
				t.Errorf("%+v: %s broken: %+v", cfg, name, v.Conflicts)
			}
		}
	})
}
