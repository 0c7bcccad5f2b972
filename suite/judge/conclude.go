package judge

import (
	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/record"
)

// Conclude returns the outcome of a suite from those of its parts: the suite was ended early; else a write was lost
// that had to survive; else the outcome of the failed parts, if it is the same for all; else the worst outcome of the
// parts. A finding after the judgement can make it incredible.
func (s *Suite) Conclude() record.Conclusion {
	c := s.Record.Conclude()
	if (c == record.Satisfied || c == record.Missed) && s.Worst() == measure.Invalid {
		return record.Incredible
	}
	return c
}
