package drill

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/plimsoll-bench/plimsoll/drill/ledger"
	"github.com/plimsoll-bench/plimsoll/fleet"
	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/run"
	"github.com/plimsoll-bench/plimsoll/spec"
	"github.com/plimsoll-bench/plimsoll/workload"
)

// The delays between the coordinator and its agents. They differ, so the clocks of agents are known to a half of the
// sum, and wrong by a half of the difference.
const (
	toAgent       = time.Millisecond
	toCoordinator = 5 * time.Millisecond
)

// distant is one side of a link over a network with a delay.
type distant struct {
	fleet.Wire
	delay time.Duration
	name  string
	end   func()
}

func (d distant) Receive() ([]byte, error) {
	frame, err := d.Wire.Receive()
	time.Sleep(d.delay)
	return frame, err
}

func (d distant) Facts() fleet.Facts {
	return fleet.Facts{Protocol: fleet.Protocol, Name: d.name, Host: "elsewhere"}
}
func (d distant) Break() { d.end() }

// ahead places agents whose clocks are ahead of that of the coordinator.
type ahead struct {
	clocks []time.Duration
	dir    string
	began  chan time.Time // by the clock of the test
}

func (a ahead) Place(_ context.Context, n int, _ func(string)) (list []fleet.Link, _ error) {
	for i := range n {
		fromCoordinator, down := io.Pipe()
		fromAgent, up := io.Pipe()
		agent := fleet.Agent{Duties: Duties(), Dir: a.dir, Run: a.perform,
			Now: func() time.Time { return time.Now().Round(0).Add(a.clocks[i]) }}
		go func() {
			// Its error is that of the run.
			_ = agent.Serve(context.Background(), distant{Wire: fleet.Pipe(fromCoordinator, up), delay: toAgent})
		}()
		list = append(list, distant{fleet.Pipe(fromAgent, down), toCoordinator, fmt.Sprintf("agent-%d", i),
			func() { fromCoordinator.Close(); fromAgent.Close() }})
	}
	return list, nil
}

func (ahead) End() error { return nil }

// perform performs a load whose operations take time. Those of a responder in this process take none, and without them
// the time of the test stands still.
func (a ahead) perform(ctx context.Context, asked spec.Run, o run.Options) (*record.Run, error) {
	made, ready := o.Workload, o.Ready
	o.Ready = func(ctx context.Context) error {
		err := ready(ctx)
		a.began <- time.Now()
		return err
	}
	o.Workload = func(open func() (workload.Workload, error)) (workload.Workload, error) {
		w, err := made(open)
		return slow{w}, err
	}
	return run.Execute(ctx, asked, o)
}

type slow struct{ workload.Workload }

func (w slow) Stream(worker, workers int) workload.Stream {
	// No operation ends with a second.
	s := w.Workload.Stream(worker, workers)
	next := s.Next
	s.Next = func(op *workload.Op) {
		time.Sleep(time.Duration(27+2*worker) * time.Millisecond)
		next(op)
	}
	return s
}

// observed is what agents leave in the record of their run and in the ledger of its writes. Times are durations since
// the start.
type observed struct {
	Began  []time.Time // in any order
	Skews  []time.Duration
	Phases map[string]measure.Tally
	Rows   []row
	Events []happening
	Slices [][]slice
	Until  []time.Duration // of the ledger of each client
	Lost   []lost
}

// row is a class of operations in an interval.
type row struct {
	Phase      string
	Class      int
	Start, End time.Duration
	Counts     []int64
	Service    map[int64]int64
}

type happening struct {
	At         time.Duration
	Kind, Text string
}

type lost struct {
	Writer   int
	Sequence int64
	At       time.Duration
}

// nowhere has no documents, so all acknowledged writes are lost, with the times of their acknowledgements.
type nowhere struct{}

func (nowhere) Name() string                                               { return "nowhere" }
func (nowhere) Scan(context.Context, string, func(doc []byte) error) error { return nil }

