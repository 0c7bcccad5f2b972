package procedure

import (
	"fmt"
	"math"
	"time"

	"github.com/plimsoll-bench/plimsoll/internal/figure"
	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/study"
)

// The gates that the course of a trial passes before its result counts as that of a steady state.
const (
	minCycles   = 4    // checkpoints within the measured time (TPC-C 5.5.2)
	enoughBins  = 40   // MSER is not to be trusted with fewer
	maxTrend    = 0.02 // of the mean over the whole window (TPC-C 5.5.2)
	fewestTrend = 8    // values from which on the normal approximation of Mann–Kendall is good
)

// settling is what the gates saw in the course of one trial.
type settling struct {
	cycles  int // whole checkpoint cycles in the measured time
	bins    int // how many MSER looked at
	width   time.Duration
	cut     int     // how many of them it would cut
	bias    float64 // by how much these move the mean
	trend   float64 // change over the window as a share of the mean, by Theil–Sen over cycles
	p       float64 // Mann–Kendall, 1 where there are too few cycles for it
	problem string  // which gate failed, "" if none did
}

// settlingOf looks at the seconds of the measured phase of a trial. Checkpoints come in cycles and slow the target down
// for a part of each: bins of a second or five would show nothing but them, so nothing shorter than a quarter of a
// cycle is compared for the warm-up, and nothing shorter than a cycle for the trend.
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
		g.problem = fmt.Sprintf("%s of %s cannot tell a steady state, which takes %d",
			figure.Plural(g.cycles, "whole checkpoint cycle"), figure.Duration(cycle), minCycles)
		return g
	}
	g.warmUp(measured, cycle)
	g.drift(perCycle)
	switch {
	case g.problem != "":
	case math.Abs(g.trend) > maxTrend:
		g.problem = fmt.Sprintf("throughput changed by %s within the measured time (Mann–Kendall p = %.2g)", signed(g.trend), g.p)
	}
	return g
}

// warmUp applies MSER to bins of a quarter to half a cycle: as long as they can be while there are enough of them.
// Bins of the length that some parts of a checkpoint fill and others do not are compared with their like, since the
// window begins and ends at the same moment of a cycle.
func (g *settling) warmUp(measured []study.Second, cycle time.Duration) {
	parts := 4
	for parts > 2 && g.cycles*(parts-1) >= enoughBins {
		parts--
	}
	for parts > 1 && cycle/time.Duration(parts) < measured[0].Length { // nothing is known of shorter ones
		parts--
	}
	g.width = cycle / time.Duration(parts)
	bins := binned(measured, g.width)
	bins = bins[:min(len(bins), g.cycles*parts)]
	g.bins = len(bins)
	if g.bins < minCycles {
		return
	}
	cut, settled := measure.MSER(bins, 1)
	g.cut, g.bias = cut, mean(bins)/mean(bins[cut:])-1
	switch {
	case math.Abs(g.bias) <= maxTrend/2: // MSER also cuts a random part of a series without any warm-up
	case !settled:
		g.problem = fmt.Sprintf("throughput did not settle: MSER would cut %d of %d bins of %s, more than half", g.cut, g.bins, figure.Duration(g.width))
	case math.Abs(g.bias) > maxTrend:
		what := "the target was still warming up for the first %s, which moves the mean by %s"
		if g.bias > 0 {
			what = "the first %s were faster than what came later, which moves the mean by %s"
		}
		g.problem = fmt.Sprintf(what, figure.Duration(time.Duration(g.cut)*g.width), signed(g.bias))
	}
}

// drift is the trend over the means of whole cycles.
func (g *settling) drift(perCycle []float64) {
	at := make([]float64, len(perCycle))
	for i := range at {
		at[i] = float64(i)
	}
	if m := mean(perCycle); m > 0 {
		g.trend = measure.TheilSen(at, perCycle) * float64(len(perCycle)-1) / m
	}
	if len(perCycle) >= fewestTrend {
		_, g.p = measure.MannKendall(perCycle)
	}
}

// String says what the gates saw.
func (g settling) String() string {
	text := fmt.Sprintf("%d cycles, MSER cuts %d of %d bins of %s, trend %s", g.cycles, g.cut, g.bins, figure.Duration(g.width), signed(g.trend))
	if g.cycles >= fewestTrend {
		text += fmt.Sprintf(" (Mann–Kendall p = %.2g)", g.p)
	}
	return text
}

// signed is a share with its sign.
func signed(x float64) string {
	if x < 0 {
		return "−" + figure.Percent(-x)
	}
	return "+" + figure.Percent(x)
}

// binned puts seconds together to bins of one width, by time, and returns the rate in each. What is left at the end
// falls away, unless no more than a fiftieth of a bin is missing: runs end some milliseconds early.
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

func mean(values []float64) float64 {
	sum := 0.0
	for _, v := range values {
		sum += v
	}
	return sum / float64(max(1, len(values)))
}
