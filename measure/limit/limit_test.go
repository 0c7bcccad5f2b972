package limit

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/plimsoll-bench/plimsoll/measure/anatomy"
)

// at is the anatomy of a step: mean numbers of operations in places. The places of the servers are all but the first
// two.
func at(places map[anatomy.Place]float64) *anatomy.Anatomy {
	a := &anatomy.Anatomy{Servers: []string{"a:1"}, Service: 1e6}
	for _, p := range anatomy.Places() {
		if n := places[p]; n > 0 {
			a.Operations += n
			if p != anatomy.Client && p != anatomy.Network {
				a.InServer += n
			}
			a.Parts = append(a.Parts, anatomy.Part{Place: p, Operations: n})
		}
	}
	return a
}

// open are three steps of a ladder of rates that the target does not achieve at last.
func open(low, top map[anatomy.Place]float64, change func(i int, s *Step)) []Step {
	more := places{}
	for place, n := range low {
		more[place] = n * 895 / 500
	}
	steps := []Step{
		{Offered: 500, Achieved: 500, Sustained: true, Workers: 64, Anatomy: at(low)},
		{Offered: 900, Achieved: 895, Sustained: true, Workers: 64, Anatomy: at(more)},
		{Offered: 1200, Achieved: 1000, Workers: 64, Anatomy: at(top)},
	}
	for i := range steps {
		steps[i].Signals = map[string]float64{SignalFree: 1000}
		if change != nil {
			change(i, &steps[i])
		}
	}
	return steps
}

type places = map[anatomy.Place]float64

var light = places{anatomy.Network: 0.2, anatomy.CPU: 0.5, anatomy.Unexplained: 0.1}

func signal(name string, values ...float64) func(int, *Step) {
	return func(i int, s *Step) { s.Signals[name] = values[min(i, len(values)-1)] }
}

func cpuOf(used float64, change func(*Resource)) func(int, *Step) {
	return func(i int, s *Step) {
		r := Resource{Label: CPU, Where: "h1", Capacity: 2, Used: used * s.Achieved / 1000}
		if change != nil {
			change(&r)
		}
		s.Resources = []Resource{r}
	}
}

// diskOf is a disk that always has a request, which takes so many seconds at each step.
func diskOf(took ...float64) func(int, *Step) {
	return func(i int, s *Step) {
		s.Resources = []Resource{{Label: DiskReads, Where: "d", Capacity: 1, Used: 0.99, Waiting: 4, Time: took[i]}}
	}
}

