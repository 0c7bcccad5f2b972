package drill

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/plimsoll-bench/plimsoll/drill/ledger"
	"github.com/plimsoll-bench/plimsoll/load"
	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/run"
	"github.com/plimsoll-bench/plimsoll/spec"
	"github.com/plimsoll-bench/plimsoll/store"
	"github.com/plimsoll-bench/plimsoll/store/null"
	"github.com/plimsoll-bench/plimsoll/store/wire"
	"github.com/plimsoll-bench/plimsoll/workload"
)

// succeeded counts what ended well.
type succeeded struct {
	mu sync.Mutex
	n  int64
}

func (s *succeeded) sink() *counting { return &counting{of: s} }

type counting struct {
	nothing
	of *succeeded
}

func (c *counting) Interval(iv *measure.Interval) error {
	c.of.mu.Lock()
	defer c.of.mu.Unlock()
	for i := range iv.Classes {
		c.of.n += iv.Classes[i].Counts[0]
	}
	return nil
}

// ended is how many operations a course has.
func ended(c course) (n int64) {
	for _, s := range c.slices {
		n += s.ok + s.failed
	}
	return n
}

// operationsOf are those of several clients whose record is in a directory of the test.
func operationsOf(t *testing.T, clients int, workers spec.Count) *operations {
	t.Helper()
	asked := spec.Drill{Run: spec.Run{Workload: spec.Workload{Name: spec.WorkloadLedger, Seed: 7}}}
	asked.Run.Load.Workers, asked.Run.Load.Clients = workers, spec.Count(clients)
	return &operations{spec: asked.Run, dir: t.TempDir(), number: 99,
		observed: observations{name: spec.WorkloadLedger, ledger: ledger.New(ledger.Options{Run: 99, Seed: 7})}}
}

// client does what the load process of a fleet does, in this process: it makes a load with observations of its own, and
// hands them over. A client that dies does not hand over what it did after its first half.
func client(t *testing.T, ops *operations, uri string, number int, dies bool, sink *counting) {
	t.Helper()
	sink.of.mu.Lock()
	brief, err := json.Marshal(ops.duty(func() {}, nil).Brief)
	sink.of.mu.Unlock()
	if err != nil {
		t.Error(err)
		return
	}
	o := run.Options{Share: &run.Share{Client: number, Clients: ops.clients()},
		Ready: func(context.Context) error { return nil }}
	handOver, err := observeClient(brief, &o)
	if err != nil {
		t.Error(err)
		return
	}
	give := func(last bool) {
		var b bytes.Buffer
		if err := handOver(&b, last); err != nil {
			t.Error(err)
		}
		sink.of.mu.Lock() // the coordinator takes one after the other
		defer sink.of.mu.Unlock()
		ops.receive(number, 0, b.Bytes())
	}
	w, err := o.Workload(func() (workload.Workload, error) { return nil, nil })
	if err != nil {
		t.Error(err)
		return
	}
	st, err := wire.Open(context.Background(), store.Config{Target: uri, Database: "d", Sessions: 4, Timeout: time.Minute})
	if err != nil {
		t.Error(err)
		return
	}
	defer st.Close()
	w = &halfway{Workload: w, operations: 3000, at: func() { give(false) }}
	if _, err = load.Run(t.Context(), load.Config{Workers: 4, Operations: 3000, Timeout: 30 * time.Second, Ready: o.Ready,
		Observe: o.Observe}, w, st, sink); err != nil {
		t.Error(err)
		return
	}
	if !dies {
		give(true)
	}
}

// halfway calls a function during the load, after half of its operations.
type halfway struct {
	workload.Workload
	operations int64
	at         func()
	begun      atomic.Int64
}

func (w *halfway) Stream(worker, workers int) workload.Stream {
	s := w.Workload.Stream(worker, workers)
	next := s.Next
	s.Next = func(op *workload.Op) {
		if w.begun.Add(1) == w.operations/2 {
			w.at()
		}
		next(op)
	}
	return s
}

