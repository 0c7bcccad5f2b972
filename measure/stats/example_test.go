package stats_test

import (
	"fmt"
	"math"

	"github.com/plimsoll-bench/plimsoll/measure/stats"
)

func ExampleBlockRatio() {
	// Operations per second in six blocks, before and after a change.
	before := []float64{1012, 998, 1005, 1022, 989, 1010}
	after := []float64{1065, 1041, 1051, 1079, 1033, 1050}
	var logs []float64
	for i := range before {
		logs = append(logs, math.Log(after[i]/before[i]))
	}
	r, ok := stats.BlockRatio(logs, 0.95)
	fmt.Printf("%.3f (%.3f to %.3f), p = %.2g, %v\n", r.Ratio, r.Low, r.High, r.P, ok)
	fmt.Printf("not within 3 %%: p = %.2g\n", stats.EquivalenceP(r, 0.03))
	fmt.Printf("within 6 %%: p = %.2g\n", stats.EquivalenceP(r, 0.06))
	// Output:
	// 1.047 (1.041 to 1.053), p = 6.7e-06, true
	// not within 3 %: p = 1
	// within 6 %: p = 0.0016
}

func ExamplePower() {
	for _, cv := range []float64{0.01, 0.03, 0.05} {
		fmt.Printf("coefficient of variation %.0f %%: 9 pairs find a change of 5 %% with %.0f %%\n", 100*cv,
			100*stats.Power(cv, 0.05, 0.05, 9, true))
	}
	// Output:
	// coefficient of variation 1 %: 9 pairs find a change of 5 % with 100 %
	// coefficient of variation 3 %: 9 pairs find a change of 5 % with 85 %
	// coefficient of variation 5 %: 9 pairs find a change of 5 % with 45 %
}

func ExampleChangePoints() {
	// One run a day; before the eleventh the read-ahead was changed.
	history := []float64{501, 497, 503, 499, 502, 498, 500, 504, 499, 501, 462, 458, 461, 463, 459}
	for _, c := range stats.ChangePoints(history, stats.ChangeOptions{Magnitude: 0.02}) {
		fmt.Printf("from run %d on: %.0f instead of %.0f, %+.1f %%\n", c.Index+1, c.After, c.Before, 100*(c.After/c.Before-1))
	}
	// Output:
	// from run 11 on: 461 instead of 500, -8.0 %
}

func ExampleRareBound() {
	fmt.Printf("10 failovers, none above 4 s: P(gap > 4 s) < %.0f %%\n", 100*stats.RareBound(10, 0.95))
	fmt.Printf("to say 5 %%: %d failovers\n", stats.RareTrials(0.05, 0.95))
	// Output:
	// 10 failovers, none above 4 s: P(gap > 4 s) < 26 %
	// to say 5 %: 59 failovers
}
