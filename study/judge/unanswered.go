package judge

import (
	"fmt"
	"slices"

	"github.com/plimsoll-bench/plimsoll/internal/figure"
	"github.com/plimsoll-bench/plimsoll/measure"
)

// withoutAnswer leaves a cell without a verdict if its metric has no answer in some trials: these are slower than all
// others, so the others alone are no comparison. noAnswer returns the metrics without an answer in a trial.
func withoutAnswer[T any](c *cell, base, value []T, noAnswer func(T) []string) {
	count := func(trials []T) (n int) {
		for _, t := range trials {
			if slices.Contains(noAnswer(t), c.metric.Name) {
				n++
			}
		}
		return n
	}
	of, here := count(base), count(value)
	if c.silent == "" && of+here > 0 && c.Unit == measure.UnitTime && c.metric.Figure != "mean" {
		c.silent = fmt.Sprintf("too many operations did not succeed: it has no answer in %s of the baseline and in %s of the configuration",
			figure.Plural(of, "trial"), figure.Plural(here, "trial"))
	}
}
