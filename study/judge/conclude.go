package judge

import (
	"slices"

	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/record"
)

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
