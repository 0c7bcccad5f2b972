package stats

import (
	"iter"
	"maps"
	"math"
	"slices"
)

// ChangeOptions say what counts as a change in a history. The zero value means the defaults.
type ChangeOptions struct {
	// P is the largest p-value of a change; 0 means 0.001, which is small because the place of a change is sought.
	P float64
	// Magnitude is the smallest relative change of the mean that counts: 0.02 for 2 %.
	Magnitude float64
	// Segment is the smallest number of values between changes; 0 means 3. Fewer than two are never told apart.
	Segment int
}

// ChangePoint is where a history changes its level.
type ChangePoint struct {
	// Index is that of the first value after the change.
	Index int
	// Before and After are the means of the values between this change and its neighbours.
	Before, After float64
	// Change is After/Before − 1; 0 if Before is 0, and against the amount of Before if it is negative.
	Change float64
	// P is Student's two-sided p-value of the difference.
	P float64
}

// minHistory is the number of values below which a history is too short to speak of changes.
const minHistory = 10

// weaker is how much larger the p-value of a candidate may be than that of a change: neighbours that are not yet told
// apart hide a change, so that candidates are collected generously and judged afterwards.
const weaker = 10

// ChangePoints finds where the level of a history of independent values changes, in order. Candidates are the places
// that divide some stretch of the history best by the distance of energies of both sides,
//
//	Q = nm/(n+m) · (2/(nm)·ΣΣ|x_i−y_j| − 1/n²·ΣΣ|x_i−x_j| − 1/m²·ΣΣ|y_i−y_j|)
//
// and whose sides differ by Student's t at ten times the p-value; then the least significant is dropped, its
// neighbours joined, until all that are left differ at the p-value and by the magnitude. Nothing is drawn at random:
// the same history gives the same changes. Histories of fewer than ten values have none; values that are not finite are
// skipped. Where neighbours in time resemble each other, changes are found too often. (Matteson and James, "A
// Nonparametric Approach for Multiple Change Point Analysis", JASA 2014; t tests and joining as in Fleming and others,
// "Hunter: Using Change Point Detection to Hunt for Performance Regressions", ICPE 2023.)
func ChangePoints(xs []float64, o ChangeOptions) []ChangePoint {
	values, index, unit := normalised(xs)
	o = o.withDefaults()
	if len(values) < max(minHistory, 2*o.Segment) {
		return nil
	}
	c := history{values: values, o: o}
	c.searched = c.places()
	cuts := c.join(c.candidates())
	cuts = c.join(c.settle(cuts))
	var found []ChangePoint
	for k := range cuts {
		p := c.judge(cuts, k)
		p.Index = index[cuts[k]]
		p.Before, p.After = math.Ldexp(p.Before, unit), math.Ldexp(p.After, unit)
		found = append(found, p)
	}
	return found
}

// normalised returns the finite values, divided by 2^unit so that none exceeds one and squares neither overflow nor
// vanish, and their places.
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
	o.Segment = max(2, o.Segment)
	return o
}

// history is a series of finite values and what counts as a change in it.
type history struct {
	values   []float64
	o        ChangeOptions
	searched float64 // places
}

// candidates collects places that divide some stretch significantly.
func (h history) candidates() []int {
	places := map[int]bool{}
	for from, to := range h.stretches() {
		h.divide(from, to, places)
	}
	return slices.Sorted(maps.Keys(places))
}

// longestStretch bounds the time for long histories, which grows with the square of a stretch. A change that so many
// values do not show is not worth telling.
const longestStretch = 512

// stretches are the whole history, its half, a quarter and so on, each overlapping the next by half, so that an episode
// is seen beside what surrounds it.
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

// places is how many places of how many stretches are looked at.
func (h history) places() float64 {
	sum := 0
	for from, to := range h.stretches() {
		sum += to - from - 2*h.o.Segment + 1
	}
	return float64(sum)
}

// divide adds the place that divides values[from:to] best, and those in both parts.
func (h history) divide(from, to int, places map[int]bool) {
	at, ok := h.split(from, to)
	if !ok || differ(h.values[from:at], h.values[at:to]) > h.o.P*weaker {
		return
	}
	places[at] = true
	h.divide(from, at, places)
	h.divide(at, to, places)
}

// split returns the place in values[from:to] with the largest distance of energies; ok is false if it is too short. The
// sums of distances are carried along as values move from the right part to the left one, so that a split takes
// time that grows with the square of the length, and no memory.
func (h history) split(from, to int) (at int, ok bool) {
	xs, n := h.values[from:to], to-from
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

// join drops the least significant cut, over and over, until all that are left count.
func (h history) join(cuts []int) []int {
	cuts = slices.Clone(cuts)
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
		judge(worst - 1) // only its neighbours have new ones
		judge(worst)
	}
}

// falseAlarms is how many histories in which nothing changes may have a change called at all.
const falseAlarms = 0.05

// rankLevel is what the rank test has to confirm. Two wild values next to each other make a large difference of means,
// but not of ranks.
const rankLevel = 0.01

// counts says whether a cut is a change: it is as large as asked for, significant by itself, significant given that it
// was sought in as many places as the history has (Bonferroni), and not the work of single wild values.
func (h history) counts(cuts []int, k int, p ChangePoint) bool {
	from, to := h.around(cuts, k)
	short := min(cuts[k]-from, to-cuts[k]) < h.o.Segment
	small := math.Abs(p.After-p.Before) < h.o.Magnitude*math.Abs(p.Before)
	if short || small || p.P >= h.o.P || p.P*h.searched >= falseAlarms {
		return false
	}
	rank, _ := MannWhitney(h.values[from:cuts[k]], h.values[cuts[k]:to])
	return rank <= max(rankLevel, leastRankP(cuts[k]-from, to-cuts[k]))
}

// leastRankP is the p-value of the rank test of sides that do not overlap: two of all n+m over n divisions.
func leastRankP(n, m int) float64 {
	divisions := 1.0
	for i := range min(n, m) {
		divisions *= float64(n+m-i) / float64(i+1)
	}
	return 2 / divisions * (1 + negligible)
}

// settle moves each cut to the best place between its neighbours, now that these are known.
func (h history) settle(cuts []int) []int {
	cuts = slices.Clone(cuts)
	for k := range cuts {
		from, to := h.around(cuts, k)
		if at, ok := h.split(from, to); ok {
			cuts[k] = at
		}
	}
	return cuts
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
	p := ChangePoint{Index: cuts[k], P: differ(before, after)}
	p.Before, _ = moments(before)
	p.After, _ = moments(after)
	if change := (p.After - p.Before) / math.Abs(p.Before); finite([]float64{change}) {
		p.Change = change
	}
	return p
}

// differ is the two-sided p-value of Student's t with pooled variance: with the few values next to a change, one
// variance for both sides is better known than two. Without any spread, levels that differ give 0.
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
