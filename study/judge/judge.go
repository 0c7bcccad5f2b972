// Package judge finds significant differences: between the configurations of a study, between records, and over a
// history of records. It uses records only, so everything can be judged again.
//
// The unit of repetition is the trial (a complete run), never the operation: the variation of millions of operations
// within one run says nothing about how much another run would differ. A trial that failed or whose run is invalid does
// not count. It is shown and named in the validity.
//
// # How a comparison is decided
//
// Each metric of each configuration is compared with the baseline. The ratio configuration / baseline is estimated on
// logarithms within blocks: those of a study, or four trials of both sides that alternate in time
// ([stats.Alternations]). Where there are none, a change of the machine between the sides cannot be distinguished from
// their difference, and there is no verdict.
//
// All verdicts that are shown together are one family: the probabilities of the t tests of a difference are corrected
// after Holm, and so are those of the tests of equivalence. Then, with the margin as the smallest change that matters:
//
//  1. equivalent, if the corrected probability of the two one-sided tests is at most the level. This comes first: a
//     change that is significant but smaller than the margin is equivalent, and its note says so.
//  2. better or worse, if the corrected probability of a difference is below the level. The interval of the ratio is
//     not corrected, so it may exclude one although the corrected probability is not significant.
//  3. inconclusive otherwise. That does not mean "the same": the note says about how many trials would decide.
//
// The level is 1 − confidence. The number of trials is fixed by the plan: a study has no verdicts before the last one.
// If a study with verdicts may still grow, because trials failed or were left out, its verdicts use half of what is
// left of the level, so that all looks at it together use no more than the level. The same rule decides a study that
// ends when it has verdicts (until_decided): it is judged after 4, 8, 16 … blocks, and the intervals are those of the
// level of the look.
//
// If a value is zero (errors), there is no ratio. Then the difference is shown, and the corrected probability of the
// rank test (Mann-Whitney) decides; values that are all zero on both sides are equivalent. With fewer than three
// blocks, or if what must be equal is not, the verdict is inconclusive, with the reason.
//
// For readers who doubt the t distribution there are the probability of the rank test and, for times, medians with
// their order-statistic intervals, which need six trials. Percentiles of trials are never averaged: the value is the
// median of the trials' own percentiles.
//
// The package plans and runs nothing (study and study/conduct do).
package judge

const (
	defaultMargin     = 0.03
	DefaultConfidence = 0.95
)

type rules struct {
	margin, confidence float64
	level              float64 // of the tests: 1 − confidence, or what a study that may be continued spends of it
	interval           float64 // confidence of the intervals of ratios
	tests              int     // of the family
}

func newRules(margin, confidence float64) rules {
	if !(margin > 0 && margin < 10) {
		margin = defaultMargin
	}
	if !(confidence > 0 && confidence < 1) {
		confidence = DefaultConfidence
	}
	return rules{margin: margin, confidence: confidence, level: 1 - confidence, interval: confidence}
}

func (r rules) alpha() float64 { return 1 - r.confidence }