// Each case is a limit, or one that looks like it and must not get its label.
func TestThroughput(t *testing.T) {
	queue := places{anatomy.Network: 0.3, anatomy.CPU: 1.9, anatomy.RunQueue: 60}
	for name, tc := range map[string]ladderCase{
		"all rates were achieved": {[]Step{{Offered: 10, Achieved: 10, Sustained: true}, {Offered: 20, Achieved: 20,
			Sustained: true}}, None, ""},
		"workers bring more": {[]Step{{Workers: 1, Achieved: 100}, {Workers: 2, Achieved: 195}, {Workers: 4,
			Achieved: 380}}, None, ""},
		"cores with a queue": {open(light, queue, cpuOf(1.98, func(r *Resource) { r.Waiting = 30 })), CPU, "h1"},
		"a quota": {open(light, places{anatomy.CPU: 0.5, anatomy.Unexplained: 60}, cpuOf(1.75,
			func(r *Resource) { r.Throttled = 0.4 })), CPU, "h1"},
		"busy cores without a second signal": {open(light, places{anatomy.Unexplained: 60}, func(i int, s *Step) {
			s.Resources = []Resource{{Label: CPU, Where: "h1", Capacity: 2, Used: 1.95}}
		}), Unknown, ""},
		"cores of a member that replicates": {open(light, places{anatomy.Unexplained: 60}, cpuOf(1.98,
			func(r *Resource) { r.Waiting, r.Behind = 30, true })), Unknown, ""},
		"tickets": {open(light, places{anatomy.Tickets: 55, anatomy.PageReads: 5},
			signal(SignalNoTicket, 0, 0.1, 0.9)), Tickets, ""},
		"tickets that are free": {open(light, places{anatomy.Tickets: 55, anatomy.PageReads: 5},
			signal(SignalNoTicket, 0)), Unknown, ""},
		"locks": {open(light, places{anatomy.Locks: 50, anatomy.Tickets: 5},
			signal(SignalWaits, 0, 0.4, 0.8)), Locks, ""},
		"a lock that is held at each load": {open(places{anatomy.Locks: 10, anatomy.Tickets: 3.6},
			places{anatomy.Locks: 32, anatomy.RunQueue: 12, anatomy.CPU: 1.3}, signal(SignalWaits, 0.4)), Locks, ""},
		"a lock beside more waits for cores": {open(places{anatomy.Locks: 14, anatomy.CPU: 1},
			places{anatomy.Locks: 43, anatomy.RunQueue: 10.6, anatomy.CPU: 0.6}, signal(SignalWaits, 0.4)), Locks, ""},
		"locks that are half of a wait for cores": {open(places{anatomy.Locks: 10, anatomy.CPU: 1},
			places{anatomy.Locks: 20, anatomy.RunQueue: 30, anatomy.CPU: 1.3}, signal(SignalWaits, 0.4)), Unknown, ""},
		"locks without waits": {open(light, places{anatomy.Locks: 50}, nil), Unknown, ""},
		"page reads": {open(light, places{anatomy.PageReads: 50}, signal(SignalPages, 0.2, 0.3,
			0.6)), DiskReads, ""},
		"eviction": {open(light, places{anatomy.Eviction: 50}, signal(SignalDirty, 0.05, 0.1,
			0.22)), Cache, ""},
		"eviction of a clean cache": {open(light, places{anatomy.Eviction: 50}, signal(SignalDirty, 0.05)),
			Unknown, ""},
		"flow control": {open(light, places{anatomy.FlowControl: 50}, signal(SignalLagged, 0,
			0.2, 0.9)), FlowControl, ""},
		"flow control that a lower load left behind": {open(places{anatomy.FlowControl: 23, anatomy.CPU: 0.3},
			places{anatomy.FlowControl: 25, anatomy.CPU: 0.1}, func(i int, s *Step) {
				if s.Signals[SignalLagged] = 1; i == 1 {
					s.Anatomy = at(light)
				}
			}), FlowControl, ""},
		"flow control that was not active": {open(light, places{anatomy.FlowControl: 50}, signal(SignalLagged, 0)),
			Unknown, ""},
		"unexplained": {open(light, places{anatomy.Unexplained: 50, anatomy.Locks: 40},
			signal(SignalWaits, 1)), Unknown, ""},
		"more pages because of more operations": {open(places{anatomy.PageReads: 2, anatomy.Unexplained: 0.2},
			places{anatomy.PageReads: 4, anatomy.Unexplained: 0.3}, signal(SignalPages, 0.5)), Unknown, ""},
		"a network": {open(light, places{anatomy.Network: 60, anatomy.CPU: 0.6, anatomy.Unexplained: 0.1}, nil),
			Network, ""},
		"a busy load generator is no network": {open(light, places{anatomy.Network: 60, anatomy.CPU: 0.6,
			anatomy.Unexplained: 0.1},
			func(_ int, s *Step) { s.Client = []string{"client-cpu"} }), Client, ""},
		"bursts of a load generator that a quota stops": {open(light, places{anatomy.Client: 9, anatomy.Network: 14,
			anatomy.CPU: 2}, func(_ int, s *Step) { s.Client = []string{"client-cpu", "client-delay"} }), Client, ""},
		"a load generator that one signal accuses": {open(light, places{anatomy.Client: 9, anatomy.Network: 14,
			anatomy.CPU: 2}, func(_ int, s *Step) { s.Client = []string{"client-cpu"} }), Unknown, ""},
		"a network before servers that hardly matter": {open(places{anatomy.Network: 0.5, anatomy.CPU: 0.015},
			places{anatomy.Network: 37, anatomy.CPU: 0.05}, nil), Network, ""},
		"a wait for the connections of a pool is no network": {open(light, places{anatomy.Network: 60, anatomy.CPU: 0.6,
			anatomy.Unexplained: 0.1}, signal(SignalPool, 0.3)), Unknown, ""},
		"a busy load generator before slow servers": {open(light, places{anatomy.Network: 6, anatomy.Locks: 60},
			func(i int, s *Step) { s.Client, s.Signals[SignalWaits] = []string{"client-run-queue"}, 0.5 }), Locks, ""},
		"refused connections": {open(light, queue, func(_ int, s *Step) {
			s.Signals[SignalFree],
				s.Signals[SignalRejected] = 0, 12
		}), Connections, ""},
		"few free connections": {open(light, places{anatomy.Unexplained: 60}, func(_ int,
			s *Step) {
			s.Signals[SignalFree] = 0
		}), Unknown, ""},
		"nothing was read": {[]Step{{Offered: 10, Achieved: 10, Sustained: true}, {Offered: 40, Achieved: 20}},
			Unknown, ""},
		"one step": {[]Step{{Workers: 8, Achieved: 100, Anatomy: at(queue)}}, Unknown, ""},
	} {
		tc.expect(t, name)
	}
}

