package measure

import "time"

// Limits of the check for outages.
const (
	missedByOutage = 10   // successes that an outage costs at least, because a slow load has gaps too
	maxOutage      = 0.10 // share of the measured time
)

// outages returns the time of the phase in which operations failed and none succeeded, and its longest part. The
// resolution is that of the intervals: an outage shorter than two of them may be missed.
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
		failed += p.Tally.Bad() - p.Tally.NotFound // an answer too
	}
	end()
	return total, longest
}

// checkOutage checks that the target was always available. The share of failed operations does not show that, because
// workers that wait for a dead target try only a few.
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
