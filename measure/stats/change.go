package stats

import (
	"iter"
	"maps"
	"math"
	"slices"
)

// ChangeOptions define a change in a history. The zero value has the defaults.
type ChangeOptions struct {
	P         float64 // largest p-value of a change; 0.001 if 0, small because many places are tested
	Magnitude float64 // smallest relative change of the mean: 0.02 for 2 %
	Segment   int     // smallest number of values between changes; 3 if 0, at least 2
	// Histories is the number of histories that are judged together; 1 if 0. The chance that any of them has a change
	// although nothing happened stays the same.
	Histories int
}

// ChangePoint is a change of the level of a history.
type ChangePoint struct {
	Index         int     // of the first value after the change
	Before, After float64 // means of the values between this change and its neighbours
	P             float64 // Student's two-sided p-value of the difference of the whitened values
}

// minHistory is the smallest number of values of a history with changes.
const minHistory = 10

// weaker is the factor by which the p-value of a candidate may exceed that of a change. Undetected neighbours hide a
// change, so many candidates are collected first and judged afterwards.
const weaker = 10

// ChangePoints finds the changes of the level of a history, in order. Values that resemble the ones before them are
// whitened first ([whiten]). Candidates are the places with the largest energy distance between both sides of a stretch
// of the history,
//
//	Q = nm/(n+m) · (2/(nm)·ΣΣ|x_i−y_j| − 1/n²·ΣΣ|x_i−x_j| − 1/m²·ΣΣ|y_i−y_j|)
//
// and whose sides differ by Student's t at ten times the p-value. Then the least significant candidate is dropped and
// its neighbours are joined, until all others differ at the p-value and by the magnitude, and are steps beyond a
// drift ([beyondTrend]). Nothing is random. Histories of fewer than ten values have no changes; values that are not
// finite are skipped.
// In simulations at most 5 % of the histories without a change have one, up to a correlation of 0.7 between neighbours,
// and 10 % at 0.9, or 25 % if independent noise hides the correlation. (Matteson and James, "A Nonparametric Approach
// for Multiple Change Point Analysis", JASA 2014; t tests and joining as in Fleming and others, "Hunter: Using Change
// Point Detection to Hunt for Performance Regressions", ICPE 2023.)
func ChangePoints(xs []float64, o ChangeOptions) []ChangePoint {
	values, index, unit := normalised(xs)
	o = o.withDefaults()
	if len(values) < max(minHistory, 2*o.Segment) {
		return nil
	}
	phi := resemblance(values, o.Histories)
	c := history{values: values, white: whiten(values, phi), phi: phi, o: o}
	candidates := map[int]bool{}
	for from, to := range c.stretches() {
		c.divide(from, to, candidates)
		c.searched += float64(to - from - 2*o.Segment + 1)
	}
	cuts := c.join(slices.Sorted(maps.Keys(candidates)))
	for k := range cuts { // to the best place between its neighbours, now that these are known
		if at, ok := c.split(c.around(cuts, k)); ok {
			cuts[k] = at
		}
	}
	cuts = c.join(cuts)
	var found []ChangePoint
	for k := range cuts {
		p := c.judge(cuts, k)
		p.Index = index[cuts[k]]
		p.Before, p.After = math.Ldexp(p.Before, unit), math.Ldexp(p.After, unit)
		found = append(found, p)
	}
	return found
}

// normalised returns the finite values and their indices. The values are divided by 2^unit, so that none exceeds one
// and squares neither overflow nor underflow.
func normalised(xs []float64) (values []float64, index []int, unit int) {
	largest := 0.0
	for i, x := range xs {
		if finite([]float64{x}) {
			values, index = append(values, x), append(index, i)
			largest = max(largest, math.Abs(x))
		}
	}
	_, unit = math.Frexp(largest)
	for i, x := range values {
		values[i] = math.Ldexp(x, -unit)
	}
	return values, index, unit
}

func (o ChangeOptions) withDefaults() ChangeOptions {
	if !(o.P > 0 && o.P < 1) {
		o.P = 0.001
	}
	if !(o.Magnitude > 0) {
		o.Magnitude = 0
	}
	if o.Segment == 0 {
		o.Segment = 3
	}
	o.Segment, o.Histories = max(2, o.Segment), max(1, o.Histories)
	return o
}

// history is a series of finite values.
type history struct {
	values   []float64
	white    []float64 // the values without the share phi that they keep from the one before
	phi      float64
	o        ChangeOptions
	searched float64 // places
}

// longestStretch limits the time for long histories, which grows with the square of a stretch.
const longestStretch = 512

// stretches are the whole history, its half, a quarter and so on. Each overlaps the next one by half, so that an
// episode is compared with its surroundings.
func (h history) stretches() iter.Seq2[int, int] {
	return func(yield func(from, to int) bool) {
		n := len(h.values)
		for length := min(n, longestStretch); length >= 2*h.o.Segment; length /= 2 {
			for start, last := 0, false; !last; start += max(1, length/2) {
				last = start >= n-length
				if start = min(start, n-length); !yield(start, start+length) {
					return
				}
			}
		}
	}
}

// divide adds the best place to divide values[from:to], and those in both parts.
func (h history) divide(from, to int, places map[int]bool) {
	at, ok := h.split(from, to)
	if !ok || differ(h.sides(from, at, to)) > h.o.P*weaker {
		return
	}
	places[at] = true
	h.divide(from, at, places)
	h.divide(at, to, places)
}

