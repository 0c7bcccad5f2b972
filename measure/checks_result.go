package measure

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/plimsoll-bench/plimsoll/internal/figure"
	"github.com/plimsoll-bench/plimsoll/measure/stats"
)

// MinSustained is the share of the offered operations that must succeed for a rate to hold.
const MinSustained = 0.99

// Limits of the checks that find misleading results.
const (
	minMeaningful   = 0.95 // below it response times only show a growing queue
	mostlyFailed    = 0.50
	maxNotFound     = 0.01
	maxTrend        = 0.02 // TPC-C 5.5.2 tolerates 2 % of variation
	maxDrift        = 0.10 // of response times
	minCycles       = 4    // TPC-C 5.5.2: checkpoints in the measured time
	minSettleBins   = 40   // fewest for MSER
	binsPerCycle    = 4
	shortTrendBins  = 20
	shortWaves      = 5 // of [drift], for runs without whole checkpoint cycles
	fewestTrendBins = 8
)

func checkAnything(s *Summary, _ Circumstances) []Finding {
	t := s.Tally()
	if t.Attempted == 0 {
		return []Finding{{ID: "nothing", Severity: Invalid,
			Text: "no operation ended in the measured time. There is no result. Measure longer, or check the target and the timeout."}}
	}
	if t.Succeeded == 0 {
		return finding("nothing-succeeded", Invalid, 0, 1, "operations",
			"none of %s operations succeeded. There is no throughput and no latency. See the failures for the reason.",
			t.Attempted)
	}
	return nil
}

// checkSchedule checks that the target kept up with the offered load. Operations in flight at the end are no backlog.
// If arrivals are random, so is their number then: up to three standard deviations of Poisson above the mean.
func checkSchedule(s *Summary, _ Circumstances) []Finding {
	if s.Offered == 0 {
		return nil
	}
	flying := max(s.InFlight, s.LittleInFlight())
	kept := (float64(s.Ended().Attempted) + flying + 3*math.Sqrt(flying)) / float64(s.Offered)
	if kept >= MinSustained {
		return nil
	}
	severity := Warning
	if kept < minMeaningful {
		severity = Invalid
	}
	effect := "Response times grow with the length of the run and have no meaning"
	if s.Dropped > 0 {
		effect = figure.Count(s.Dropped) + " operations were dropped, and response times do not cover them"
	}
	return finding("schedule-not-sustained", severity, kept, MinSustained, UnitShare,
		"only %s of the offered operations were done in time (%s of %s per second). %s. Offer a lower rate, or add workers if "+
			"all of them were busy.", percent(kept), figure.Rate(s.Rate(s.Ended().Attempted)), figure.Rate(s.Rate(s.Offered)), effect)
}

func checkUnsent(s *Summary, _ Circumstances) []Finding {
	if s.Unsent == 0 {
		return nil
	}
	return finding("unsent", Warning, float64(s.Unsent), 0, "operations",
		"%s operations were due but not sent when the run ended. Their response times, the longest of all, are missing. "+
			"Offer a lower rate or add workers.", s.Unsent)
}

// checkEnough names the percentiles for which all operations together are too few.
func checkEnough(s *Summary, _ Circumstances) []Finding {
	all, err := s.All()
	n := all.Answered().Count()
	if err != nil || n == 0 {
		return nil
	}
	var missing []string
	few := fewMoments(s)
	smallest := 0.0
	for _, q := range []float64{0.5, 0.9, 0.95, 0.99, 0.999, 0.9999} {
		if !all.Answered().Enough(q) {
			missing = append(missing, fmt.Sprintf("p%g (%s)", math.Round(q*1e6)/1e4, figure.Count(MinCount(q))))
			smallest = max(smallest, float64(MinCount(q)))
		}
	}
	if len(missing) == 0 {
		return few
	}
	return append(few, finding("few-samples", Note, float64(n), smallest, "operations",
		"%s operations succeeded, and these percentiles need more (number in parentheses): %s. They are not stated. "+
			"Measure longer to get them.", n, strings.Join(missing, ", "))...)
}

