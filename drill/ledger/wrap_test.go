package ledger

import (
	"context"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/plimsoll-bench/plimsoll/drill/ledger/ledgertest"
	"github.com/plimsoll-bench/plimsoll/load"
	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/workload"
)

// wrappedWorkloads are the workloads that the histories wrap: updates of shared documents by several writers, batches,
// read-modify-writes, increments, and inserts alone.
var wrappedWorkloads = []workload.Spec{
	{Name: "a", Records: 100, Params: map[string]string{"insertproportion": "0.4", "updateproportion": "0.5", "readproportion": "0.1", "fieldlength": "10"}},
	{Name: "core", Records: 60, Params: map[string]string{"insertproportion": "0.5", "readmodifywriteproportion": "0.5", "fieldcount": "3", "fieldlength": "8"}},
	{Name: "core", Records: 60, Params: map[string]string{"insertproportion": "0.9", "updateproportion": "0.1", "batchsize": "7", "fieldcount": "2"}},
	{Name: "person", Records: 1, Params: map[string]string{"listproportion": "0"}},
	{Name: "location", Records: 1, Params: map[string]string{"findproportion": "0", "batchsize": "5"}},
	{Name: "catalog", Records: 50, Params: map[string]string{"readproportion": "0.1", "findtagproportion": "0", "findpriceproportion": "0", "aggregateproportion": "0", "insertproportion": "0.4", "updatestockproportion": "0.5"}},
}

