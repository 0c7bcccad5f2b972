package measure

import "time"

// Limits of the check for outages.
const (
	// missedByOutage is how many successes an outage must have cost at the mean rate of the phase: with fewer
	// a slow trickle of operations, one of which failed, would look like one.
	missedByOutage = 10
	maxOutage      = 0.10 // share of the measured time
)

// outages returns how much of the phase passed without a single success while operations failed, and
// the longest stretch of it. The grain is that of the intervals: an outage shorter than two of them may not
// be seen.
func (s *Summary) outages() (total, longest time.Duration) {
	var length time.Duration
	var failed int64
	end := func() {
		missed := float64(s.Ended().Succeeded) * length.Seconds() / max(s.Duration().Seconds(), 1e-9)
		if failed > 0 && missed >= missedByOutage {
			total += length
			longest = max(longest, length)
		}
		length, failed = 0, 0
	}
	for _, p := range s.Points {
		if p.Tally.Succeeded > 0 {
			end()
			continue
		}
		length += p.End - p.Start
		failed += p.Tally.Bad() - p.Tally.NotFound // finding nothing is an answer
	}
	end()
	return total, longest
}

// checkOutage asks whether the target was there all the time. The share of failed operations does not
// tell: workers that wait for a dead target try only a few.
func checkOutage(s *Summary, _ Circumstances) []Finding {
	total, longest := s.outages()
	if total == 0 {
		return nil
	}
	lost := total.Seconds() / s.Duration().Seconds()
	return finding("outage", graded(lost, maxOutage), lost, maxOutage, UnitShare,
		"for %s of the %s measured no operation succeeded (longest stretch: %s). The throughput is the mean of a target that "+
			"works and one that does not. Find the cause in the failures and events, and run again.",
		total.Round(time.Millisecond), s.Duration().Round(time.Millisecond), longest.Round(time.Millisecond))
}
