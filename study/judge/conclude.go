package judge

import (
	"slices"

	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/record"
)

// Conclude returns the outcome of a study. It is [record.Missed] if a deciding objective does not hold or is not known,
// or if a capacity search confirmed no rate.
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

// ConcludeComparison returns the outcome of a comparison. It is [record.Missed] if it has one of the unwanted verdicts.
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

// ConcludeHistory returns the outcome of a history. It is [record.Missed] if the latest change of a metric has one of
// the unwanted verdicts.
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
