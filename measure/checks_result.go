package measure

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/plimsoll-bench/plimsoll/internal/figure"
)

// The checks in this file ask whether the figures say what a reader will take them to say.

// Limits of the checks of the result.
const (
	minSustained    = 0.99
	minMeaningful   = 0.95 // below it a growing queue is all that response times show
	mostlyFailed    = 0.50
	maxNotFound     = 0.01
	maxTrend        = 0.02 // TPC-C 5.5.2 tolerates 2 % of variation
	maxDrift        = 0.10 // of response times
	trendChance     = 0.01 // probability of a trend that is none
	minCycles       = 4    // TPC-C 5.5.2: checkpoints in the measured time
	minSettleBins   = 40   // fewer, and MSER is not to be trusted
	binsPerCycle    = 4
	shortTrendBins  = 20
	fewestTrendBins = 8 // the normal approximation of Mann–Kendall needs them
)

func checkAnything(s *Summary, _ Circumstances) []Finding {
	t := s.Tally()
	if t.Attempted == 0 {
		return []Finding{{ID: "nothing", Severity: Invalid,
			Text: "no operation ended in the measured time, so there is no result; run longer, or check the target and the timeout"}}
	}
	if t.Succeeded == 0 {
		return finding("nothing-succeeded", Invalid, 0, 1, "operations",
			"none of %s operations succeeded, so there is no throughput and no latency; see the failures for the reason", t.Attempted)
	}
	return nil
}

// checkSchedule asks whether the target kept up with the offered load. Operations under way at the end
// are not behind; a backlog is.
func checkSchedule(s *Summary, _ Circumstances) []Finding {
	if s.Offered == 0 {
		return nil
	}
	kept := (float64(s.Ended().Attempted) + max(s.InFlight, s.LittleInFlight())) / float64(s.Offered)
	if kept >= minSustained {
		return nil
	}
	severity := Warning
	if kept < minMeaningful {
		severity = Invalid
	}
	return finding("schedule-not-sustained", severity, kept, minSustained, UnitShare,
		"only %s of the offered operations were done in time (%s of %s per second), so %s; offer less, or add workers if "+
			"not all were busy", percent(kept), figure.Rate(s.Rate(s.Ended().Attempted)), figure.Rate(s.Rate(s.Offered)), s.behind())
}

// behind says what it does to response times that operations were not done in time.
func (s *Summary) behind() string {
	if s.Dropped > 0 {
		return fmt.Sprintf("response times are those of the others (%s were dropped)", figure.Count(s.Dropped))
	}
	return "response times grow with the length of the run and mean nothing by themselves"
}

func checkUnsent(s *Summary, _ Circumstances) []Finding {
	if s.Unsent == 0 {
		return nil
	}
	return finding("unsent", Warning, float64(s.Unsent), 0, "operations",
		"%s operations were due but had not been sent when the run ended, so their response times, the longest of all, are "+
			"missing; offer less or allow more time to drain", s.Unsent)
}

// checkEnough names the percentiles that cannot be stated for all operations together.
func checkEnough(s *Summary, _ Circumstances) []Finding {
	all, err := s.All()
	n := all.Answered().Count()
	if err != nil || n == 0 {
		return nil
	}
	var missing []string
	smallest := 0.0
	for _, q := range []float64{0.5, 0.9, 0.95, 0.99, 0.999, 0.9999} {
		if !all.Answered().Enough(q) {
			missing = append(missing, fmt.Sprintf("p%g (%s)", math.Round(q*1e6)/1e4, figure.Count(MinCount(q))))
			smallest = max(smallest, float64(MinCount(q)))
		}
	}
	if len(missing) == 0 {
		return nil
	}
	return finding("few-samples", Note, float64(n), smallest, "operations",
		"%s successful operations are too few to state %s, with what each needs in brackets; run longer to have them",
		n, strings.Join(missing, ", "))
}

// checkFailures looks at what was attempted. What was dropped or never sent has no failure to be looked up,
// and is the business of the checks of the schedule.
func checkFailures(s *Summary, c Circumstances) []Finding {
	t := s.Tally()
	bad := share(t.Bad(), t.Attempted)
	if bad <= c.MaxFailed || t.Succeeded == 0 {
		return nil
	}
	return finding("failures", graded(bad, mostlyFailed), bad, c.MaxFailed, UnitShare,
		"%s of the operations did not succeed, so latencies are those of the lucky ones; see the failures and remove "+
			"their cause", percent(bad))
}

func checkNotFound(s *Summary, _ Circumstances) []Finding {
	t := s.Tally()
	missing := share(t.NotFound, t.Attempted)
	if missing <= maxNotFound {
		return nil
	}
	return finding("not-found", Warning, missing, maxNotFound, UnitShare,
		"%s of the operations found no document where one was expected, which is cheaper than finding one; load the data "+
			"first, with the same number of records", percent(missing))
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
		"%s reads returned something else than what was written, so the target is damaged or other data are in its "+
			"collections; drop and load them again, then look at the target", wrong)
}

func checkAcknowledged(s *Summary, _ Circumstances) []Finding {
	t := s.Tally()
	if t.Unacknowledged == 0 {
		return nil
	}
	return finding("unacknowledged", Note, float64(t.Unacknowledged), 0, "operations",
		"%s writes were handed to the network and nobody confirmed them (w:0), so their number says what was sent, not what "+
			"was stored; use w:1 or majority to know", t.Unacknowledged)
}

