package reads_test

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"testing"

	"github.com/plimsoll-bench/plimsoll/drill/reads"
	"github.com/plimsoll-bench/plimsoll/drill/reads/readstest"
	"github.com/plimsoll-bench/plimsoll/internal/varint"
)

// histories is how many random histories each kind is judged on.
const histories = 1000

// TestNothingFalse judges histories of a set that keeps what MongoDB promises, with lag, failovers and rollbacks: what
// is promised must never be found broken. What is not promised must be found broken somewhere, or the world is too tame
// to show anything.
func TestNothingFalse(t *testing.T) {
	breaks := map[string]int64{}
	for _, cfg := range readstest.Kinds() {
		var promised map[string]bool
		checked := map[string]int64{}
		for seed := range uint64(histories) {
			w := readstest.New(seed, cfg)
			q := w.Question()
			promised = q.Promised
			v := reads.Judge(readstest.HistoryOf(w.Events, 0), q)
			for _, name := range reads.Names {
				if promised[name] && v.Broken[name] > 0 {
					t.Fatalf("seed %d, %+v: %s is promised, and said to be broken %d times: %+v", seed, cfg, name, v.Broken[name], v.Conflicts)
				}
				breaks[name] += v.Broken[name]
				checked[name] += v.Checked[name]
			}
			if want := dirtyReads(w); v.Broken[reads.Committed] != want {
				t.Fatalf("seed %d, %+v: %d dirty reads, want %d", seed, cfg, v.Broken[reads.Committed], want)
			}
			if got, want := v.Staleness[reads.Before], slowStaleness(w); got.Stale != want.Stale || got.Max != want.Max ||
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
	for _, name := range reads.Names {
		if breaks[name] == 0 && name != reads.Written && name != reads.Linearizable {
			t.Errorf("%s is never broken in a world without promises", name)
		}
	}
	t.Logf("seeds 0 to %d of each of %d kinds; broken where nothing is promised: %v", histories-1, len(readstest.Kinds()), breaks)
}

// dirtyReads counts them from what the world knows.
func dirtyReads(w *readstest.World) (n int64) {
	final := w.Final()
	for _, list := range w.Events {
		for _, e := range list {
			dirty := false
			for i := range reads.Versions {
				dirty = dirty || e.Read && e.Seen>>i&1 == 1 && !final(e.Writer, readstest.SequenceOf(e.Register, i))
			}
			if dirty {
				n++
			}
		}
	}
	return n
}

// slowStaleness is the staleness of all reads, each compared with all writes.
func slowStaleness(w *readstest.World) (s reads.Staleness) {
	final := w.Final()
	for _, list := range w.Events {
		for _, e := range list {
			if !e.Read {
				continue
			}
			s.Reads++
			stale := int64(0)
			for _, write := range w.Events[e.Writer] {
				r, v := readstest.RegisterOf(write.Sequence)
				if !write.Read && write.Answer == reads.Acknowledged && r == e.Register && e.Seen>>v&1 == 0 &&
					write.Ended <= e.Sent && final(e.Writer, write.Sequence) {
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

// TestPlantedViolationsAreFound puts one violation into each of many histories in which everything holds.
func TestPlantedViolationsAreFound(t *testing.T) {
	for _, guarantee := range reads.Names {
		cfg := readstest.Config{Concern: "majority", Majority: true, Causal: true, Steps: 700, Sessions: 4}
		if guarantee == reads.Linearizable {
			cfg.Concern, cfg.Causal = "linearizable", false
		}
		found := 0
		for seed := uint64(0); found < histories && seed < 20*histories; seed++ {
			w := readstest.New(seed, cfg)
			p, ok := w.Plant(guarantee)
			if !ok {
				continue
			}
			found++
			q := w.Question()
			q.Final, q.MostConflicts = p.Final(), math.MaxInt
			v := reads.Judge(readstest.HistoryOf(w.Events, 0), q)
			if !slices.ContainsFunc(v.Conflicts, p.Is) {
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

// TestPromises compares the promises with the table of MongoDB's documentation.
func TestPromises(t *testing.T) {
	type on = reads.Circumstances
	one := []string{reads.Committed, reads.OneOrder}
	all := []string{reads.ReadYourWrites, reads.MonotonicReads, reads.MonotonicWrites, reads.WritesFollowReads}
	for _, tc := range []struct {
		c    on
		want []string
	}{
		{on{Concern: "majority", Causal: true, MajorityWrites: true, Durable: true, Set: true},
			append(all, one...)},
		{on{Concern: "majority", Causal: true, Durable: true, Set: true},
			[]string{reads.Committed, reads.OneOrder, reads.MonotonicReads, reads.WritesFollowReads}},
		{on{Concern: "local", Causal: true, MajorityWrites: true, Durable: true, Set: true}, []string{reads.MonotonicWrites}},
		{on{Concern: "local", Causal: true, Durable: true, Set: true}, nil},
		{on{Concern: "available", MajorityWrites: true, Durable: true, Set: true}, nil},
		{on{Concern: "majority", MajorityWrites: true, Durable: true, Set: true}, one},
		{on{Concern: "snapshot", MajorityWrites: true, Durable: true, Set: true}, one},
		{on{Concern: "linearizable", MajorityWrites: true, Durable: true, Set: true}, append([]string{reads.Linearizable}, one...)},
		{on{Concern: "linearizable", Durable: true, Set: true}, one},
		{on{Concern: "majority", Causal: true, MajorityWrites: true, Set: true}, nil},
		{on{Concern: "majority", Causal: true, MajorityWrites: true, Durable: true}, nil},
	} {
		var got []string
		for name, holds := range reads.Promise(tc.c) {
			if holds && name != reads.Written {
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
		w := readstest.New(seed, readstest.Config{Concern: "local", Steps: 400, Sessions: 4})
		q := w.Question()
		want := reads.Judge(readstest.HistoryOf(w.Events, 0), q)
		h := reads.New(4, 0)
		h.ServerIndex("somebody else") // so that the servers get other numbers
		here, there := h.Remote(0), reads.New(len(w.Events), 0)
		for at, more := 0, true; more; at += int(1 + seed) {
			more = false
			for i, events := range w.Events {
				for k := at; k < min(at+int(1+seed), len(events)); k++ {
					there.Session(i).Note(&events[k])
					more = true
				}
			}
			handOver(t, there, here)
		}
		if got := reads.Judge(h, q); fmt.Sprint(*got) != fmt.Sprint(*want) {
			t.Fatalf("seed %d: after handing over:\n%+v\nwant\n%+v", seed, *got, *want)
		}
	}
}

func handOver(t *testing.T, from *reads.History, to *reads.Remote) {
	t.Helper()
	r := varint.Reader{B: append(from.AppendDelta(nil), 1, 2, 3)}
	if to.Take(&r); r.Bad || len(r.B) != 3 {
		t.Fatalf("bad %t, %d bytes left", r.Bad, len(r.B))
	}
}

// A history that forgets between two hand-overs, also what it never handed over, is the same at the other side.
func TestHandingOverWhatIsForgotten(t *testing.T) {
	w := readstest.New(3, readstest.Config{Concern: "majority", Majority: true, Causal: true, Steps: 20_000, Sessions: 2})
	there, h := reads.New(2, 4*reads.ChunkSize), reads.New(2, 0)
	here := h.Remote(0)
	for i := range w.Events[0] {
		there.Session(0).Note(&w.Events[0][i])
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
	h := reads.New(2, 0)
	h.Session(0).Note(&reads.Event{Answer: reads.Acknowledged, Sent: 1, Ended: 2})
	h.Session(1).Note(&reads.Event{Read: true, Seen: 3, Sent: 5, Ended: 6})
	q := reads.Question{Sequence: func(_ int64, version int) int64 { return int64(version) }}
	if v := reads.Judge(h, q); v.Broken[reads.Written] != 1 {
		t.Fatalf("broken: %v, want a read of a write that was not made", v.Broken)
	}
	h.Cut(0)
	if v := reads.Judge(h, q); v.Broken[reads.Written] != 0 {
		t.Errorf("broken: %v", v.Broken)
	}
}

// TestForgetting has a history that is larger than its limit lose its oldest part, and claim nothing because of that.
func TestForgetting(t *testing.T) {
	cfg := readstest.Config{Concern: "majority", Majority: true, Causal: true, Steps: 20_000, Sessions: 2}
	w := readstest.New(3, cfg)
	whole, part := readstest.HistoryOf(w.Events, 0), readstest.HistoryOf(w.Events, 4*reads.ChunkSize)
	if part.Bytes() > 4*(reads.ChunkSize+48) {
		t.Errorf("it takes %d bytes", part.Bytes())
	}
	kept, dropped := part.Events()
	if all, _ := whole.Events(); kept+dropped != all || dropped == 0 {
		t.Fatalf("%d are kept and %d forgotten of %d", kept, dropped, all)
	}
	v := reads.Judge(part, w.Question())
	if n := maps.Collect(maps.All(v.Broken)); len(n) > 0 {
		t.Errorf("broken: %v", n)
	}
	t.Logf("%.1f bytes per event", float64(whole.Bytes())/float64(kept+dropped))
}

// FuzzTake reads histories that are damaged, and judges what can be read.
func FuzzTake(f *testing.F) {
	w := readstest.New(1, readstest.Config{Concern: "local", Steps: 200, Sessions: 2})
	f.Add(readstest.HistoryOf(w.Events, 0).AppendDelta(nil))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, b []byte) {
		h := reads.New(1, 0)
		r := varint.Reader{B: b}
		if h.Remote(0).Take(&r); r.Bad {
			return
		}
		v := reads.Judge(h, reads.Question{Sequence: readstest.SequenceOf, Linearizable: true,
			Final: func(int, int64) bool { return true }})
		if v.Reads < 0 || v.Broken[reads.Committed] > 0 {
			t.Errorf("%+v", v)
		}
	})
}

// FuzzPromises judges worlds of any seed and kind.
func FuzzPromises(f *testing.F) {
	f.Add(uint64(1), uint8(0), uint16(300))
	f.Fuzz(func(t *testing.T, seed uint64, kind uint8, steps uint16) {
		cfg := readstest.Kinds()[int(kind)%len(readstest.Kinds())]
		cfg.Steps = int(steps % 2000)
		w := readstest.New(seed, cfg)
		q := w.Question()
		v := reads.Judge(readstest.HistoryOf(w.Events, 0), q)
		for name, n := range v.Broken {
			if n > 0 && q.Promised[name] {
				t.Errorf("%+v: %s broken: %+v", cfg, name, v.Conflicts)
			}
		}
	})
}
