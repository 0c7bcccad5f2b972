package ledger

import (
	"math/rand/v2"
	"testing"
)

// fill settles n writes of one kind of a writer.
func fill(n int64, tell func(i int64) state) *outcomes {
	l := newOutcomes(1 << 10)
	for i := range n {
		l.resolve(l.begin(1), tell(i), 0, i*1000)
	}
	return &l
}

func TestLaneRemembersEachState(t *testing.T) {
	rng := rand.New(rand.NewPCG(firstSeed(t), 5))
	const n = 5*pageWrites + 77
	want := make([]state, n)
	for i := range want {
		want[i] = acknowledged
		if rng.IntN(3000) == 0 || i > 3*pageWrites && i < 4*pageWrites {
			want[i] = state(rng.IntN(4))
		}
	}
	l := fill(n, func(i int64) state { return want[i] })
	for i, s := range want {
		if got := l.state(int64(i)); got != s {
			t.Fatalf("write %d: state %d, want %d", i, got, s)
		}
	}
}

// A batch may be larger than pages, and is settled as a whole when all of it was handed out.
func TestLaneSettlesLargeBatches(t *testing.T) {
	l := newOutcomes(64)
	first := l.begin(10 * pageWrites)
	for i := range int64(10 * pageWrites) {
		l.resolve(first+i, acknowledged, 0, i)
	}
	if n := l.count[acknowledged]; n != 10*pageWrites || l.state(0) != acknowledged ||
		l.state(10*pageWrites-1) != acknowledged {
		t.Errorf("%d acknowledged, first %d, last %d", n, l.state(0), l.state(10*pageWrites-1))
	}
}

func TestLaneKnowsTimes(t *testing.T) {
	l := fill(100_000, func(int64) state { return acknowledged })
	for _, i := range []int64{0, 63, 64, 12_345, 98_000, 99_999} {
		at, within := l.acknowledgedAt(i)
		if truth := i * 1000; at > truth || at+within < truth {
			t.Errorf("write %d was acknowledged at %d, the ledger says %d to %d", i, truth, at, at+within)
		}
	}
	if _, within := l.acknowledgedAt(99_999); within != 0 {
		t.Errorf("the last write is known to within %d ns only", within)
	}
}

// Memory must grow in proportion to the writes, so that 10^8 of them follow from fewer.
func TestMemory(t *testing.T) {
	const goal, all = int64(1 << 30), int64(100_000_000)
	for name, tell := range map[string]func(i int64) state{
		"all acknowledged":  func(int64) state { return acknowledged },
		"every other fails": func(i int64) state { return acknowledged + state(i%2)*2 },
		"one in 100 fails":  func(i int64) state { return acknowledged + state(i%100/99)*2 },
	} {
		const n = 1 << 20
		small, large := fill(n, tell).bytes(), fill(4*n, tell).bytes()
		base := newOutcomes(1 << 10).ring
		grow := float64(large-small) / (3 * n)
		if linear := float64(small-int64(cap(base))*8) / n; grow > 1.3*linear {
			t.Errorf("%s: %d writes take %d bytes and %d take %d: more than in proportion", name, n, small, 4*n, large)
		}
		total := int64(grow*float64(all)) + int64(cap(base))*8
		t.Logf("%s: %.3f bytes per write, %d MiB for 10^8", name, grow, total>>20)
		if total >= goal {
			t.Errorf("%s: 10^8 writes would take %d MiB", name, total>>20)
		}
	}
}

func TestSlotsAndUpdates(t *testing.T) {
	for n := range int64(10_000) {
		if slot, counter := slotOf(n); updateOf(slot, counter) != n {
			t.Fatalf("update %d is in slot %d, counter %d, where update %d belongs", n, slot, counter, updateOf(slot, counter))
		}
	}
	for _, k := range []kind{inserts, updates} {
		id := ownID(0xfedcba98, maxWriters-1, k, maxSequence-1)
		if run, writer, kind, n := parseID(id[:]); run != 0xfedcba98 || writer != maxWriters-1 || kind != k ||
			n != maxSequence-1 {
			t.Errorf("%x means run %x, writer %d, %s %d", id, run, writer, kind, n)
		}
	}
}

func TestRanges(t *testing.T) {
	for want, numbers := range map[string][]int64{"": nil, "7": {7}, "1-3": {1, 2, 3}, "17-19 42": {17, 18, 19, 42},
		"0 2 4-5": {0, 2, 4, 5}} {
		if got := ranges(numbers); got != want {
			t.Errorf("ranges(%v) = %q, want %q", numbers, got, want)
		}
	}
}