// fewMoments names the percentiles that come from too few moments.
func fewMoments(s *Summary) []Finding {
	d, _, err := s.Times("", "response")
	if err != nil {
		return nil
	}
	var names []string
	least := minEpisodes
	for _, q := range []float64{0.9, 0.95, 0.99, 0.999, 0.9999} {
		if _, reach := d.Quantile(q); reach == OneMoment {
			names = append(names, fmt.Sprintf("p%g", math.Round(q*1e6)/1e4))
			least = min(least, d.Episodes(q))
		}
	}
	if len(names) == 0 {
		return nil
	}
	return finding("few-moments", Note, least, minEpisodes, "episodes",
		"the slowest operations come from too few moments of the run, such as one stall (%s of %s independent ones): %s. These "+
			"percentiles describe this run and not the target. Measure longer.", figure.Significant(least), figure.Significant(minEpisodes),
		strings.Join(names, ", "))
}

// checkFailures checks attempted operations. The checks of the schedule cover dropped and unsent ones.
func checkFailures(s *Summary, c Circumstances) []Finding {
	t := s.Tally()
	bad := share(t.Bad(), t.Attempted)
	if bad <= c.MaxFailed || t.Succeeded == 0 {
		return nil
	}
	return finding("failures", graded(bad, mostlyFailed), bad, c.MaxFailed, UnitShare,
		"%s of the operations failed. Latencies cover successful operations only. See the failures and remove their cause.",
		percent(bad))
}

func checkNotFound(s *Summary, _ Circumstances) []Finding {
	t := s.Tally()
	missing := share(t.NotFound, t.Attempted)
	if missing <= maxNotFound {
		return nil
	}
	return finding("not-found", Warning, missing, maxNotFound, UnitShare,
		"%s of the operations found no document. Finding none is cheaper than finding one, so the rate is too high. Load the "+
			"data first, with the same number of records.", percent(missing))
}

func checkContent(s *Summary, _ Circumstances) []Finding {
	var wrong int64
	for i, o := range s.Dims.Outcomes {
		for k, c := range s.Dims.Classes {
			if o.Name == outcomeCorrupt && !c.Part {
				wrong += s.Classes[k].Counts[i]
			}
		}
	}
	if wrong == 0 {
		return nil
	}
	return finding("corrupt", Invalid, float64(wrong), 0, "operations",
		"%s reads returned other data than were written. The target is damaged, or other data are in its collections. Drop "+
			"the collections, load them again, and check the target.", wrong)
}

func checkAcknowledged(s *Summary, _ Circumstances) []Finding {
	t := s.Tally()
	if t.Unacknowledged == 0 {
		return nil
	}
	return finding("unacknowledged", Note, float64(t.Unacknowledged), 0, "operations",
		"%s writes were unacknowledged (w:0). Their rate is that of sent writes, not of stored writes. Use w:1 or majority "+
			"to measure stored writes.", t.Unacknowledged)
}

func checkIndeterminate(s *Summary, _ Circumstances) []Finding {
	t := s.Tally()
	if t.Indeterminate == 0 {
		return nil
	}
	return finding("indeterminate", Note, float64(t.Indeterminate), 0, "operations",
		"%s writes have an unknown outcome, because no reply confirms or denies them. The number of documents may "+
			"differ by that many. Count the documents if you need their number.", t.Indeterminate)
}

// steadyLength is the shortest measured time that can show a steady state: four checkpoint cycles (TPC-C 5.5.2).
// Targets in the client's own process have no periodic checkpoint; they need 40 bins of a second, the fewest for which
// MSER can be trusted.
func (c Circumstances) steadyLength() time.Duration {
	if c.InProcess {
		return minSettleBins * time.Second
	}
	return minCycles * c.Cycle
}

