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
// logarithms: within the blocks that have a trial of both (t of the log-ratios) or, without blocks, from both groups
// (Welch's t on logarithms). The probabilities of all cells of a sweep with the same metric are corrected together
// after Holm. Then, with the margin as the smallest change that matters:
//
//  1. equivalent, if the 90 % interval of the ratio lies within the margin (two one-sided tests at 5 %). This comes
//     first: a change that is significant but smaller than the margin is equivalent, and its note says so.
//  2. better or worse, if the corrected probability is below 1 − confidence. The interval of the ratio is not corrected, so
//     it may exclude one although the corrected probability is not significant.
//  3. inconclusive otherwise. That does not mean "the same": the note says about how many trials would decide.
//
// If a value is zero (errors), there is no ratio. Then the difference is shown, and the corrected probability of the
// rank test (Mann-Whitney) decides; values that are all zero on both sides are equivalent. With fewer than three pairs,
// or three trials on each side without pairs, or if what must be equal is not, the verdict is inconclusive, with the
// reason.
//
// For readers who doubt the t distribution there are the probability of the rank test and, for times, medians with
// their order-statistic intervals, which need six trials. Percentiles of trials are never averaged: the value is the
// median of the trials' own percentiles.
//
// The package plans and runs nothing (study and study/conduct do).
package judge

const (
	DefaultMargin     = 0.03
	DefaultConfidence = 0.95
)

type rules struct {
	margin, confidence float64
}

func newRules(margin, confidence float64) rules {
	if !(margin > 0 && margin < 10) {
		margin = DefaultMargin
	}
	if !(confidence > 0 && confidence < 1) {
		confidence = DefaultConfidence
	}
	return rules{margin, confidence}
}

func (r rules) alpha() float64 { return 1 - r.confidence }
