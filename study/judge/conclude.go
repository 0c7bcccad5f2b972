package judge

import (
	"slices"

	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/record"
)

// Conclude says what a study comes to. It misses what was expected where an objective that decides does not hold or
// cannot be told, and where a search for the capacity confirmed no rate.
func Conclude(s *record.Study) record.Conclusion {
	switch {
	case s.Status == record.Interrupted || s.Status == record.Killed:
		return record.Ended
	case s.Status == record.Failed:
		return record.NoResult
	case measure.Worst(s.Validity) == measure.Invalid:
		return record.Incredible
	case s.Capacity != nil && !s.Capacity.Confirmed:
		return record.Missed
	case slices.ContainsFunc(s.Objectives, func(o record.ConfigurationObjective) bool {
		return !o.Holds && !o.Exploratory
	}):
		return record.Missed
	}
	return record.Satisfied
}

// ConcludeComparison says what a comparison comes to; it misses what was expected where it has one of the verdicts in
// unwanted.
func ConcludeComparison(r *record.ComparisonReport, unwanted ...string) record.Conclusion {
	switch {
	case measure.Worst(r.Validity) == measure.Invalid:
		return record.Incredible
	case slices.ContainsFunc(r.Comparisons, func(c record.Comparison) bool {
		return slices.Contains(unwanted, string(c.Verdict))
	}):
		return record.Missed
	}
	return record.Satisfied
}

// ConcludeHistory says what a history comes to; it misses what was expected where the latest change of some metric is
// one of unwanted.
func ConcludeHistory(h *record.HistoryReport, unwanted ...string) record.Conclusion {
	if measure.Worst(h.Validity) == measure.Invalid {
		return record.Incredible
	}
	for _, g := range h.Groups {
		for _, s := range g.Series {
			if n := len(s.Changes); n > 0 && slices.Contains(unwanted, string(s.Changes[n-1].Verdict)) {
				return record.Missed
			}
		}
	}
	return record.Satisfied
}
