package drill

import (
	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/spec"
)

// Conclude says what a drill comes to. A lost write counts more than whatever ended the drill.
func Conclude(d *record.Drill) record.Conclusion {
	for i := range d.Rounds {
		r := &d.Rounds[i]
		if l := r.Ledger; r.Verdict == record.Violated && l != nil && l.LostWrites() > 0 && !mayBeLost(r.Expect, l) {
			return record.WritesLost
		}
	}
	switch {
	case d.Status == record.Interrupted || d.Status == record.Killed:
		return record.Ended
	case d.Status == record.Failed:
		return record.NoResult
	case d.Verdict == record.Violated:
		return record.Missed
	case d.Verdict != record.Holds || measure.Worst(d.Validity) == measure.Invalid:
		return record.Incredible
	}
	return record.Satisfied
}

// mayBeLost says whether what a ledger found lost was allowed to be.
func mayBeLost(x spec.Expect, l *record.LedgerResult) bool {
	return x.Loss == spec.LossAny || x.Loss == spec.LossWindow && l.LossWindow <= int64(x.LossWindow)
}
