package published

import (
	"fmt"
	"strings"
)

// Recompute computes the claim from the document's own figures, and reports whether the stated result follows from
// them: some numbers that are written like From and To give the stated number, rounded or truncated at its last digit.
// For "about", one unit of that digit more is allowed.
func (s *Source) Recompute(c Claim) (result float64, follows bool, err error) {
	to, found := s.Value(c.To)
	if !found {
		return 0, false, fmt.Errorf("no figure %q", c.To)
	}
	times := c.Times
	if times == 0 {
		times = 1
	}
	low, high := to.Between()
	if c.Of == "figure" {
		return to.Number * times, c.stated(low*times, high*times), nil
	}
	from, found := s.Value(c.From)
	if !found {
		return 0, false, fmt.Errorf("no figure %q", c.From)
	}
	least, most := from.Between()
	if least <= 0 || low <= 0 {
		return 0, false, fmt.Errorf("%s and %s: only positive figures have a ratio", c.From, c.To)
	}
	switch c.Of {
	case "change":
		percent := func(ratio float64) float64 { return (ratio - 1) * 100 }
		return percent(to.Number / from.Number), c.stated(percent(low/most), percent(high/least)), nil
	case "ratio":
		return to.Number / from.Number * times, c.stated(low/most*times, high/least*times), nil
	}
	return 0, false, fmt.Errorf("unknown claim %q (known: change, ratio, figure)", c.Of)
}

// stated reports whether some number from low to high is written as in the claim.
func (c Claim) stated(low, high float64) bool {
	unit := step(c.Stated.Written)
	below, above := unit/2, unit // rounded or truncated
	if c.Stated.Number < 0 {
		below, above = above, below
	}
	if c.Stated.Bound == "about" {
		below, above = below+unit, above+unit
	}
	return low < c.Stated.Number+above && c.Stated.Number-below <= high
}

// Find returns the sweeps of a study's factor in a workload: "client threads" in "a" or "ycsb-a". Sweeps without a
// workload are found in all workloads.
func (s *Source) Find(factor, workload string) []*Sweep {
	var found []*Sweep
	for _, sweep := range s.Sweeps {
		if plain(sweep.Factor) == plain(factor) && (sweep.Workload == "" ||
			sweep.Workload == strings.TrimPrefix(strings.ToLower(workload), "ycsb-")) {
			found = append(found, sweep)
		}
	}
	return found
}

// Contradiction finds a contradiction by its ID, nil if there is none.
func (s *Source) Contradiction(id string) *Contradiction {
	for i := range s.Contradictions {
		if s.Contradictions[i].ID == id {
			return &s.Contradictions[i]
		}
	}
	return nil
}

// Unstated are the metrics of a level that the document only draws.
func (s *Sweep) Unstated(level string) []string {
	var only []string
	for _, metric := range s.Metrics {
		if _, stated := s.Value(level, metric); !stated {
			only = append(only, metric)
		}
	}
	return only
}

// Little is the number of operations in flight by throughput and mean times of a level (Little's law). In a closed loop
// it is the number of threads. ok is false if a value is not stated.
func (s *Source) Little(sweep *Sweep, level string) (underWay float64, ok bool) {
	l := sweep.Level(level)
	if l == nil {
		return 0, false
	}
	return s.little(sweep.Workload, l.Values)
}

// little uses milliseconds, and shares of the operations with a sum of one.
func (s *Source) little(workload string, values map[string]Value) (float64, bool) {
	rate, stated := values["throughput"]
	mix := s.Mixes[workload]
	if !stated || len(mix) == 0 {
		return 0, false
	}
	mean := 0.0
	for class, share := range mix {
		v, stated := values[class+".mean"]
		if !stated {
			return 0, false
		}
		mean += share * v.Number
	}
	return rate.Number * mean / 1000, true
}
