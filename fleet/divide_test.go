package fleet

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/plimsoll-bench/plimsoll/run"
	"github.com/plimsoll-bench/plimsoll/spec"
)

// testSpec is a load that leaves the processor to others: what answers at once could take all of it.
func testSpec(clients int) spec.Run {
	s := spec.Run{Target: "null:", Workload: spec.Workload{Name: "a", Records: 100}}
	s.Load.Clients = spec.Count(clients)
	s.Load.Workers, s.Load.Pace, s.Load.Duration = 7, 50, spec.Duration(time.Second)
	s.Defaults()
	return s
}

// The parts of a load are the whole, whatever the shares, and no client is left without workers.
func TestDivide(t *testing.T) {
	for clients := 2; clients <= 7; clients++ {
		whole := testSpec(clients)
		whole.Load.Rate, whole.Load.Operations, whole.Load.Pace = 1000, 1001, 26
		whole.Load.Stages = []spec.Stage{{Duration: 1, Rate: 500}, {Duration: 1, Workers: 23}, {Duration: 1, Workers: 0}}
		agents := make([]Facts, clients)
		for i := range agents {
			agents[i].Weight = float64(i*i + 1)
		}
		checkDivided(t, whole, agents)
		whole.Load.Shares = spec.SharesByWeight
		checkDivided(t, whole, agents)
	}
}

func checkDivided(t *testing.T, whole spec.Run, agents []Facts) {
	t.Helper()
	sum := whole
	sum.Load.Workers, sum.Load.Rate, sum.Load.Operations = 0, 0, 0
	sum.Load.Stages = make([]spec.Stage, 3)
	all, err := turnsOf(whole.Load, agents)
	if err != nil {
		t.Fatal(err)
	}
	for i, turns := range all {
		p := divide(whole, turns)
		if p.Load.Workers == 0 || p.Load.Clients != 0 || !p.LoadPhase.Skip || p.LoadPhase.Drop {
			t.Errorf("client %d of %d: %+v", i, len(all), p)
		}
		if p.Load.Pace != whole.Load.Pace || p.Workload.Seed != whole.Workload.Seed ||
			p.Load.Duration != whole.Load.Duration {
			t.Errorf("client %d of %d has another pace, seed or duration: %+v", i, len(all), p)
		}
		sum.Load.Workers += p.Load.Workers
		sum.Load.Rate += p.Load.Rate
		sum.Load.Operations += p.Load.Operations
		for k, s := range p.Load.Stages {
			sum.Load.Stages[k].Workers += s.Workers
			sum.Load.Stages[k].Rate += s.Rate
		}
	}
	same := sum.Load.Workers == whole.Load.Workers && sum.Load.Operations == whole.Load.Operations &&
		math.Abs(float64(sum.Load.Rate-whole.Load.Rate)) < 1e-6
	for k, s := range whole.Load.Stages {
		same = same && sum.Load.Stages[k].Workers == s.Workers && math.Abs(float64(sum.Load.Stages[k].Rate-s.Rate)) < 1e-6
	}
	if !same {
		t.Errorf("%d clients together: %+v, want %+v", len(all), sum.Load, whole.Load)
	}
	if len(whole.Load.Stages) != 3 || whole.Load.Stages[1].Workers != 23 {
		t.Errorf("dividing changed the whole: %+v", whole.Load)
	}
}

// labelled gives the second of three agents a label, and the third one a host of its own.
func labelled(f []Facts) []Facts {
	f[1].Labels = map[string]string{"disk": "ssd"}
	f[2].Zone, f[2].Host = "", "h2"
	return f
}

