// Package judge says what is really different: between the configurations of a study, between records, and in the
// course of a history of records. It judges from records alone, so that everything can be judged again.
//
// The unit of repetition is the trial (a whole run), never the operation: how much millions of operations of one run
// vary says nothing about how much another run would differ. A trial whose run is invalid, or that failed, counts for
// nothing; it is counted, shown and named in the validity.
//
// # How a comparison is decided
//
// Each metric of each configuration is held against the baseline. The ratio configuration / baseline is estimated on
// logarithms: within the blocks that have a trial of both (t of the log-ratios), or, where there are no blocks, from
// both groups (Welch's t on logarithms). The probabilities of all cells of a sweep with the same metric are corrected
// together after Holm. Then, with the margin as the smallest change that matters:
//
//  1. equivalent, if the 90 % interval of the ratio lies within the margin (two one-sided tests at 5 %). This comes
//     first: a change that is certain but too small to matter is equivalent, and its note says so.
//  2. better or worse, if the corrected probability is below 1 − confidence, and so is the interval of the ratio off
//     one. The interval itself is not corrected; it may exclude one where the corrected probability says nothing.
//  3. inconclusive otherwise. It does not mean "the same": more trials would tell, and the note says about how many.
//
// Where a ratio makes no sense, because a value is zero (errors), the difference is shown, and the corrected
// probability of the rank test (Mann-Whitney) decides; values that are all zero on both sides are equivalent. With
// fewer than three pairs, or three trials on each side where there are no pairs, or where what must be equal is not,
// nothing is claimed: the verdict is inconclusive, with the reason.
//
// Beside it stand, for everyone who doubts the t distribution, the probability of the rank test and, for times,
// medians with their order-statistic intervals, which need six trials. Percentiles of trials are never averaged: the
// value shown is the median of the trials' own percentiles.
//
// It plans and runs nothing (package study and study/conduct do), and writes no text for people beyond findings.
package judge

// The margin and the confidence where nobody asked for others.
const (
	DefaultMargin     = 0.03
	DefaultConfidence = 0.95
)

// rules are the numbers that a judgement is made with.
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