// wrappedHistory is one seeded run of a wrapped workload.
func wrappedHistory(t *testing.T, seed uint64, chances map[ledgertest.Mishap]float64) (*ledgertest.World,
	*record.LedgerResult) {
	rng := rand.New(rand.NewPCG(seed, 2))
	spec := wrappedWorkloads[seed%uint64(len(wrappedWorkloads))]
	spec.Seed, spec.Run = seed, 1
	inner, err := workload.Open(spec)
	if err != nil {
		t.Fatal(err)
	}
	w := ledgertest.New(rng, chances)
	if _, err := load.Fill(context.Background(), load.FillConfig{Parallel: 2, SkipCount: true}, inner, w,
		nowhere{}); err != nil {
		t.Fatal(err)
	}
	w.Loaded = true
	workers := 1 + rng.IntN(6)
	l := New(Options{Run: uint32(seed), Seed: seed, Writers: workers})
	wl := l.Wrap(inner)
	operations := int64(100 + rng.IntN(500))
	l = travelled(t, l, rng, func() { drive(t, l, wl, w, workers, operations) })
	for _, undo := range w.Rolling {
		undo()
	}
	result, err := l.Audit(context.Background(), AuditOptions{Workload: wl, Final: &ledgertest.Reader{Source: FinalRead,
		W: w},
		MostLost: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	return w, result
}

// Inserts are told one by one, also in batches; of updates, what is claimed must have happened.
func TestWrappedHistories(t *testing.T) {
	first := firstSeed(t)
	for seed := first; seed < first+90/fewer && !t.Failed(); seed++ {
		rng := rand.New(rand.NewPCG(seed, 3))
		chances := map[ledgertest.Mishap]float64{}
		for m := ledgertest.Lose; m < ledgertest.Mishaps; m++ {
			if m != ledgertest.Hang && m != ledgertest.Spoil && m != ledgertest.Displace && m != ledgertest.Delay &&
				rng.IntN(3) > 0 {
				chances[m] = rng.Float64() * 0.06
			}
		}
		w, result := wrappedHistory(t, seed, chances)
		if diff := cmp.Diff(w.Expected(ledgertest.Inserts), result.Inserts, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("seed %d: inserts (-want +got):\n%s%v %v", seed, diff, result.Examples, result.Notes)
		}
		checkUpdates(w, t, seed, result.Updates)
	}
}

// checkUpdates checks that no more is claimed of updates than happened.
func checkUpdates(w *ledgertest.World, t *testing.T, seed uint64, got map[string]int64) {
	t.Helper()
	want := w.Expected(ledgertest.Updates)
	var extra int64 // applications beyond the first
	for _, f := range w.Fates {
		if f.Kind == ledgertest.Updates {
			extra += int64(max(f.Applied-1, 0))
		}
	}
	if got[record.WriteLost] > want[record.WriteLost] {
		t.Errorf("seed %d: %d updates are called lost, and %d were", seed, got[record.WriteLost], want[record.WriteLost])
	}
	if more := got[record.WriteDuplicated] + got[record.WritePhantom]; more > extra+want[record.WritePhantom] {
		t.Errorf("seed %d: %d updates are called doubles or phantoms, and %d were", seed, more, extra+want[record.WritePhantom])
	}
}

// With one kind of mishap at a time nothing can hide another, so each one must be found.
func TestEachMishapAlone(t *testing.T) {
	first := firstSeed(t)
	for i := range uint64(ledgertest.Mishaps) * uint64(len(wrappedWorkloads)) / fewer {
		m := ledgertest.Mishap(i % uint64(ledgertest.Mishaps))
		if m == ledgertest.Hang || t.Failed() {
			continue
		}
		w, result := wrappedHistory(t, first+i, map[ledgertest.Mishap]float64{m: 0.2})
		want := w.Expected(ledgertest.Updates)
		if n := want[record.WriteDuplicated]; n > 0 { // each of them is one more than was acknowledged, and counts as that
			want[record.WriteOK] += n
		}
		if m == ledgertest.Spoil || m == ledgertest.Displace { // damage of inserts hides the counters that they carry
			want = result.Updates
		}
		diff := cmp.Diff(w.Expected(ledgertest.Inserts), result.Inserts, cmpopts.EquateEmpty()) + cmp.Diff(want,
			result.Updates,
			cmpopts.EquateEmpty())
		if diff != "" {
			t.Errorf("seed %d, mishap %d (-want +got):\n%s%v", first+i, m, diff, result.Examples)
		}
	}
}

// A worker whose session hangs is given up; its write is settled once, as indeterminate, and may be there.
func TestWorkersThatAreGivenUp(t *testing.T) {
	w := ledgertest.New(rand.New(rand.NewPCG(firstSeed(t), 4)), map[ledgertest.Mishap]float64{ledgertest.Hang: 0.02})
	w.Loaded = true
	l := New(Options{Run: 9, Writers: 4})
	own, err := l.Workload(Params{})
	if err != nil {
		t.Fatal(err)
	}
	abort := make(chan struct{})
	time := ledgertest.NewAborter(w, 4, abort)
	if _, err := load.Run(context.Background(), load.Config{Workers: 4, Operations: 100_000, Abort: abort,
		Observe: l.Observe}, own, w, nowhere{}); err != nil {
		t.Fatal(err)
	}
	<-time
	close(w.Hung)
	w.Mu.Lock()
	defer w.Mu.Unlock()
	result, err := l.Audit(context.Background(), AuditOptions{Workload: own,
		Final: &ledgertest.Reader{Source: FinalRead, W: w}})
	if err != nil {
		t.Fatal(err)
	}
	judgeWorld(w, t, 0, result)
	recovered := result.Inserts[record.WriteRecovered] + result.Updates[record.WriteRecovered]
	if result.Indeterminate == 0 || recovered != result.Indeterminate {
		t.Errorf("%d writes hung and were applied, found %v %v", result.Indeterminate, result.Inserts, result.Updates)
	}
}

// Nothing is allocated per operation.
func TestWrapAllocatesNothing(t *testing.T) {
	for _, spec := range wrappedWorkloads {
		inner, err := workload.Open(spec)
		if err != nil {
			t.Fatal(err)
		}
		l := New(Options{Writers: 1})
		if own, _ := l.Workload(Params{Read: 1, Insert: 1, Update: 1}); testStreamAllocs(l, own) != 0 {
			t.Error("the own workload allocates memory for each operation")
		}
		if n := testStreamAllocs(l, l.Wrap(inner)); n != 0 {
			t.Errorf("%s: %v allocations per operation", spec.Name, n)
		}
	}
}

// testStreamAllocs returns the allocations per operation, the opening of a page left aside.
func testStreamAllocs(l *Ledger, w workload.Workload) float64 {
	s := w.Stream(0, 1)
	observe := l.Observe(0)
	var op workload.Op
	st := load.Settlement{Failed: -1, Attempts: 1}
	step := func() {
		s.Next(&op)
		st.Confirmed = len(op.Requests)
		observe(&op, &st)
		s.Done(&op, true)
	}
	for range 3000 {
		step()
	}
	return testing.AllocsPerRun(500, step)
}

var _ measure.Sink = nowhere{}

// whole is a workload whose streams have every function.
type whole struct{ workload.Workload }

func (w whole) Stream(worker, workers int) workload.Stream {
	s := w.Workload.Stream(worker, workers)
	s.Flush = func(*workload.Op) bool { return false }
	s.Listens, s.Answer = func(*workload.Op, int) bool { return false }, func(*workload.Op, int, []byte) {}
	s.Turn, s.Ended, s.Free = func(int64) {}, func() bool { return false }, true
	return s
}

// A stream with a ledger has the functions that it has without one, such as the turns of a recording, and no others.
func TestWrapKeepsTheFunctionsOfAStream(t *testing.T) {
	inner, err := workload.Open(workload.Spec{Name: "a", Records: 10, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	for name, w := range map[string]workload.Workload{"some": inner, "all": whole{inner}} {
		want, got := reflect.ValueOf(w.Stream(0, 1)), reflect.ValueOf(New(Options{Writers: 1}).Wrap(w).Stream(0, 1))
		for i := range want.NumField() {
			if got.Field(i).IsZero() != want.Field(i).IsZero() {
				t.Errorf("of a stream with %s functions, %s is changed", name, want.Type().Field(i).Name)
			}
			if name == "all" && want.Field(i).IsZero() {
				t.Errorf("the stream of this test has no %s", want.Type().Field(i).Name)
			}
		}
	}
}