func checkIndeterminate(s *Summary, _ Circumstances) []Finding {
	t := s.Tally()
	if t.Indeterminate == 0 {
		return nil
	}
	return finding("indeterminate", Note, float64(t.Indeterminate), 0, "operations",
		"%s writes may or may not have been applied, because no answer proved either; the number of documents may differ "+
			"by as many", t.Indeterminate)
}

// checkSteady looks for a trend within the phase and, where it is long enough, for the end of the
// warm-up within it.
func checkSteady(s *Summary, c Circumstances) []Finding {
	if c.Varying || s.Ended().Succeeded == 0 {
		return nil
	}
	if s.Duration() < minCycles*c.Cycle {
		found := finding("too-short", Note, s.Duration().Seconds(), (minCycles * c.Cycle).Seconds(), "s",
			"%s is too short to tell whether the target was in a steady state, which takes %s checkpoint cycles of %s; run "+
				"at least %s for a claim", s.Duration(), minCycles, c.Cycle, minCycles*c.Cycle)
		return append(found, trends(s, s.Duration()/shortTrendBins, true)...)
	}
	found := trends(s, c.Cycle, false)
	if len(found) == 0 {
		found = checkSettled(s, c.Cycle/binsPerCycle)
	}
	return found
}

// trends looks at rate and response time over bins of a width. Whole checkpoint cycles can be compared
// as they are; shorter bins need a test against chance as well. An outage has a finding of its own, and
// would hide every trend.
func trends(s *Summary, width time.Duration, test bool) []Finding {
	if total, _ := s.outages(); total > 0 {
		return nil
	}
	at, rates, times := s.bins(width)
	var found []Finding
	change, p := trend(at, rates)
	if math.Abs(change) > maxTrend && (!test || p < trendChance) {
		found = append(found, finding("not-steady", Warning, change, maxTrend, UnitShare,
			"throughput changed by %s within the measured time (Theil–Sen; Mann–Kendall %s), so the result depends on "+
				"when it was taken; warm up longer or measure longer", figure.Change(1+change), chance(p))...)
	}
	change, p = trend(at, times)
	if math.Abs(change) > maxDrift && p < trendChance {
		found = append(found, finding("latency-drift", Warning, change, maxDrift, UnitShare,
			"mean response time changed by %s within the measured time (Mann–Kendall %s), so the percentiles depend "+
				"on when they were taken; warm up longer or measure longer", figure.Change(1+change), chance(p))...)
	}
	return found
}

// trend returns the change over the whole series relative to its mean, and the probability that there
// is none. Series too short for the test have p = 1.
func trend(at, values []float64) (change, p float64) {
	m := mean(values)
	if len(values) < minCycles || m == 0 {
		return 0, 1
	}
	change = TheilSen(at, values) * (at[len(at)-1] - at[0]) / m
	if len(values) < fewestTrendBins {
		return change, 1
	}
	_, p = MannKendall(values)
	return change, p
}

// checkSettled applies MSER to throughput. Of a series that is steady from its beginning MSER cuts a
// random part as well, sometimes most of it, so a cut matters only where it moves the mean.
func checkSettled(s *Summary, width time.Duration) []Finding {
	_, rates, _ := s.bins(width)
	if total, _ := s.outages(); total > 0 || len(rates) < minSettleBins {
		return nil
	}
	cut, settled := MSER(rates, 1)
	bias := mean(rates)/mean(rates[cut:]) - 1
	if math.Abs(bias) <= maxTrend {
		return nil
	}
	if !settled {
		return finding("not-steady", Warning, bias, maxTrend, UnitShare,
			"throughput did not settle within the measured time (MSER would cut %s of %s parts), so its mean stands for no "+
				"state of the target; warm up longer or measure longer", cut, len(rates))
	}
	return finding("not-steady", Warning, bias, maxTrend, UnitShare,
		"the target was still warming up in the first %s of the measured time, which moves the mean by %s; warm up "+
			"that much longer", time.Duration(cut)*width, figure.Change(1+bias))
}

// chance is the probability that a trend is none.
func chance(p float64) string {
	if text := figure.P(p); strings.HasPrefix(text, "<") {
		return "p < " + text[1:]
	}
	return "p = " + figure.P(p)
}

// bins puts points together to bins of at least the width: the middle of each in seconds, its successful
// operations per second and its mean response time. What is left at the end and shorter falls away.
func (s *Summary) bins(width time.Duration) (at, rates, times []float64) {
	bin := Point{Start: s.Start}
	for _, p := range s.Points {
		bin.End = p.End
		bin.Tally = bin.Tally.Add(p.Tally)
		bin.ResponseSum = saturatingAdd(bin.ResponseSum, p.ResponseSum)
		if length := bin.End - bin.Start; length > 0 && length >= width {
			at = append(at, (bin.Start + length/2).Seconds())
			rates = append(rates, float64(bin.Tally.Succeeded)/length.Seconds())
			if n := bin.Tally.Succeeded; n > 0 {
				times = append(times, float64(bin.ResponseSum)/float64(n))
			} else {
				times = append(times, 0)
			}
			bin = Point{Start: bin.End}
		}
	}
	return at, rates, times
}
