package anatomy

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"
)

func near(a, b float64) bool { return math.Abs(a-b) < 1e-6*(1+math.Abs(a)+math.Abs(b)) }

// The parts are never negative and add up to the operations, whatever servers count.
func TestPartsAddUp(t *testing.T) {
	rng := rand.New(rand.NewPCG(47, 1))
	t.Log("seed 47, 1")
	number := func() float64 {
		switch rng.IntN(5) {
		case 0:
			return 0
		case 1:
			return -rng.Float64()
		}
		return math.Exp(12*rng.Float64() - 6)
	}
	for range 2000 {
		var servers []Server
		for range rng.IntN(4) {
			s := Server{Name: "s", Router: rng.IntN(4) == 0, Load: number(), Queued: number(), CPU: number(),
				Waited: number(),
				Writes: number(), Synced: number(), Conflicts: number(), Sync: time.Duration(1e6 * number()),
				Places: map[Place]float64{}}
			for _, place := range Places() {
				if rng.IntN(2) == 0 {
					s.Places[place] = number()
				}
			}
			servers = append(servers, s)
		}
		a := Of(Sender{InFlight: number(), Own: number()}, servers)
		sum := 0.0
		for _, p := range a.Parts {
			if p.Operations < 0 || math.IsNaN(p.Operations) {
				t.Fatalf("%+v of %+v", p, servers)
			}
			sum += p.Operations
		}
		if a.Operations > 0 && !near(sum, a.Operations) {
			t.Fatalf("the parts are %v of %v operations: %+v of %+v", sum, a.Operations, a.Parts, servers)
		}
	}
}

func TestPlaces(t *testing.T) {
	for name, tc := range map[string]struct {
		sender  Sender
		servers []Server
		want    map[Place]float64
	}{
		"the rest of the service time is the network": {Sender{InFlight: 10, Own: 1},
			[]Server{{Load: 4, CPU: 1.5, Places: map[Place]float64{Locks: 2}}},
			map[Place]float64{Client: 1, Network: 5, Locks: 2, CPU: 1.5, Unexplained: 0.5}},
		"no server was read": {Sender{InFlight: 3}, nil, map[Place]float64{Unexplained: 3}},
		"the load of others is not of this client": {Sender{InFlight: 2},
			[]Server{{Load: 8, Places: map[Place]float64{PageReads: 8}}}, map[Place]float64{PageReads: 2, Network: 0}},
		"secondaries replicate and serve nothing": {Sender{InFlight: 10},
			[]Server{{Load: 10, Places: map[Place]float64{Replication: 10}}, {Load: 0.01, CPU: 2,
				Places: map[Place]float64{Locks: 5}}},
			map[Place]float64{Replication: 10, Locks: 0}},
		"a router has what its shards do not": {Sender{InFlight: 12},
			[]Server{{Router: true, Load: 10}, {Load: 6, CPU: 6}}, map[Place]float64{Network: 2, Router: 4, CPU: 6}},
		"a queue contains locks and flow control": {Sender{InFlight: 20},
			[]Server{{Load: 20, Queued: 12, Places: map[Place]float64{Locks: 3, FlowControl: 4}}},
			map[Place]float64{Tickets: 5, Locks: 3, FlowControl: 4, Unexplained: 8}},
		"a counted queue is not estimated": {Sender{InFlight: 20},
			[]Server{{Load: 20, Queued: 12, Places: map[Place]float64{Tickets: 1}}}, map[Place]float64{Tickets: 1,
				Unexplained: 19}},
		"a sync of 10 ms": {Sender{InFlight: 2}, []Server{{Load: 2, Synced: 100, Writes: 100,
			Sync: 10 * time.Millisecond}},
			map[Place]float64{Journal: 1 + 0.5/(1+math.Exp(-1)), Unexplained: 1 - 0.5/(1+math.Exp(-1))}},
		"background threads use cores too": {Sender{InFlight: 2}, []Server{{Load: 2, CPU: 5, Waited: 3}},
			map[Place]float64{CPU: 2, RunQueue: 0}},
		"conflicts pause": {Sender{InFlight: 2}, []Server{{Load: 2, Writes: 10, Conflicts: 10 * 20}},
			map[Place]float64{Conflicts: 10 * 0.056}},
		"few conflicts do not": {Sender{InFlight: 2}, []Server{{Load: 2, Writes: 10, Conflicts: 20}},
			map[Place]float64{Conflicts: 0, Unexplained: 2}},
	} {
		a := Of(tc.sender, tc.servers)
		for place, want := range tc.want {
			if got := a.In(place); !near(got, want) {
				t.Errorf("%s: %s is %v, want %v: %+v", name, place, got, want, a)
			}
		}
	}
}

// Counters that exceed the time of operations are said to, because they contain waits of other threads.
func TestOverCounted(t *testing.T) {
	a := Of(Sender{InFlight: 4}, []Server{{Load: 4, Places: map[Place]float64{Locks: 6, PageReads: 2}}})
	if !near(a.Over, 4) || !near(a.In(Locks), 3) || !near(a.In(PageReads), 1) {
		t.Errorf("%+v", a)
	}
	if a := Of(Sender{}, nil); a.Operations != 0 || len(a.Parts) != 0 {
		t.Errorf("nothing is %+v", a)
	}
}

func TestLargest(t *testing.T) {
	a := Of(Sender{InFlight: 10}, []Server{{Load: 9, Places: map[Place]float64{Locks: 2}}})
	if p, ok := a.Largest(); !ok || p.Place != Locks || a.Share(Locks) != 0.2 {
		t.Errorf("%+v, %v", p, ok)
	}
	var none *Anatomy
	if _, ok := none.Largest(); ok || none.In(CPU) != 0 || none.Share(CPU) != 0 {
		t.Error("nothing has a part")
	}
}