// observe performs the load of a drill by agents with some clocks, in the time of the test.
func observe(t *testing.T, clocks ...time.Duration) (r *record.Run, o observed) {
	synctest.Test(t, func(t *testing.T) {
		ops := operationsOf(t, len(clocks), 4)
		ops.spec.Target, ops.spec.Load.Place = "null:", spec.PlaceManual
		ops.spec.Load.Duration, ops.spec.LoadPhase.Skip = spec.Duration(5*time.Second), true
		ops.spec.Defaults()
		ops.spec.Load.Warmup = spec.Duration(time.Second)
		place, dir := ahead{clocks, t.TempDir(), make(chan time.Time, len(clocks))}, filepath.Join(ops.dir, "record")
		_, err := fleet.Execute(t.Context(), ops.spec, run.Options{Dir: dir, Number: 7, Workload: ops.observed.workload},
			fleet.Options{Places: func(string) (fleet.Placer, error) { return place, nil }, Duty: ops.duty(func() {}, nil)})
		if err != nil {
			t.Fatal(err)
		}
		if r, err = record.OpenRun(dir); err != nil {
			t.Fatal(err)
		}
		for range clocks {
			o.Began = append(o.Began, <-place.began)
		}
		o.addRecord(t, dir, r)
		o.addLedger(t, ops, r)
	})
	return r, o
}

func (o *observed) addRecord(t *testing.T, dir string, r *record.Run) {
	o.Phases = map[string]measure.Tally{}
	for _, p := range r.Phases {
		o.Phases[p.Phase] = p.Counts
	}
	for _, c := range r.Clients {
		o.Skews = append(o.Skews, time.Duration(c.StartSkew))
	}
	_, err := record.EachInterval(dir, func(iv *measure.Interval) error {
		for i, c := range iv.Classes {
			r := row{Phase: iv.Phase, Class: i, Start: iv.Start, End: iv.End}
			r.Counts, r.Service = slices.Clone(c.Counts), maps.Collect(c.Service.Buckets())
			o.Rows = append(o.Rows, r)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.SortFunc(o.Rows, func(a, b row) int { // the operations that end after a phase arrive in any order
		return cmp.Or(strings.Compare(a.Phase, b.Phase), int(a.Start-b.Start), a.Class-b.Class,
			slices.Compare(a.Counts, b.Counts))
	})
	events, err := record.Events(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range events {
		o.Events = append(o.Events, happening{e.At, e.Kind, e.Text})
	}
}

func (o *observed) addLedger(t *testing.T, ops *operations, r *record.Run) {
	ops.gather(r, 0)
	for i := range ops.handed {
		o.Until = append(o.Until, ops.handed[i].until)
		for _, c := range ops.perClient[i] {
			o.Slices = append(o.Slices, c.slices)
		}
	}
	l, err := ops.observed.ledger.Audit(t.Context(), ledger.AuditOptions{Workload: ops.observed.wrapped, Final: nowhere{}})
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range l.Lost {
		o.Lost = append(o.Lost, lost{w.Writer, w.Sequence, time.Duration(w.Acknowledged)})
	}
}

// Agents whose clocks are a second ahead and a second behind leave the record of agents with the clock of the
// coordinator: starts, seconds and the times in ledgers differ by less than 10 ms, and nothing else does.
func TestClocksApartLeaveOneRecord(t *testing.T) {
	_, same := observe(t, 0, 0)
	r, apart := observe(t, time.Second, -time.Second)
	for i, c := range r.Clients {
		offset, wrong := time.Duration(c.ClockOffset), time.Duration(c.ClockUncertainty)
		if want := []time.Duration{time.Second, -time.Second}[i]; (offset-want).Abs() > wrong || wrong == 0 {
			t.Errorf("the clock of client %d is %v ±%v ahead, want %v", i, offset, wrong, want)
		}
	}
	if len(apart.Lost) < 100 || len(apart.Rows) < 10 || len(apart.Slices) < 2 {
		t.Fatalf("%d writes, %d rows and %d courses", len(apart.Lost), len(apart.Rows), len(apart.Slices))
	}
	const most = 10 * time.Millisecond
	near := gocmp.Comparer(func(a, b time.Duration) bool { return (a - b).Abs() <= most })
	together := gocmp.Comparer(func(a, b time.Time) bool { return a.Sub(b).Abs() <= most })
	alike := gocmp.Comparer(func(a, b slice) bool {
		nearby := func(a, b int64) bool { return time.Duration(a-b).Abs() <= most }
		return a.ok == b.ok && a.failed == b.failed && nearby(a.okFirst, b.okFirst) && nearby(a.okLast, b.okLast)
	})
	if diff := gocmp.Diff(same, apart, near, together, alike); diff != "" {
		t.Errorf("records of agents with one clock and with others (-one +others):\n%s", diff)
	}
}