// A rate that was missed limits nothing while a higher one was achieved.
func TestAchievedRates(t *testing.T) {
	for name, tc := range map[string]ladderCase{
		"a moment's stall below a rate that was achieved": {open(light, light, func(i int, s *Step) {
			s.Client, s.Sustained = []string{"client-delay"}, i != 1
			s.Achieved = s.Offered * map[bool]float64{true: 0.995, false: 0.94}[s.Sustained]
		}), None, ""},
		"a rate that was achieved once only": {[]Step{{Offered: 10, Achieved: 10, Sustained: true},
			{Offered: 20, Achieved: 20, Sustained: true}, {Offered: 20, Achieved: 18}}, Unknown, ""},
	} {
		tc.expect(t, name)
	}
}

// Cores and disks that are used up, beside what looks like them.
func TestResources(t *testing.T) {
	for name, tc := range map[string]ladderCase{
		"a lock on busy cores": {open(light, places{anatomy.Locks: 50, anatomy.RunQueue: 5, anatomy.CPU: 1},
			func(i int, s *Step) {
				s.Signals[SignalWaits] = 0.8
				s.Resources = []Resource{{Label: CPU, Where: "h1", Capacity: 2, Used: 2, Waiting: 5}}
			}), Locks, ""},
		"locks and a queue at the cores": {open(light, places{anatomy.Locks: 30, anatomy.RunQueue: 20, anatomy.CPU: 1},
			func(i int, s *Step) {
				s.Signals[SignalWaits] = 0.8
				s.Resources = []Resource{{Label: CPU, Where: "h1", Capacity: 2, Used: 2, Waiting: 20}}
			}), CPU, "h1"},
		"a disk with a queue on busy cores": {open(light, places{anatomy.PageReads: 50, anatomy.RunQueue: 4},
			func(i int, s *Step) {
				diskOf(0.002, 0.003, 0.06)(i, s)
				s.Resources = append([]Resource{{Label: CPU, Where: "h1", Capacity: 2, Used: 2, Waiting: 4}}, s.Resources...)
			}), DiskReads, "d"},
		"a router that does not count its time is no network": {open(light, places{anatomy.Network: 60, anatomy.CPU: 0.6,
			anatomy.Unexplained: 0.1}, func(_ int, s *Step) { s.BlindRouter = true }), Unknown, ""},
		"the quota of a router": {open(light, places{anatomy.Network: 60, anatomy.CPU: 0.6}, func(i int, s *Step) {
			s.BlindRouter = true
			s.Resources = []Resource{{Label: Router, Where: "r", Capacity: 0.2, Used: 0.0002 * s.Achieved, Throttled: 0.3}}
		}), Router, "r"},
		"a disk with a queue": {open(light, places{anatomy.PageReads: 50}, diskOf(0.002, 0.003, 0.06)), DiskReads, "d"},
		"a disk that serves many requests at once": {open(light, places{anatomy.Unexplained: 50},
			diskOf(0.005, 0.005, 0.005)), Unknown, ""},
		"a load generator on the cores of the servers": {open(light, places{anatomy.Network: 60, anatomy.CPU: 0.6}, func(i int,
			s *Step) {
			s.Client, s.Signals[SignalRunQueue] = []string{"client-delay"}, 30
			s.Resources = []Resource{{Label: CPU, Where: "h1", Capacity: 2, Used: 2, Waiting: 30}}
		}), CPU, "h1"},
		"a rate that is nearly achieved has a limit": {[]Step{{Offered: 500, Achieved: 500, Sustained: true},
			{Offered: 1000, Achieved: 930}}, Unknown, ""},
	} {
		tc.expect(t, name)
	}
}

