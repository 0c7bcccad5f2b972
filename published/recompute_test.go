package published

import (
	"fmt"
	"strings"
)

// What follows recomputes what documents state from their own figures. Only tests of the data need it.

// Recompute computes the claim out of the document's own figures, and says whether what is stated follows from them. It
// follows if any numbers that would be written like From and To give one that is rounded to what is stated, or cut off
// at its last digit, which documents do. Where the claim says "about", one unit of that digit more is allowed.
func (s *Source) Recompute(c Claim) (result float64, follows bool, err error) {
	to, found := s.Value(c.To)
	if !found {
		return 0, false, fmt.Errorf("there is no figure %q", c.To)
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
		return 0, false, fmt.Errorf("there is no figure %q", c.From)
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
	return 0, false, fmt.Errorf("a claim of %q is not known: it is a change, a ratio or a figure", c.Of)
}

// stated says whether some number from low to high is told as the claim does.
func (c Claim) stated(low, high float64) bool {
	unit := step(c.Stated.Written)
	below, above := unit/2, unit // rounded, or what was cut off
	if c.Stated.Number < 0 {
		below, above = above, below
	}
	if c.Stated.Bound == "about" {
		below, above = below+unit, above+unit
	}
	return low < c.Stated.Number+above && c.Stated.Number-below <= high
}

// Find is the sweeps of a factor as a study calls it, in a workload: "client threads" in "a", which "ycsb-a" also is.
// Sweeps that are of no workload are found in all of them.
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

// Contradiction finds one by its ID, nil if there is none.
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

// Little is the number of operations under way that follows from throughput and mean times at a level (Little's law:
// operations a second × seconds each). In a closed loop it is the number of threads. ok is false where a value that
// it needs is not stated.
func (s *Source) Little(sweep *Sweep, level string) (underWay float64, ok bool) {
	l := sweep.Level(level)
	if l == nil {
		return 0, false
	}
	return s.little(sweep.Workload, l.Values)
}

// little works with milliseconds, and shares of the operations that add up to one.
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
