package stats

import (
	"fmt"
	"math"
	"testing"
)

// Computed independently, from a noncentral t distribution.
func TestPower(t *testing.T) {
	for _, c := range []struct {
		cv, effect, alpha float64
		n                 int
		paired            bool
		want              float64
	}{
		{.03, .05, .05, 6, false, 0.7192013613596362},
		{.03, .05, .05, 6, true, 0.6195826232726624},
		{.05, .05, .05, 16, false, 0.7619008544514673},
		{.05, .02, .05, 98, false, 0.7882552193165329},
		{.02, -.05, .01, 5, true, 0.4586321765576838},
		{.1, .05, .05, 2, true, 0.05583893651623911},
		{.1, .05, .05, 2, false, 0.061015270995760915},
		{.05, .01, .05, 500, false, 0.8820983257360719},
		{.01, .02, .001, 2, true, 0.002504380636781171},
		{.01, .03, .0001, 3, true, 0.0014095947676026647},
		{0, .01, .05, 2, true, 1},
		{.01, 5, .05, 30, true, 1},
		{.05, .05, .05, 1, true, 0},
		{.05, 0, .05, 9, true, 0},
		{.05, -1, .05, 9, true, 0},
		{-.05, .05, .05, 9, true, 0},
		{math.NaN(), .05, .05, 9, true, 0},
		{.05, .05, 1, 9, true, 0},
	} {
		got := Power(c.cv, c.effect, c.alpha, c.n, c.paired)
		near(t, fmt.Sprintf("the power of %+v", c), got, c.want, 1e-8)
	}
	// An effect too small to matter is found as often as none: alpha.
	near(t, "the power for next to no effect", Power(.1, 1e-9, .05, 8, false), 0.05, 1e-6)
}

// Each number of trials is the smallest one with the power.
func TestPowerOfTrials(t *testing.T) {
	for _, c := range []struct {
		cv, effect, power, alpha float64
		paired                   bool
		trials                   int
	}{
		{.03, .05, .8, .05, false, 8},
		{.05, .05, .8, .05, false, 18},
		{.05, .02, .8, .05, false, 101},
		{.03, .05, .8, .05, true, 9},
		{.01, .05, .9, .05, true, 4},
		{.1, -.1, .95, .01, false, 34},
		{.02, .01, .8, .05, true, 66},
		{0, .01, .8, .05, true, 2},
		{.05, 10, .8, .05, false, 2},
	} {
		if Power(c.cv, c.effect, c.alpha, c.trials, c.paired) < c.power ||
			Power(c.cv, c.effect, c.alpha, c.trials-1, c.paired) >= c.power {
			t.Errorf("%+v: this is not the smallest number of trials with the power", c)
		}
	}
}
