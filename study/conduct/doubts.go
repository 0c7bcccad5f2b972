package conduct

import (
	"strings"

	"github.com/plimsoll-bench/plimsoll/measure"
)

// doubtful hands on why a search for a capacity does not trust its own result.
func (c *conductor) doubtful() []measure.Finding {
	if c.study.Capacity == nil || len(c.study.Capacity.Doubts) == 0 {
		return nil
	}
	return []measure.Finding{{ID: "capacity-doubtful", Severity: measure.Warning,
		Text: "the capacity is in doubt although it was confirmed: " + strings.Join(c.study.Capacity.Doubts, "; ")}}
}