// ladderCase is a ladder and its answer.
type ladderCase struct {
	steps []Step
	want  Label
	where string
}

func (c ladderCase) expect(t *testing.T, name string) {
	t.Helper()
	got := Decide(c.steps).Throughput
	if got.Label != c.want || got.Where != c.where {
		t.Errorf("%s: %s, want %s: %q", name, got, c.want, got.Evidence)
	}
	if strong := got.Label != Unknown; strong != (got.Strength == Supported) || len(got.Evidence) == 0 ||
		len(got.Evidence) > 2 {
		t.Errorf("%s: %+v", name, got)
	}
}

// Repeated writes use CPU, so conflicts come before processors; honest writers that conflict a little do not.
func TestConflicts(t *testing.T) {
	writers := func(conflicts float64, last float64) []Step {
		var steps []Step
		for i, x := range []float64{800, 1200, last} {
			s := Step{Workers: 4 << (2 * i), Achieved: x, Anatomy: at(places{anatomy.CPU: 1.9,
				anatomy.RunQueue: 2 * float64(i), anatomy.Unexplained: 0.1}),
				Signals: map[string]float64{SignalConflicts: conflicts}}
			s.Resources = []Resource{{Label: CPU, Where: "h1", Capacity: 2, Used: 1.95, Waiting: 5}}
			steps = append(steps, s)
		}
		return steps
	}
	if got := Decide(writers(4, 700)).Throughput; got.Label != Conflicts {
		t.Errorf("%s: %q", got, got.Evidence)
	}
	if got := Decide(writers(0.2, 1250)).Throughput; got.Label != CPU {
		t.Errorf("%s: %q", got, got.Evidence)
	}
}

// A majority of three needs one secondary: a slow one is not named while the other one is fast.
func TestMajority(t *testing.T) {
	top := places{anatomy.Replication: 50, anatomy.CPU: 0.5}
	with := func(list ...Secondary) []Step { return open(light, top, func(_ int, s *Step) { s.Secondaries = list }) }
	got := Decide(with(Secondary{Name: "b", Sync: 0.03}, Secondary{Name: "c", Sync: 0.04})).Throughput
	if got.Label != Replication || got.Where != "b" {
		t.Errorf("both slow: %s %q", got, got.Evidence)
	}
	if got := Decide(with(Secondary{Name: "b", Sync: 0.0001}, Secondary{Name: "c",
		Sync: 0.04})).Throughput; got.Label != Unknown {
		t.Errorf("one slow: %s %q", got, got.Evidence)
	}
}

