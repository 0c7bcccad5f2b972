package stats_test

import (
	"fmt"

	"github.com/plimsoll-bench/plimsoll/measure/stats"
)

func ExamplePairedRatio() {
	// Operations per second in six blocks, before and after a change.
	before := []float64{1012, 998, 1005, 1022, 989, 1010}
	after := []float64{1065, 1041, 1051, 1079, 1033, 1050}
	r, ok := stats.PairedRatio(before, after, 0.95)
	fmt.Printf("%.3f (%.3f to %.3f), p = %.2g, %v\n", r.Ratio, r.Low, r.High, r.P, ok)
	fmt.Println("within 3 %:", stats.Equivalent(r, 0.03))
	fmt.Println("within 6 %:", stats.Equivalent(r, 0.06))
	// Output:
	// 1.047 (1.041 to 1.053), p = 6.7e-06, true
	// within 3 %: false
	// within 6 %: true
}

func ExampleTrials() {
	for _, cv := range []float64{0.01, 0.03, 0.05} {
		fmt.Printf("trials scatter by %.0f %%: %d of each find a change of 5 %%\n", 100*cv, stats.Trials(cv, 0.05, 0.8, 0.05, true))
	}
	// Output:
	// trials scatter by 1 %: 3 of each find a change of 5 %
	// trials scatter by 3 %: 9 of each find a change of 5 %
	// trials scatter by 5 %: 19 of each find a change of 5 %
}

func ExampleChangePoints() {
	// One run a day; on the eleventh somebody changed the read-ahead.
	history := []float64{501, 497, 503, 499, 502, 498, 500, 504, 499, 501, 462, 458, 461, 463, 459}
	for _, c := range stats.ChangePoints(history, stats.ChangeOptions{Magnitude: 0.02}) {
		fmt.Printf("from run %d on: %.0f instead of %.0f, %+.1f %%\n", c.Index+1, c.After, c.Before, 100*c.Change)
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