// What two load processes kept is one ledger with all writers, and one course with all operations.
func TestGatherFromTwoClients(t *testing.T) {
	server, err := null.Listen(null.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	ops := operationsOf(t, 2, 8)
	if _, err := ops.observed.workload(nil); err != nil {
		t.Fatal(err)
	}
	var all succeeded
	var both sync.WaitGroup
	for i := range 2 {
		both.Go(func() { client(t, ops, server.URI(), i, false, all.sink()) })
	}
	both.Wait()
	ops.gather(&record.Run{}, 0)
	if len(ops.unknown) > 0 {
		t.Fatalf("unknown: %+v", ops.unknown)
	}
	result, err := ops.observed.ledger.Audit(t.Context(), ledger.AuditOptions{Workload: ops.observed.wrapped})
	if err != nil {
		t.Fatal(err)
	}
	if result.Writers != 8 || result.Acknowledged == 0 || result.Attempted != result.Acknowledged {
		t.Errorf("the merged ledger has %d writers, %d of %d writes acknowledged", result.Writers, result.Acknowledged, result.Attempted)
	}
	const ever = int64(time.Hour)
	if n := count(ops.byClass[0], -ever, ever); n != all.n {
		t.Errorf("%d operations are in the course of all, %d ended well", n, all.n)
	}
	if n := count(ofKind(ops.byClass, true), -ever, ever); n != result.Acknowledged {
		t.Errorf("%d writes are in the course, %d in the ledger", n, result.Acknowledged)
	}
	for i := range 2 {
		if n := ended(byClass(ops.perClient[i])[0]); n != 3000 {
			t.Errorf("client %d did %d operations, not 3000", i, n)
		}
	}
}

// The course of a client that began later is moved to the clock of the run, to the nanosecond.
func TestCourseOfALateClient(t *testing.T) {
	c := made(time.Second, time.Millisecond, 400*time.Millisecond, 500*time.Millisecond)
	w := wireCourse{Class: "insert"}
	c.slices = append(c.slices, slice{number: 400, failed: 1, failFirst: 2e9, failLast: 2e9, hung: true})
	for _, s := range c.slices {
		w.Slices = append(w.Slices, s.wire())
	}
	const late = int64(17*time.Millisecond + 3)
	by := map[int64]*slice{}
	w.move(late, by)
	moved := course{class: "insert", slices: inOrder(by)}
	if last := moved.slices[len(moved.slices)-1]; !last.hung || last.failFirst != 2e9+late {
		t.Errorf("the last slice is %+v", last)
	}
	if ended(moved) != ended(c) || moved.slices[0].okFirst != late {
		t.Errorf("%d operations of %d, the first at %d", ended(moved), ended(c), moved.slices[0].okFirst)
	}
	e := effectOf(moved, window{fault: int64(400*time.Millisecond) + late, until: int64(time.Second)})
	if e.OutageFrom != int64(399*time.Millisecond)+late || e.Outage != int64(101*time.Millisecond) {
		t.Errorf("the outage is %v from %v", time.Duration(e.Outage), time.Duration(e.OutageFrom))
	}
}

// Of a client that was killed, what it handed over counts. What it did after that is unknown, and the round says so.
func TestGatherFromAKilledClient(t *testing.T) {
	server, err := null.Listen(null.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	ops := operationsOf(t, 3, 12)
	if _, err := ops.observed.workload(nil); err != nil {
		t.Fatal(err)
	}
	var all succeeded
	client(t, ops, server.URI(), 0, false, all.sink())
	client(t, ops, server.URI(), 1, true, all.sink())
	ops.gather(&record.Run{Course: record.Course{WindowEnd: int64(time.Hour)}, Clients: []record.ClientShare{{Number: 0},
		{Number: 1, Status: "lost", Problem: "signal: killed", LostAt: int64(30 * time.Minute)},
		{Number: 2, Status: "lost", Problem: "no network"}}}, int64(time.Minute))
	if len(ops.unknown) != 2 {
		t.Fatalf("unknown: %+v", ops.unknown)
	}
	for i, u := range ops.unknown {
		if u.Client != i+1 || u.From < int64(time.Minute) || (u.From > int64(time.Minute)) != (i == 0) ||
			u.To != []int64{int64(31*time.Minute + time.Second), int64(time.Hour)}[i] {
			t.Errorf("unknown: %+v", u)
		}
	}
	text := strings.Join(ops.unknownTexts(), "; ")
	if !strings.Contains(text, "client 1 ended early (signal: killed)") || !strings.Contains(text, "to 31m1s are unknown") {
		t.Errorf("it says %q", text)
	}
	if n := ended(ops.byClass[0]); n != 3000 {
		t.Errorf("the sum has %d operations, not the 3000 of the client that ran until the end", n)
	}
	if n := ended(byClass(ops.perClient[1])[0]); n < 1000 || n >= 3000 {
		t.Errorf("%d operations of the killed client are known, want about half of 3000", n)
	}
	// The target stores nothing, so that all that was acknowledged is lost.
	result, err := ops.observed.ledger.Audit(t.Context(),
		ledger.AuditOptions{Workload: ops.observed.wrapped, Final: nobody{}})
	if err != nil {
		t.Fatal(err)
	}
	if result.LostWrites() != result.Acknowledged || result.Attempted >= 6000 || len(result.LostRanges) < 12 {
		t.Errorf("%d of %d acknowledged writes are lost, of %d", result.LostWrites(), result.Acknowledged, result.Attempted)
	}
	if notes := strings.Join(result.Notes, " "); !strings.Contains(notes, "writers 4 to 7 ends at 1m") ||
		!strings.Contains(notes, "writers 8 to 11 ends at 1m0s") {
		t.Errorf("the ledger notes %q", notes)
	}
	verdict, reasons := judge(evidence{round: &record.DrillRound{}, acknowledged: -1, problem: text})
	if verdict != record.Unknown || !strings.Contains(reasons[0], "client 1 ended early") {
		t.Errorf("it is %s because of %q", verdict, reasons)
	}
}

// nobody is a final read that finds nothing.
type nobody struct{}

func (nobody) Name() string                                           { return ledger.FinalRead }
func (nobody) Scan(context.Context, string, func([]byte) error) error { return nil }

// Each client is judged by its own operations: an outage that one of them had is not one of the other.
func TestEffectsPerClient(t *testing.T) {
	ops := operationsOf(t, 2, 8)
	out := &record.DrillRound{WindowEnd: int64(20 * time.Second),
		Faults: []record.DrillFault{{Fault: spec.ParseAction("cut:n1"), Injected: int64(10 * time.Second)}}}
	named := func(c course) []course { c.class, c.writes = "insert", true; return []course{c} }
	ops.perClient = [][]course{
		named(made(20*time.Second, time.Millisecond, 10*time.Second, 12*time.Second)),
		named(made(20*time.Second, time.Millisecond, 0, 0)),
	}
	ops.byClass = byClass(slices.Concat(ops.perClient...))
	ops.addEffects(out, 0)
	outages := map[int]int64{}
	for _, e := range out.Effects {
		if e.Class == "" {
			outages[e.Client] = e.Outage
		}
	}
	if outages[-1] > int64(2*time.Millisecond) || outages[0] < int64(2*time.Second) ||
		outages[1] > int64(2*time.Millisecond) {
		t.Errorf("the outages are %v: of all, of the client that was cut off, of the other", outages)
	}
}