// A slow flush dominates the latency and limits no throughput.
func TestLatency(t *testing.T) {
	flush := places{anatomy.Journal: 2, anatomy.CPU: 0.2}
	steps := []Step{
		{Offered: 100, Achieved: 100, Sustained: true, Anatomy: at(flush),
			Signals: map[string]float64{SignalSyncing: 0.9}},
		{Offered: 200, Achieved: 200, Sustained: true, Anatomy: at(flush),
			Signals: map[string]float64{SignalSyncing: 0.9}},
	}
	if r := Decide(steps); r.Throughput.Label != None || r.Latency.Label != Flushes {
		t.Errorf("%+v", r)
	}
	steps[1].Signals[SignalSyncing] = 0.05 // then the writes did not wait for syncs
	if r := Decide(steps); r.Latency.Label != Unknown {
		t.Errorf("%+v", r.Latency)
	}
	far := []Step{{Workers: 4, Achieved: 100, Anatomy: at(places{anatomy.Network: 3, anatomy.CPU: 0.2}),
		Signals: map[string]float64{SignalRoundTrip: 0.025}}}
	if r := Decide(far); r.Latency.Label != Network {
		t.Errorf("%+v", r.Latency)
	}
	far[0].Signals[SignalRoundTrip] = 0.0001
	if r := Decide(far); r.Latency.Label != Unknown {
		t.Errorf("without a long round trip: %+v", r.Latency)
	}
}

// Without counters the answer says which role would show more.
func TestWithoutRights(t *testing.T) {
	r := Decide([]Step{{Offered: 10, Achieved: 10, Sustained: true}, {Offered: 40, Achieved: 20}})
	if len(r.NotChecked) != 1 || !strings.Contains(r.NotChecked[0], "clusterMonitor") || r.Shape != Flat {
		t.Errorf("%+v", r)
	}
	r = Decide([]Step{{Offered: 10, Achieved: 10, Sustained: true}, {Offered: 40, Achieved: 20,
		Client: []string{"client-cpu", "client-loop"}}})
	if r.Throughput.Label != Client {
		t.Errorf("%+v", r.Throughput)
	}
}

// Whatever the steps are, there is an answer with evidence, and nothing that is not a number.
func TestAnySteps(t *testing.T) {
	rng := rand.New(rand.NewPCG(47, 2))
	t.Log("seed 47, 2")
	x := func() float64 { return []float64{0, 1, rng.Float64() * 100, rng.ExpFloat64() * 1e4}[rng.IntN(4)] }
	for range 5000 {
		var steps []Step
		for range rng.IntN(5) {
			p := places{}
			for _, place := range anatomy.Places() {
				p[place] = x()
			}
			s := Step{Offered: x(), Achieved: x(), Workers: rng.IntN(200), Sustained: rng.IntN(2) == 0,
				Missed: rng.IntN(2) == 0,
				Signals: map[string]float64{SignalConflicts: x(), SignalNoTicket: x(), SignalRoundTrip: x(),
					SignalSyncing: x()}}
			if rng.IntN(4) > 0 {
				s.Anatomy = at(p)
			}
			for range rng.IntN(3) {
				s.Resources = append(s.Resources, Resource{Label: CPU, Where: "h", Used: x(), Capacity: x(),
					Waiting: x(), Throttled: x()})
			}
			for range rng.IntN(3) {
				s.Secondaries = append(s.Secondaries, Secondary{Name: "s", Sync: x(), Lag: x()})
			}
			steps = append(steps, s)
		}
		r := Decide(steps)
		for _, a := range []Answer{r.Throughput, r.Latency} {
			if a.Label == "" || a.Strength == "" || len(a.Evidence) == 0 || len(a.Evidence) > 2 {
				t.Fatalf("%+v of %+v", r, steps)
			}
			if strings.Contains(strings.Join(a.Evidence, " "), "NaN") {
				t.Fatalf("%q of %+v", a.Evidence, steps)
			}
		}
		if math.IsNaN(r.Unexplained) {
			t.Fatalf("%+v", r)
		}
	}
}

