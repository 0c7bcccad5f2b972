package procedure

import (
	"fmt"
	"math"
	"time"

	"github.com/plimsoll-bench/plimsoll/internal/figure"
	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/measure/stats"
	"github.com/plimsoll-bench/plimsoll/study"
)

// The conditions for a steady state.
const (
	minCycles   = study.CyclesToSettle // checkpoints within the measured time (TPC-C 5.5.2)
	enoughBins  = 40                   // MSER is unreliable with fewer
	maxTrend    = 0.02                 // of the mean over the whole window (TPC-C 5.5.2)
	fewestTrend = 8                    // values for the normal approximation of Mann–Kendall
)

// settling is the result of the conditions for one trial.
type settling struct {
	cycles  int // whole checkpoint cycles in the measured time
	bins    int // used by MSER
	width   time.Duration
	cut     int     // how many of them it would cut
	bias    float64 // by how much these change the mean
	trend   float64 // change over the window as a share of the mean, by Theil–Sen over cycles
	p       float64 // Mann–Kendall, 1 with too few cycles
	problem string  // the condition that failed, or ""
}

// settlingOf checks the seconds of the measured phase of a trial. Checkpoints slow the target down for a part of each
// cycle, and shorter bins would show nothing else. So the warm-up is checked in bins of at least a quarter of a cycle,
// and the trend in whole cycles.
func settlingOf(seconds []study.Second, cycle time.Duration) settling {
	var measured []study.Second
	for _, s := range seconds {
		if s.Phase == "measure" && s.Length > 0 {
			measured = append(measured, s)
		}
	}
	perCycle := binned(measured, cycle)
	g := settling{cycles: len(perCycle), p: 1}
	if g.cycles < minCycles {
		g.problem = fmt.Sprintf("%s of %s, but a steady state needs %d",
			figure.Plural(g.cycles, "whole checkpoint cycle"), figure.Duration(cycle), minCycles)
		return g
	}
	g.warmUp(measured, cycle)
	g.drift(perCycle)
	if g.problem == "" && math.Abs(g.trend) > maxTrend {
		g.problem = fmt.Sprintf("throughput changed by %s within the measured time (Mann–Kendall p = %.2g)", signed(g.trend), g.p)
	}
	return g
}

// warmUp applies MSER to bins of a quarter to half a cycle: as long as possible while there are enough. The window
// begins and ends at the same phase of a cycle, so bins with and without checkpoints are equally frequent.
func (g *settling) warmUp(measured []study.Second, cycle time.Duration) {
	parts := 4
	for parts > 2 && g.cycles*(parts-1) >= enoughBins {
		parts--
	}
	for parts > 1 && cycle/time.Duration(parts) < measured[0].Length { // intervals are not shorter
		parts--
	}
	g.width = cycle / time.Duration(parts)
	bins := binned(measured, g.width)
	bins = bins[:min(len(bins), g.cycles*parts)]
	g.bins = len(bins)
	if g.bins < minCycles {
		return
	}
	cut, settled := measure.MSER(bins)
	g.cut, g.bias = cut, stats.Mean(bins)/stats.Mean(bins[cut:])-1
	switch {
	case math.Abs(g.bias) <= maxTrend/2: // MSER also cuts a random part of a series without any warm-up
	case !settled:
		g.problem = fmt.Sprintf("throughput did not settle: MSER would cut %d of %d bins of %s, more than half", g.cut, g.bins,
			figure.Duration(g.width))
	case math.Abs(g.bias) > maxTrend:
		what := "the target was still warming up for the first %s, which changes the mean by %s"
		if g.bias > 0 {
			what = "the first %s were faster than the rest, which changes the mean by %s"
		}
		g.problem = fmt.Sprintf(what, figure.Duration(time.Duration(g.cut)*g.width), signed(g.bias))
	}
}

// drift computes the trend over the means of whole cycles.
func (g *settling) drift(perCycle []float64) {
	at := make([]float64, len(perCycle))
	for i := range at {
		at[i] = float64(i)
	}
	if m := stats.Mean(perCycle); m > 0 {
		g.trend = measure.TheilSen(at, perCycle) * float64(len(perCycle)-1) / m
	}
	if len(perCycle) >= fewestTrend {
		_, g.p = measure.MannKendall(perCycle)
	}
}

func (g settling) String() string {
	text := fmt.Sprintf("%d cycles, MSER cuts %d of %d bins of %s, trend %s", g.cycles, g.cut, g.bins, figure.Duration(g.width), signed(g.trend))
	if g.cycles >= fewestTrend {
		text += fmt.Sprintf(" (Mann–Kendall p = %.2g)", g.p)
	}
	return text
}

func signed(x float64) string {
	if x < 0 {
		return "−" + figure.Percent(-x)
	}
	return "+" + figure.Percent(x)
}

// binned returns the rate in bins of one width. An incomplete bin at the end is dropped, unless at most a fiftieth is
// missing, because runs end some milliseconds early.
func binned(seconds []study.Second, width time.Duration) []float64 {
	var rates []float64
	var done, length time.Duration
	sum := 0.0
	for _, s := range seconds {
		sum += s.Rate * s.Length.Seconds()
		length += s.Length
		done += s.Length
		if next := time.Duration(len(rates)+1) * width; done >= next-width/50 {
			rates = append(rates, sum/length.Seconds())
			sum, length = 0, 0
			for done-time.Duration(len(rates))*width >= width { // an interval longer than a bin fills several
				rates = append(rates, rates[len(rates)-1])
			}
		}
	}
	return rates
}
