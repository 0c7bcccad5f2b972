package drill

import (
	"fmt"
	"math"

	"github.com/plimsoll-bench/plimsoll/internal/figure"
)

// upperBound is the highest probability of an event per trial that is compatible, at 95 %, with its having happened in
// none of n trials: (1-p)^n = 0.05. For many trials that is about 3/n, the rule of three.
func upperBound(n int) float64 { return 1 - math.Pow(0.05, 1/float64(n)) }

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
	return fmt.Sprintf("No loss in %d rounds: with 95 %% confidence a fault like this one loses acknowledged writes in at most %s of cases. %s",
		n, figure.Percent(upperBound(n)), "To say less than 1 % takes 299 rounds.")
}