// checkSteady looks for a trend within the phase and, if the phase is long enough, for the end of the warm-up.
func checkSteady(s *Summary, c Circumstances) []Finding {
	if c.Varying || s.Ended().Succeeded == 0 {
		return nil
	}
	if s.Duration() >= minCycles*c.Cycle {
		if found := trends(s, c.Cycle/binsPerCycle, mostWaves, binsPerCycle); len(found) > 0 {
			return found
		}
		return checkSettled(s, c.Cycle/binsPerCycle)
	}
	found := trends(s, s.Duration()/shortTrendBins, shortWaves, 1)
	if len(found) == 0 {
		found = checkSettled(s, s.Duration()/shortTrendBins)
	}
	if need := c.steadyLength(); s.Duration() < need {
		why := fmt.Sprintf("%d checkpoint cycles of %s", minCycles, figure.Duration(c.Cycle))
		if c.InProcess {
			why = fmt.Sprintf("%d s, because a shorter series does not show a trend", minSettleBins)
		}
		found = append(found, finding("too-short", Warning, s.Duration().Seconds(), need.Seconds(), "s",
			"the measured time is %s; a steady state needs %s. The result may be that of a target that was still warming up. "+
				"Measure for %s or longer.", s.Duration(), why, need)...)
	}
	return found
}

// Limits of the variation of throughput.
const (
	// maxVariation is the largest coefficient of variation of the seconds. In the shortest steady length of 240 s, 0.3
	// gives a standard error of the mean of 0.3/√240 = 1.9 %, about the 2 % that TPC-C tolerates.
	maxVariation = 0.30
	dipBelow     = 0.5 // of the median: a second below it is part of a dip
	// dipCount is the number of operations of a bin in the median. A Poisson count of 64 has a standard deviation of 8,
	// so half of it is not chance. Slow loads have bins of more than a second.
	dipCount = 64
)

// checkVariation warns if the throughput of seconds scatters widely, or if dips cost more than 2 % of the operations.
// Outages have another finding.
func checkVariation(s *Summary, c Circumstances) []Finding {
	rate := s.Rate(s.Ended().Succeeded)
	if total, _ := s.outages(); c.Varying || total > 0 || rate == 0 {
		return nil
	}
	width := max(time.Second, time.Duration(dipCount/rate*float64(time.Second)))
	_, rates, _ := s.bins(width)
	if len(rates) < minCycles {
		return nil
	}
	varied := math.Sqrt(squaredError(rates)*float64(len(rates))) / stats.Mean(rates)
	longest, depth, lost := dips(rates)
	value, limit := varied, maxVariation
	if varied <= maxVariation {
		if value, limit = lost, maxTrend; lost <= maxTrend {
			return nil
		}
	}
	dip := "No dip reached half of the median"
	if longest > 0 {
		dip = fmt.Sprintf("The longest dip lasted %s and went down to %s of the median",
			figure.Duration(time.Duration(longest)*width), percent(depth))
	}
	return finding("throughput-variation", Warning, value, limit, UnitShare,
		"the coefficient of variation of throughput is %s (%s parts of %s). %s. The mean is not the throughput of a steady "+
			"target. Look for the cause in the course of the run and in the target's log.",
		percent(varied), len(rates), width, dip)
}

// dips returns the number of bins of the longest dip, its lowest rate as a share of the median, and the share of
// operations that all dips cost.
func dips(rates []float64) (longest int, depth, lost float64) {
	median := Median(rates)
	length, lowest := 0, 1.0
	for _, r := range append(slices.Clone(rates), median) { // the median ends a dip at the end
		if r < dipBelow*median {
			length++
			lowest = min(lowest, r/median)
			lost += 1 - r/median
			continue
		}
		if length > longest {
			longest, depth = length, lowest
		}
		length, lowest = 0, 1
	}
	return longest, depth, lost / float64(len(rates))
}

// trends checks rate and response time over bins of a width, with waves as in [drift], which must be fewer than those
// of cycles. A cycle, such as that of checkpoints, has a number of bins. An outage has another finding, and would hide
// every trend.
func trends(s *Summary, width time.Duration, waves, cycle int) []Finding {
	if total, _ := s.outages(); total > 0 {
		return nil
	}
	at, rates, times := s.bins(width)
	var found []Finding
	waves = min(waves, max(shortWaves, 2*len(rates)/cycle-1))
	change, p := trend(at, rates, waves, cycle)
	if math.Abs(change) > maxTrend && p < trendChance {
		found = append(found, finding("not-steady", Warning, change, maxTrend, UnitShare,
			"throughput changed by %s during the measured time (Theil–Sen; %s). The result depends on when it was "+
				"taken. Warm up longer or measure longer.", changeText(change), chance(p))...)
	}
	change, p = trend(at, times, waves, cycle)
	if math.Abs(change) > maxDrift && p < trendChance {
		found = append(found, finding("latency-drift", Warning, change, maxDrift, UnitShare,
			"the mean response time changed by %s during the measured time (%s). The percentiles depend on when they "+
				"were taken. Warm up longer or measure longer.", changeText(change), chance(p))...)
	}
	return found
}

