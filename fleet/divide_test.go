package fleet

import (
	"math"
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

// The parts of a load are the whole, whatever the remainders, and no client is left without workers.
func TestDivide(t *testing.T) {
	for clients := 2; clients <= 7; clients++ {
		whole := testSpec(clients)
		whole.Load.Rate, whole.Load.Operations, whole.Load.Pace = 1000, 1001, 26
		whole.Load.Stages = []spec.Stage{{Duration: 1, Rate: 500}, {Duration: 1, Workers: 23}, {Duration: 1, Workers: 0}}
		sum := whole
		sum.Load.Workers, sum.Load.Rate, sum.Load.Operations = 0, 0, 0
		sum.Load.Stages = make([]spec.Stage, 3)
		for i := range clients {
			p := divide(whole, i, clients)
			if p.Load.Workers == 0 || p.Load.Clients != 0 || !p.LoadPhase.Skip || p.LoadPhase.Drop {
				t.Errorf("client %d of %d: %+v", i, clients, p)
			}
			if p.Load.Pace != whole.Load.Pace || p.Workload.Seed != whole.Workload.Seed ||
				p.Load.Duration != whole.Load.Duration {
				t.Errorf("client %d of %d has another pace, seed or duration: %+v", i, clients, p)
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
			t.Errorf("%d clients together: %+v, want %+v", clients, sum.Load, whole.Load)
		}
		if len(whole.Load.Stages) != 3 || whole.Load.Stages[1].Workers != 23 {
			t.Errorf("dividing changed the whole: %+v", whole.Load)
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
		{"constant", func(s *spec.Run) { s.Load.Pace, s.Load.Rate, s.Load.Arrivals = 0, 100, "constant" }, "bursts"},
	} {
		spec := testSpec(3)
		c.change(&spec)
		err := run.CheckClients(spec)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
}