func TestConfirm(t *testing.T) {
	of := func(reduced, all float64) Limit {
		l := Limit{Throughput: Answer{Label: CPU, Strength: Supported, Evidence: []string{"a", "b"}},
			More: "more cores"}
		e, ok := Elasticity([][2]float64{{reduced, all}, {reduced * 1.01, all * 1.01}}, Reduced)
		if !ok {
			t.Fatal("no elasticity")
		}
		l.Confirm("CPU", e)
		return l
	}
	if l := of(760, 1000); l.Throughput.Strength != Confirmed || l.Throughput.Label != CPU || *l.Elasticity < 0.9 {
		t.Errorf("%+v", l)
	}
	if l := of(995, 1000); l.Throughput.Label != Unknown || l.More != "" {
		t.Errorf("refuted: %+v", l)
	}
	if l := of(880, 1000); l.Throughput.Strength != Supported || !strings.Contains(l.Throughput.Evidence[1],
		"another limit") {
		t.Errorf("between: %+v", l)
	}
	if _, ok := Elasticity([][2]float64{{0, 5}}, Reduced); ok {
		t.Error("nothing was measured")
	}
}

// Only confirmed answers and proven labels are stated.
func TestOnly(t *testing.T) {
	of := func() Limit {
		return Limit{Throughput: Answer{Label: CPU, Where: "h1", Strength: Supported, Evidence: []string{"busy"}},
			Latency: Answer{Label: Flushes, Strength: Supported, Evidence: []string{"syncs"}}, More: more[CPU]}
	}
	l := of()
	l.Only([]Label{CPU, None}, []Label{Flushes})
	if l.Throughput.Label != CPU || l.Latency.Label != Flushes || l.More != more[CPU] {
		t.Errorf("proven: %+v", l)
	}
	l = of()
	l.Only([]Label{Locks}, nil)
	if l.Throughput.Label != Unknown || l.Latency.Label != Unknown || l.More != "" ||
		!strings.Contains(l.Throughput.Evidence[0], "CPU") {
		t.Errorf("not proven: %+v", l)
	}
	l = of()
	l.Throughput.Strength = Confirmed
	if l.Only(nil, nil); l.Throughput.Label != CPU || l.More == "" {
		t.Errorf("confirmed: %+v", l)
	}
	l = of()
	l.Bound = true
	if l.Only([]Label{CPU}, []Label{Flushes}); l.More != more[Flushes] {
		t.Errorf("bound by the latency: %+v", l)
	}
}

// A server far away that a quota stops has the counters of one behind a full network. Only where quotas were seen, the
// network is stated. The queue of a disk, or of a machine without a server, does not show them.
func TestNetworkOrQuota(t *testing.T) {
	seen := func(i int, s *Step) { s.QuotasSeen = true }
	for name, tc := range map[string]struct {
		change func(int, *Step)
		want   Label
	}{
		"a server far away":    {cpuOf(0.5, func(r *Resource) { r.Waiting = 0.5 }), Unknown},
		"one that was seen":    {seen, Network},
		"one that was stopped": {cpuOf(0.5, func(r *Resource) { r.Throttled, r.Capacity = 0.7, 0.5 }), CPU},
	} {
		l := Decide(open(light, places{anatomy.Network: 60, anatomy.CPU: 0.5, anatomy.Unexplained: 0.1}, tc.change))
		if l.Only([]Label{Network, CPU}, nil); l.Throughput.Label != tc.want || (l.More == "") != (tc.want == Unknown) {
			t.Errorf("%s: %+v", name, l)
		}
	}
}

// After a failover, or where the primary was not sampled, nothing can be compared.
func TestServersThatDiffer(t *testing.T) {
	for name, tc := range map[string]struct {
		low, top []string
		want     Label
	}{
		"the same":    {[]string{"a"}, []string{"a"}, Network},
		"one more":    {[]string{"a"}, []string{"b", "a"}, Network},
		"another one": {[]string{"a"}, []string{"b", "c"}, Unknown},
	} {
		steps := open(light, places{anatomy.Network: 60, anatomy.CPU: 0.6}, func(i int, s *Step) {
			s.Anatomy.Servers = tc.low
			if i == 2 {
				s.Anatomy.Servers = tc.top
			}
		})
		if got := Decide(steps).Throughput.Label; got != tc.want {
			t.Errorf("%s: %s", name, got)
		}
	}
}
