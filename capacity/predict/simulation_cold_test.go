package predict

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/plimsoll-bench/plimsoll/capacity"
	"github.com/plimsoll-bench/plimsoll/capacity/simulate"
	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/spec"
)

func filling(t *testing.T, cache float64) *capacity.Filling {
	t.Helper()
	keys, err := capacity.KeysOf(spec.Workload{Name: "a", Records: 100_000,
		Params: map[string]string{"requestdistribution": "uniform"}})
	if err != nil {
		t.Fatal(err)
	}
	f, err := keys.Filling(capacity.Cache{Bytes: cache})
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// With uniform keys and a cache for all N documents, the misses after n requests are exp(−n/N). A shard whose
// operations take 1 ms, and 4 ms more with a miss, then does N·4 fewer operations than with a full cache. It is slow
// until a twentieth of its time is misses.
func TestSlowTimeOfClosedLoad(t *testing.T) {
	const n = 100_000.0
	x := &cold{filling: filling(t, 1e12), misses: []float64{0, 0.5, 1}, rates: []float64{1000, 1000.0 / 3, 200},
		rate: 1000, writes: 0.5}
	slow, fewer := x.after(0)
	end := 0.05 / 0.95 / 4 // misses at which 1 ms + 4 ms · misses is a twentieth longer
	if want := 4 * n * (1 - end); math.Abs(fewer/want-1) > 0.05 {
		t.Errorf("%.0f operations fewer, want %.0f", fewer, want)
	}
	if want := n*math.Log(1/end)*0.001 + 0.004*n*(1-end); math.Abs(slow.Seconds()/want-1) > 0.05 {
		t.Errorf("slow for %v, want %.0f s", slow, want)
	}
	if again, _ := x.after(1e7); again != 0 {
		t.Errorf("a full cache is slow for %v", again)
	}
	costs := x.coldOutages([]simulate.Outage{{Up: 0}, {Up: -1}, {Up: 1000 * time.Hour}, {Up: 0, Open: true},
		{Up: 100 * time.Second}})
	if costs.Outages != 2 || costs.Longest != slow.Seconds() || costs.Operations >= 2*fewer || costs.Operations <= fewer {
		t.Errorf("%+v, one is %v and %.0f", costs, slow, fewer)
	}
}

// An open load waits while the shard does less than is offered, and until what waits is done. A load that the shard
// does even with an empty cache does not wait.
func TestSlowTimeOfOpenLoad(t *testing.T) {
	x := &cold{filling: filling(t, 1e12), misses: []float64{0, 1}, rates: []float64{1000, 200}, offered: 500, rate: 500,
		writes: 0.5}
	slow, waited := x.after(0)
	// Numerically: arrivals at 500/s, served at 1000/(1 + 4·exp(−n/N)).
	seconds, due, n := 0.0, 0.0, 0.0
	for waiting := true; waiting; waiting = due > n {
		seconds += 100 / (1000 / (1 + 4*math.Exp(-n/100_000)))
		n += 100
		due = 500 * seconds
	}
	if math.Abs(slow.Seconds()/seconds-1) > 0.05 || math.Abs(waited/due-1) > 0.05 {
		t.Errorf("slow for %v, want %.0f s; %.0f wait, want %.0f", slow, seconds, waited, due)
	}
	x.offered, x.rate = 199, 199
	if slow, waited := x.after(0); slow != 0 || waited != 0 {
		t.Errorf("a small load: slow for %v, %.0f wait", slow, waited)
	}
}

// pagesEvidence has a probe with reads of 20 ms, and runs whose cache has half of their documents, as the simulation
// gives them.
func pagesEvidence(t *testing.T) Evidence {
	t.Helper()
	e := evidence(t)
	h := measure.NewHistogram()
	h.RecordN(int64(20*ms), 1000)
	text, err := h.Encode()
	if err != nil {
		t.Fatal(err)
	}
	e.Probes = []*record.Probe{probed(t, 5*ms, 1, 8)}
	e.Probes[0].Steps = append(e.Probes[0].Steps, record.ProbeStep{Profile: spec.ProbeRandom, Operation: "read", Threads: 1,
		Histograms: map[string]string{"latency": text}})
	e.Runs = e.Runs[:2]
	m, err := newDeploymentModel(&e, false)
	if err != nil {
		t.Fatal(err)
	}
	for _, workers := range []int{4, 8} {
		misses, err := m.misses(800e3, 1000)
		if err != nil || misses < 0.1 {
			t.Fatal(misses, err)
		}
		o, err := m.simulate(setup{workers: workers, members: 1, misses: misses})
		if err != nil {
			t.Fatal(err)
		}
		c := ran(t, "r", workers, time.Duration(float64(workers)/o.rate*1e9), 50*us, "update")
		c.Summary.Classes[0].Service = o.writes
		c.Run.Target.Settings = map[string]string{"wiredTiger cache bytes": "800000"}
		e.Runs = append(e.Runs, c)
	}
	return e
}

// A single server has an empty cache after each outage. Without records that read pages from the disk, nothing is said.
func TestSimulationOfEmptyCaches(t *testing.T) {
	alone := func(dir string) Drilled {
		d := drilled(dir, "", 20, 20)
		for i := range d.Rounds {
			d.Rounds[i].Members = 1
		}
		return d
	}
	e := pagesEvidence(t)
	e.Drills = []Drilled{alone("a"), alone("b")}
	s := Simulate(deployment(t, "{load: {workers: 4}, cache: 800kB, records: 1000, failures: {kill: 3}, time: 24h}"), e, record.Tool{})
	if s.Failures == nil || s.Failures.Cold == nil {
		t.Fatalf("%q, checks %+v, left out %q", refusal(s), s.Checks, s.LeftOut)
	}
	if c := s.Failures.Cold; c.Outages != 3 || c.Seconds <= 0 || c.Longest > c.Seconds || c.Operations <= 0 || c.Waiting {
		t.Errorf("%+v", c)
	}
	if !strings.Contains(findings(s), coldFinding.ID) {
		t.Errorf("findings %q", findings(s))
	}
	e = evidence(t)
	e.Drills = []Drilled{alone("a"), alone("b")}
	s = Simulate(deployment(t, "{load: {workers: 8}, cache: 1GB, records: 1000, failures: {kill: 3}, time: 24h}"), e, record.Tool{})
	if s.Failures == nil || s.Failures.Cold != nil || !strings.Contains(strings.Join(s.LeftOut, "\n"), "no reproduced record reads pages") {
		t.Errorf("%q, left out %q", refusal(s), s.LeftOut)
	}
}

func findings(s *record.Simulation) string {
	var ids []string
	for _, f := range s.Validity {
		ids = append(ids, f.ID)
	}
	return strings.Join(ids, " ")
}

// In measured drills of a mongod whose documents fit into the cache, the rate is back when the outage ends: writes have
// filled the caches of the secondaries. The model says the same of such members.
func TestCachesOfMeasuredDrills(t *testing.T) {
	for _, n := range []string{"1", "2", "3"} {
		e, err := OpenEvidence([]string{"testdata/simulated/drills/mongod-kill-" + n})
		if err != nil {
			t.Fatal(err)
		}
		keys := filling(t, 1e12) // a ledger of fewer documents is asked for uniformly too
		x := &cold{filling: keys, misses: []float64{0, 1}, rates: []float64{200, 20}, offered: 180, rate: 180, writes: 1}
		for _, r := range e.Drills[0].Rounds {
			w := r.Effects[slices.IndexFunc(r.Effects, func(e record.DrillEffect) bool { return e.Kind == record.KindWrites })]
			slow := time.Duration(w.Recovery - w.Outage)
			if c := x.coldOutages([]simulate.Outage{{For: time.Duration(w.Outage), Up: -1}}); c.Seconds > 0 || slow > 100*ms {
				t.Errorf("drill %s, round %d: slow for %v after the outage, simulated %+v", n, r.Number, slow, c)
			}
		}
	}
}
