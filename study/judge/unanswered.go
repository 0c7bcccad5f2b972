package judge

import (
	"fmt"
	"slices"

	"github.com/plimsoll-bench/plimsoll/internal/figure"
	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/record"
)

// withoutAnswer leaves a cell without a verdict if the metric has no answer in some trials: these are slower than all
// others, so the others alone are no comparison.
func (c *cell) withoutAnswer(base, value int) {
	if c.silent == "" && base+value > 0 && c.Unit == measure.UnitTime && c.metric.Figure != "mean" {
		c.silent = fmt.Sprintf("too many operations did not succeed: it has no answer in %s of the baseline and in %s of the configuration",
			figure.Plural(base, "trial"), figure.Plural(value, "trial"))
	}
}

func unansweredTrials(trials []placed, metric string) (n int) {
	for _, t := range trials {
		if slices.Contains(t.NoAnswer, metric) {
			n++
		}
	}
	return n
}

func unanswered(trials []*record.Trial, metric string) (n int) {
	for _, t := range trials {
		if slices.Contains(t.NoAnswer, metric) {
			n++
		}
	}
	return n
}