// changeText words a change as a share of the mean. By the slope of a short series it can exceed -100 %.
func changeText(change float64) string {
	if change <= -1 {
		return "-100 % or more"
	}
	return figure.Change(1 + change)
}

// trend returns the change over the whole series relative to its mean, and its p-value, 1 for a series that is too
// short for the test.
func trend(at, values []float64, waves, cycle int) (change, p float64) {
	m := stats.Mean(values)
	if len(values) < fewestTrendBins || m == 0 {
		return 0, 1
	}
	return TheilSen(at, values) * (at[len(at)-1] - at[0]) / m, drift(withoutCycle(values, cycle), waves)
}

// withoutCycle removes what is the same in every cycle of so many values, so that it is neither a trend nor noise.
func withoutCycle(values []float64, cycle int) []float64 {
	if cycle < 2 || len(values) < minCycles*cycle {
		return values
	}
	whole := values[:len(values)/cycle*cycle]
	m, sums := stats.Mean(whole), make([]float64, cycle)
	for i, v := range whole {
		sums[i%cycle] += v
	}
	rest := slices.Clone(values)
	for i := range rest {
		rest[i] += m - sums[i%cycle]*float64(cycle)/float64(len(whole))
	}
	return rest
}

// checkSettled looks for a warm-up at the beginning: with MSER, or in the first quarter if there are too few bins for
// it. MSER also cuts a random part of a steady series, sometimes most of it, so a cut counts only if it changes the
// mean and is not chance.
func checkSettled(s *Summary, width time.Duration) []Finding {
	_, rates, _ := s.bins(width)
	if total, _ := s.outages(); total > 0 || len(rates) < 2*fewestTrendBins {
		return nil
	}
	cut, settled := len(rates)/4, true
	if len(rates) >= minSettleBins {
		cut, settled = MSER(rates)
	}
	bias := stats.Mean(rates)/stats.Mean(rates[cut:]) - 1
	if math.Abs(bias) <= maxTrend || headDiffers(rates, cut) >= trendChance {
		return nil
	}
	if !settled {
		return finding("not-steady", Warning, bias, maxTrend, UnitShare,
			"throughput did not settle during the measured time (MSER would cut %s of %s parts). Its mean is not a steady state of "+
				"the target. Warm up longer or measure longer.", cut, len(rates))
	}
	return finding("not-steady", Warning, bias, maxTrend, UnitShare,
		"the target was still warming up in the first %s of the measured time. This changes the mean by %s. Warm up that much "+
			"longer.", time.Duration(cut)*width, figure.Change(1+bias))
}

func chance(p float64) string {
	if text := figure.P(p); strings.HasPrefix(text, "<") {
		return "p < " + text[1:]
	}
	return "p = " + figure.P(p)
}

// bins combines points to bins of at least the width: the middle of each in seconds, its successful operations per
// second and its mean response time. A shorter rest is discarded.
func (s *Summary) bins(width time.Duration) (at, rates, times []float64) {
	bin := Point{Start: s.Start}
	for _, p := range s.Points {
		bin.End = p.End
		bin.Tally = bin.Tally.Add(p.Tally)
		bin.ResponseSum = saturatingAdd(bin.ResponseSum, p.ResponseSum)
		if length := bin.End - bin.Start; length > 0 && length >= width {
			at = append(at, (bin.Start + length/2).Seconds())
			rates = append(rates, float64(bin.Tally.Succeeded)/length.Seconds())
			times = append(times, share(bin.ResponseSum, bin.Tally.Succeeded))
			bin = Point{Start: bin.End}
		}
	}
	return at, rates, times
}
