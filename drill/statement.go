package drill

import (
	"fmt"

	"github.com/plimsoll-bench/plimsoll/internal/figure"
	"github.com/plimsoll-bench/plimsoll/measure/stats"
)

// confidence is that of statements about what did not happen.
const confidence = 0.95

// statement is what n rounds allow to say, of which lossy lost acknowledged writes.
func statement(n, lossy int) string {
	switch {
	case n == 0:
		return "No round shows anything about losses: none ended with an audit and a verdict."
	case lossy > 0 && n == 1:
		return "The round lost acknowledged writes; repeat it (--repeat) to see how many others do."
	case lossy > 0:
		return fmt.Sprintf("%d of %s lost acknowledged writes.", lossy, figure.Plural(n, "round"))
	case n == 1:
		return "One round lost nothing. That shows what can happen, not what cannot: a fault that loses writes in up to 95 % of all cases would look the same in one case of twenty. Repeat it (--repeat)."
	}
	return fmt.Sprintf("No loss in %d rounds: with 95 %% confidence a fault like this one loses acknowledged writes in at most %s of cases. To say less than 1 %% takes %d rounds.",
		n, figure.Percent(stats.RareBound(n, confidence)), stats.RareTrials(0.01, confidence))
}
