package main

import (
	"slices"
	"testing"

	"github.com/plimsoll-bench/plimsoll/measure/limit"
	"github.com/plimsoll-bench/plimsoll/study/procedure"
)

// The labels that capacities and studies state are those that the stored results prove.
func TestStatedLimitsAreProven(t *testing.T) {
	type answer struct {
		latency bool
		label   limit.Label
	}
	type tally struct{ planted, found, wrong, named int }
	tallies := map[answer]*tally{}
	plants := (&limits{}).plants()
	for _, p := range plants {
		tallies[answer{p.latency, p.label}] = &tally{}
	}
	f := limitFamily()
	by, err := stored("..", []family{f})
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range plants {
		for i := range p.strengths {
			c, ok := by[f.name].rowOf(rowOfPlant(p, i))
			if !ok {
				continue
			}
			own := tallies[answer{p.latency, p.label}]
			own.planted, own.found, own.wrong = own.planted+c.trials(), own.found+c.Accused, own.wrong+c.Cleared
			for label, n := range c.Named {
				if x := tallies[answer{p.latency, limit.Label(label)}]; x != nil {
					x.named += n
				}
			}
		}
	}
	if c, ok := by[f.name].rowOf("nothing"); ok { // asks for the throughput
		for label, n := range c.Named {
			if x := tallies[answer{false, limit.Label(label)}]; x != nil {
				x.named += n
			}
		}
	}
	have := map[bool][]limit.Label{}
	have[false], have[true] = procedure.Proven()
	for a, x := range tallies {
		t.Logf("%+v: %+v", a, *x)
		proven := x.planted > 0 && float64(x.found) >= 0.8*float64(x.planted) &&
			float64(x.wrong) <= mostWrong*float64(x.planted) && float64(x.named-x.found) <= mostWrong*float64(x.named)
		if stated := slices.Contains(have[a.latency], a.label); stated != proven {
			t.Errorf("%+v: stated %v, and the stored results prove it: %v", a, stated, proven)
		}
	}
	for latency, labels := range have {
		for _, label := range labels {
			if tallies[answer{latency, label}] == nil && label != limit.None {
				t.Errorf("%s (latency %v) is stated and was never planted", label, latency)
			}
		}
	}
}