// The agents of a zone have its share of the load together, by their weights if that is asked for.
func TestTurnsOfZones(t *testing.T) {
	agents := []Facts{{Name: "a", Host: "h", Zone: "us-east", Weight: 300}, {Name: "b", Host: "h", Zone: "eu-west", Weight: 50},
		{Name: "c", Host: "h", Zone: "us-east", Weight: 100}}
	zones := map[string]spec.Share{"eu-west": 0.2, "us-east": 0.8}
	for _, c := range []struct {
		name   string
		load   spec.Load
		change func([]Facts) []Facts
		want   []float64
		err    string
	}{
		{name: "equal", want: []float64{1. / 3, 1. / 3, 1. / 3}},
		{name: "weights", load: spec.Load{Shares: spec.SharesByWeight}, want: []float64{300. / 450, 50. / 450, 100. / 450}},
		{name: "zones", load: spec.Load{Zones: zones}, want: []float64{0.4, 0.2, 0.4}},
		{name: "zones and weights", load: spec.Load{Zones: zones, Shares: spec.SharesByWeight}, want: []float64{0.6, 0.2, 0.2}},
		{name: "no weight", load: spec.Load{Shares: spec.SharesByWeight},
			change: func(f []Facts) []Facts { f[1].Weight = 0; return f },
			err:    "load.shares: the agent b on h does not know how many operations per second it can send. Run plimsoll calibrate on that machine, or use equal shares"},
		{name: "no agent", load: spec.Load{Zones: zones}, change: func(f []Facts) []Facts { f[1].Zone = "us-east"; return f },
			err: "load.zones: no agent is in eu-west. Start one there with --zone or --label, or remove its share"},
		{name: "another zone", load: spec.Load{Zones: zones}, change: func(f []Facts) []Facts { f[2].Zone = "asia"; return f },
			err: "load.zones: the agent c on h is in none of eu-west, us-east. Start it with --zone or --label, or give its zone a share"},
		{name: "no zone", load: spec.Load{Zones: zones}, change: func(f []Facts) []Facts { f[2].Zone = ""; return f },
			err: "load.zones: the agent c on h is in none of eu-west, us-east. Start it with --zone or --label, or give its zone a share"},
		{name: "labels", load: spec.Load{Zones: map[string]spec.Share{"disk=ssd": 0.2, "host=h2": 0.5, "us-east": 0.3}}, change: labelled,
			want: []float64{0.3, 0.2, 0.5}},
		{name: "a zone as a label", load: spec.Load{Zones: map[string]spec.Share{"zone=eu-west": 0.2, "zone=us-east": 0.8}},
			want: []float64{0.4, 0.2, 0.4}},
		{name: "in two zones", load: spec.Load{Zones: map[string]spec.Share{"disk=ssd": 0.2, "eu-west": 0.3, "us-east": 0.5}},
			change: labelled, err: "load.zones: the agent b on h is in disk=ssd and in eu-west. Give shares to zones or labels of which each agent has one"},
		{name: "processes of one machine", load: spec.Load{Shares: spec.SharesByWeight},
			change: func([]Facts) []Facts { return []Facts{{Local: true}, {Local: true}} }, want: []float64{0.5, 0.5}},
		{name: "processes", load: spec.Load{Zones: zones},
			change: func([]Facts) []Facts { return []Facts{{Local: true}, {Local: true}} },
			err:    "load.zones: processes on this machine have no zone. Place agents in the zones (plimsoll agent --zone NAME), or remove load.zones"},
		{name: "small", load: spec.Load{Zones: map[string]spec.Share{"x": 0.001, "y": 0.999}}, change: func([]Facts) []Facts {
			return slices.Concat(slices.Repeat([]Facts{{Zone: "x"}}, 90), []Facts{{Zone: "y"}})
		}, want: append(slices.Repeat([]float64{1e-3 / 90}, 90), 0.999)},
	} {
		own := slices.Clone(agents)
		if c.change != nil {
			own = c.change(own)
		}
		turns, err := turnsOf(c.load, own)
		if err != nil || c.err != "" {
			if err == nil || err.Error() != c.err {
				t.Errorf("%s: %v, want %q", c.name, err, c.err)
			}
			continue
		}
		for i, turn := range turns {
			if math.Abs(turn.Share()-c.want[i]) > 0.5/float64(partsPerAgent) {
				t.Errorf("%s: client %d has %v of the load, want %v", c.name, i, turn.Share(), c.want[i])
			}
		}
	}
}

// Parts are whole, at least one each, and no further from the quota than that demands.
func TestApportion(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 1))
	if got := apportion(10, []float64{1, 1, 1}); !slices.Equal(got, []int{4, 3, 3}) {
		t.Errorf("10 parts for three equal weights: %v", got)
	}
	for range 1000 {
		weights := make([]float64, 1+random.IntN(30))
		total := 0.0
		for i := range weights {
			weights[i] = math.Exp(10 * random.Float64())
			total += weights[i]
		}
		n := len(weights) + random.IntN(1000)
		sum, small := 0, false
		parts := apportion(n, weights)
		for i, p := range parts {
			quota := float64(n) * weights[i] / total
			small = small || quota < 1
			sum += p
			if p < 1 {
				t.Fatalf("%d parts by %v: %v", n, weights, parts)
			}
		}
		for i, p := range parts {
			if quota := float64(n) * weights[i] / total; !small && math.Abs(float64(p)-quota) >= 1 {
				t.Fatalf("%d parts by %v: %v, but the quota of %d is %v", n, weights, parts, i, quota)
			}
		}
		if sum != n {
			t.Fatalf("%d parts by %v: %v", n, weights, parts)
		}
	}
}

func TestCheck(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*spec.Run)
		want   string // part of the error, "" for none
	}{
		{"fine", func(*spec.Run) {}, ""},
		{"one client", func(s *spec.Run) { s.Load.Clients, s.Target = 1, "embedded:x" }, ""},
		{"embedded", func(s *spec.Run) { s.Target = "embedded:x" }, "one process at a time"},
		{"target", func(s *spec.Run) { s.Target = "mongo//x" }, "unknown target"},
		{"few workers", func(s *spec.Run) { s.Load.Workers = 2 }, "2 workers cannot be divided among 3"},
		{"workers of stages", func(s *spec.Run) {
			s.Load.Workers, s.Load.Stages = 0, []spec.Stage{{Duration: 1, Workers: 9}}
		}, ""},
		{"few operations", func(s *spec.Run) { s.Load.Operations = 2 }, "2 operations cannot be divided"},
		{"constant", func(s *spec.Run) { s.Load.Pace, s.Load.Rate, s.Load.Arrivals = 0, 100, "constant" }, ""},
	} {
		spec := testSpec(3)
		c.change(&spec)
		err := run.CheckClients(spec)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
}
