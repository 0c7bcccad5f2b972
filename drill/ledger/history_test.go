package ledger

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/plimsoll-bench/plimsoll/load"
	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/store"
	"github.com/plimsoll-bench/plimsoll/workload"
)

var seedFlag = flag.Uint64("ledger.seed", 0, "seed of the first history; 0 chooses one by the clock")

// firstSeed returns the seed of the first history, and prints it.
func firstSeed(t testing.TB) uint64 {
	seed := *seedFlag
	if seed == 0 {
		seed = uint64(time.Now().UnixNano()) % 1_000_000_000
	}
	t.Logf("first seed %d: repeat with -ledger.seed=%d", seed, seed)
	return seed
}

// nowhere is a sink for what a run measures.
type nowhere struct{}

func (nowhere) Interval(*measure.Interval) error { return nil }
func (nowhere) Event(measure.Event) error        { return nil }

// drive runs a workload against a world.
func drive(t testing.TB, w workload.Workload, st store.Store, workers int, operations int64) load.Report {
	t.Helper()
	report, err := load.Run(context.Background(), load.Config{Workers: workers, Operations: operations, Timeout: 30 * time.Second}, w, st, nowhere{})
	if err != nil {
		t.Fatal(err)
	}
	return report
}

// expected counts the fates of a world by class.
func (w *world) expected(k kind) map[string]int64 {
	out := map[string]int64{}
	for _, f := range w.fates {
		if class := f.class(); f.kind == k && class != "" {
			out[class]++
		}
	}
	return out
}

// history is one seeded run of the own workload in which everything goes wrong, with random chances.
func history(t *testing.T, seed uint64) {
	rng := rand.New(rand.NewPCG(seed, 1))
	chances := map[mishap]float64{}
	for m := lose; m < mishapsTotal; m++ {
		if m != hang && rng.IntN(3) > 0 {
			chances[m] = rng.Float64() * 0.06
		}
	}
	world := newWorld(rng, chances)
	world.loaded = true
	workers := 1 + rng.IntN(8)
	l := New(Options{Run: uint32(seed), Seed: seed, Writers: workers, First: rng.IntN(100)})
	own, err := l.Workload(Params{Payload: 1 + rng.IntN(60)})
	if err != nil {
		t.Fatal(err)
	}
	drive(t, own, world, workers, int64(100+rng.IntN(700)))
	for _, undo := range world.rolling {
		undo()
	}
	member := &reader{name: "b", w: world, without: map[string]bool{}}
	world.diverge(rng, member)
	l = travelled(t, l, rng)
	result, err := l.Audit(context.Background(), AuditOptions{Workload: own, Final: &reader{name: FinalRead, w: world},
		Members: []Source{member}, Faults: []int64{1 << 40}, MostLost: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	world.contents(t, seed, member, result)
	world.judge(t, seed, result)
}

// contents checks what is said about documents that differ while no write has the class diverged: one that holds
// nothing but damage, or a copy, is missing on the member.
func (w *world) contents(t *testing.T, seed uint64, member *reader, result *record.LedgerResult) {
	if w.expected(inserts)[record.WriteDiverged]+w.expected(updates)[record.WriteDiverged] > 0 {
		return
	}
	n := result.Inserts[record.WriteDiverged]
	if n > int64(len(member.without)) || n == 0 && len(member.without) > 0 {
		t.Errorf("seed %d: %d documents are missing on the member, and %d were found to be", seed, len(member.without), n)
	}
	delete(result.Inserts, record.WriteDiverged)
}

// diverge leaves some documents out on a member.
func (w *world) diverge(rng *rand.Rand, member *reader) {
	byDocument := map[string][]*fate{}
	for _, f := range w.fates {
		byDocument[f.document] = append(byDocument[f.document], f)
	}
	left := rng.IntN(4)
	for key := range w.docs {
		if left == 0 {
			return
		}
		left--
		member.without[key] = true
		for _, f := range byDocument[key] {
			f.member = "missing"
		}
	}
}

// travelled hands the ledger over as another process would, every other time.
func travelled(t *testing.T, l *Ledger, rng *rand.Rand) *Ledger {
	if rng.IntN(2) == 0 {
		return l
	}
	data, err := l.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	other := new(Ledger)
	if err := other.UnmarshalBinary(data); err != nil {
		t.Fatal(err)
	}
	into := New(l.opts)
	if err := into.Merge(other, 0); err != nil {
		t.Fatal(err)
	}
	return into
}

// judge holds a result against the truth.
func (w *world) judge(t *testing.T, seed uint64, result *record.LedgerResult) {
	t.Helper()
	var told [4]int64
	lost := map[string]bool{}
	for name, f := range w.fates {
		told[f.told]++
		if f.class() == record.WriteLost {
			lost[w.document(name, f)] = true
		}
	}
	claimed := map[string]bool{}
	for _, x := range result.Lost {
		claimed[x.ID] = true
	}
	opt := cmpopts.EquateEmpty()
	diff := cmp.Diff(w.expected(inserts), result.Inserts, opt) + cmp.Diff(w.expected(updates), result.Updates, opt) + cmp.Diff(lost, claimed, opt)
	if diff != "" {
		t.Errorf("seed %d (-want +got):\n%s%v", seed, diff, result.Examples)
	}
	got := [4]int64{acknowledged: result.Acknowledged, notApplied: result.NotApplied, indeterminate: result.Indeterminate}
	if got != told || result.Attempted != int64(len(w.fates)) {
		t.Errorf("seed %d: the ledger was told %v of %d writes, the world said %v of %d", seed, got, result.Attempted, told, len(w.fates))
	}
}

// document names a write as the result of the own workload does.
func (w *world) document(name string, f *fate) string {
	if f.kind == updates {
		return name
	}
	var hex string
	if n, _ := fmt.Sscanf(f.document, "ObjectID(%q)", &hex); n == 1 {
		return hex
	}
	return f.document
}

func TestHistories(t *testing.T) {
	first := firstSeed(t)
	for i := range uint64(200 / fewer) {
		history(t, first+i)
		if t.Failed() {
			return
		}
	}
}