// sides returns the whitened values on both sides of a place. The first one after it keeps nothing of the level before.
func (h history) sides(from, at, to int) (before, after []float64) {
	after = slices.Clone(h.white[at:to])
	after[0] = (1 - h.phi) * h.values[at]
	return h.white[from:at], after
}

// split returns the place in values[from:to] with the largest energy distance; ok is false if the range is too short.
// The sums of distances are updated as values move from the right part to the left one, so the time grows with the
// square of the length, and no memory is needed.
func (h history) split(from, to int) (at int, ok bool) {
	xs, n := h.white[from:to], to-from
	if n < 2*h.o.Segment {
		return 0, false
	}
	var within, between, rest float64 // sums over pairs: both left, across, both right
	for i := range xs {
		for j := range i {
			rest += math.Abs(xs[i] - xs[j])
		}
	}
	best := math.Inf(-1)
	for k := 1; k <= n-h.o.Segment; k++ {
		var left, right float64 // distances of the value that moves
		for j, x := range xs {
			if d := math.Abs(xs[k-1] - x); j < k-1 {
				left += d
			} else {
				right += d
			}
		}
		within, between, rest = within+left, between-left+right, rest-right
		a, b := float64(k), float64(n-k)
		if q := a * b / (a + b) * (2*between/(a*b) - 2*within/(a*a) - 2*rest/(b*b)); k >= h.o.Segment && q > best {
			best, at = q, from+k
		}
	}
	return at, true
}

// join drops the least significant cut repeatedly, until all others count.
func (h history) join(cuts []int) []int {
	type verdict struct {
		p      float64
		counts bool
	}
	verdicts := make([]verdict, len(cuts))
	judge := func(k int) {
		if k >= 0 && k < len(cuts) {
			p := h.judge(cuts, k)
			verdicts[k] = verdict{p.P, h.counts(cuts, k, p)}
		}
	}
	for k := range cuts {
		judge(k)
	}
	for {
		worst := -1
		for k, v := range verdicts {
			if !v.counts && (worst < 0 || v.p > verdicts[worst].p) {
				worst = k
			}
		}
		if worst < 0 {
			return cuts
		}
		cuts, verdicts = slices.Delete(cuts, worst, worst+1), slices.Delete(verdicts, worst, worst+1)
		judge(worst - 1) // only the verdicts of its neighbours change
		judge(worst)
	}
}

// falseAlarms is the largest share of histories without changes in which any change is found.
const falseAlarms = 0.05

// rankLevel is the level of the rank test. Two adjacent outliers cause a large difference of means, but not of ranks.
const rankLevel = 0.01

// trendLevel is the level at which a step must exceed a drift. A drift alone is a change of no moment.
const trendLevel = 0.01

// counts reports whether a cut is a change: it is large enough, significant by itself, significant for the number of
// tested places (Bonferroni), and caused neither by a drift nor by single outliers.
func (h history) counts(cuts []int, k int, p ChangePoint) bool {
	from, to := h.around(cuts, k)
	short := min(cuts[k]-from, to-cuts[k]) < h.o.Segment
	small := math.Abs(p.After-p.Before) < h.o.Magnitude*math.Abs(p.Before)
	if short || small || p.P >= h.o.P || p.P*h.searched*float64(h.o.Histories) >= falseAlarms {
		return false
	}
	before, after := h.sides(from, cuts[k], to)
	if beyondTrend(before, after) > trendLevel {
		return false
	}
	rank, _ := MannWhitney(before, after)
	return rank <= max(rankLevel, leastRankP(cuts[k]-from, to-cuts[k]))
}

// leastRankP is the p-value of the rank test for sides that do not overlap: two of all n+m over n divisions.
func leastRankP(n, m int) float64 {
	divisions := 1.0
	for i := range min(n, m) {
		divisions *= float64(n+m-i) / float64(i+1)
	}
	return 2 / divisions * (1 + negligible)
}

// around returns the range between the neighbours of a cut.
func (h history) around(cuts []int, k int) (from, to int) {
	to = len(h.values)
	if k > 0 {
		from = cuts[k-1]
	}
	if k+1 < len(cuts) {
		to = cuts[k+1]
	}
	return from, to
}

// judge compares both sides of a cut.
func (h history) judge(cuts []int, k int) ChangePoint {
	from, to := h.around(cuts, k)
	before, after := h.values[from:cuts[k]], h.values[cuts[k]:to]
	p := ChangePoint{Index: cuts[k], P: differ(h.sides(from, cuts[k], to))}
	p.Before, _ = moments(before)
	p.After, _ = moments(after)
	return p
}

// differ is the two-sided p-value of Student's t with pooled variance: few values give a better estimate of one
// variance than of two. Without any spread, different levels give 0.
func differ(a, b []float64) float64 {
	na, nb := float64(len(a)), float64(len(b))
	ma, va := moments(a)
	mb, vb := moments(b)
	difference := mb - ma
	if len(a) < 1 || len(b) < 1 || na+nb < 3 || math.Abs(difference) <= negligible*max(math.Abs(ma), math.Abs(mb)) {
		return 1
	}
	pooled := ((na-1)*va + (nb-1)*vb) / (na + nb - 2)
	return TTail(difference/math.Sqrt(pooled*(1/na+1/nb)), na+nb-2)
}
