package judge

import (
	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/record"
)

// Conclude returns the outcome of a suite from those of its parts: the suite was ended early; else a write was lost
// that had to survive; else the outcome of the failed parts, if it is the same for all; else the worst outcome of the
// parts. A finding after the judgement can make it incredible.
func (s *Suite) Conclude() record.Conclusion {
	c := concludeParts(s.Record)
	if (c == record.Satisfied || c == record.Missed) && s.Worst() == measure.Invalid {
		return record.Incredible
	}
	return c
}

func concludeParts(s *record.Suite) record.Conclusion {
	switch s.Status {
	case record.Interrupted, record.Killed:
		return record.Ended
	case record.Failed:
		return record.NoResult
	}
	var failed record.Conclusion
	worst := record.Satisfied
	rank := map[record.Conclusion]int{record.Missed: 1, record.Incredible: 2, record.WritesLost: 3}
	for _, p := range s.Parts {
		switch {
		case p.Status == record.PartFailed && (failed == "" || failed == p.Conclusion):
			failed = p.Conclusion
		case p.Status == record.PartFailed:
			failed = record.NoResult
		case p.Status == record.PartDone && rank[p.Conclusion] > rank[worst]:
			worst = p.Conclusion
		}
	}
	if worst == record.WritesLost || failed == "" {
		return worst
	}
	return failed
}
