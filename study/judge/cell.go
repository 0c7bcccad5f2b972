package judge

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/plimsoll-bench/plimsoll/internal/figure"
	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/measure/stats"
	"github.com/plimsoll-bench/plimsoll/record"
)

// observation is the value of one valid trial in one metric.
type observation struct {
	value float64
	block int // trials of the same block ran close in time; 0 is none
}

// cell is one comparison while it is being judged.
type cell struct {
	record.Comparison
	metric Metric
	ratio  stats.Ratio
	tested bool // there is a ratio with its interval
	p      float64
	notes  []string
	silent string // why there is no verdict
	rankUp bool   // more pairs of trials rise than fall, where only ranks can be compared
}

func emptyCell(m Metric, n, nBase int, r rules) *cell {
	return &cell{metric: m, p: math.NaN(), Comparison: record.Comparison{Metric: m.Name, Unit: m.Unit, Higher: m.Higher,
		Margin: r.margin, N: n, NBase: nBase}}
}

// newCell compares the trials of a configuration with those of the baseline in one metric. Blocks count only if
// paired is true. The verdict comes with [decide], when all cells of the metric are known.
func newCell(m Metric, base, value []observation, paired bool, r rules) *cell {
	c := emptyCell(m, len(value), len(base), r)
	xs, ys := valuesOf(base), valuesOf(value)
	c.Base, c.BaseLow, c.BaseHigh = typical(m, xs, r)
	c.Value, c.ValueLow, c.ValueHigh = typical(m, ys, r)
	few := len(xs) < 2 || len(ys) < 2
	if p, ok := stats.MannWhitney(xs, ys); ok && !few {
		c.RankP = record.Finite(p)
	}
	switch {
	case len(xs) == 0 && len(ys) == 0:
		c.silent = "no valid trial has it"
		return c
	case len(xs) == 0:
		c.silent = "no valid trial of the baseline has it"
		return c
	case len(ys) == 0:
		c.silent = "no valid trial of the configuration has it"
		return c
	case few:
		c.silent = "one trial on a side does not show how much trials differ"
	}
	switch {
	case positive(xs) && positive(ys) && few:
		c.Ratio = record.Finite(*c.Value / *c.Base)
	case positive(xs) && positive(ys):
		c.compareRatio(base, value, paired, r)
	default:
		c.compareZeros(xs, ys)
	}
	return c
}

// compareZeros compares values of which some are zero, so that there is no ratio.
func (c *cell) compareZeros(xs, ys []float64) {
	c.Difference = record.Finite(*c.Value - *c.Base)
	switch {
	case c.silent != "":
	case !slices.ContainsFunc(slices.Concat(xs, ys), func(x float64) bool { return x != 0 }):
		c.Verdict = record.Equivalent
		c.notes = append(c.notes, "zero in every trial of both")
	default:
		c.notes = append(c.notes, "some values are zero, so there is no ratio. The rank test decides")
		rising := 0 // pairs of a trial of each side that rise, minus those that fall
		for _, x := range xs {
			for _, y := range ys {
				rising += cmp.Compare(y, x)
			}
		}
		c.rankUp = rising > 0
		if c.RankP != nil {
			c.p = *c.RankP
		}
	}
}

// compareRatio estimates the ratio within blocks, or from both groups.
func (c *cell) compareRatio(base, value []observation, paired bool, r rules) {
	var xs, ys []float64
	if paired {
		xs, ys = pairs(base, value)
	}
	if len(xs) >= 2 {
		c.Pairs = len(xs)
		if left := max(len(base), len(value)) - c.Pairs; left > 0 {
			c.notes = append(c.notes, figure.Plural(left, "trial")+" without counterpart in the block ignored")
		}
		c.take(stats.PairedRatio(xs, ys, r.confidence))
	} else {
		if paired {
			c.notes = append(c.notes, "fewer than two blocks have trials of both, so they are compared as groups")
		}
		c.take(stats.UnpairedRatio(valuesOf(base), valuesOf(value), r.confidence))
	}
	if !c.tested {
		c.Ratio = record.Finite(*c.Value / *c.Base)
	}
}

// take sets the ratio, if there is one.
func (c *cell) take(ratio stats.Ratio, ok bool) {
	if c.ratio, c.tested = ratio, ok; !ok {
		c.silent = "these trials give no interval of the ratio"
		return
	}
	c.p = ratio.P
	c.Ratio, c.P = record.Finite(ratio.Ratio), record.Finite(ratio.P)
	c.Low, c.High = record.Finite(ratio.Low), record.Finite(ratio.High)
}

// decide gives the cells of a sweep with the same metric their verdicts.
func decide(cells []*cell, r rules) {
	var ps []float64
	var tested []*cell
	for _, c := range cells {
		if !math.IsNaN(c.p) && c.silent == "" {
			ps, tested = append(ps, c.p), append(tested, c)
		}
	}
	for i, adjusted := range stats.Holm(ps) {
		tested[i].Adjusted = record.Finite(adjusted)
	}
	for _, c := range cells {
		c.decide(r)
		c.Note = strings.Join(c.notes, "; ")
	}
}

func (c *cell) decide(r rules) {
	significant := c.Adjusted != nil && *c.Adjusted < r.alpha()
	up := c.rankUp // the configuration has the greater values
	if c.tested {
		up = c.ratio.Ratio > 1
	}
	repetitions, unit, changes := min(c.N, c.NBase), "trials on each side", "logarithms"
	if c.Pairs > 0 {
		repetitions, unit, changes = c.Pairs, "blocks with trials of both", "changes within blocks"
	}
	switch {
	case c.silent != "":
		c.Verdict = record.Inconclusive
		c.notes = append(c.notes, c.silent)
	case c.Verdict != "":
	case c.tested && repetitions < trialsForVerdict:
		c.Verdict = record.Inconclusive
		c.notes = append(c.notes, fmt.Sprintf("a verdict needs at least %d %s", trialsForVerdict, unit))
	case c.tested && stats.Equivalent(c.ratio, r.margin):
		c.Verdict = record.Equivalent
		if significant {
			c.notes = append(c.notes, "a significant change, but smaller than the margin")
		}
	case significant && up == c.Higher:
		c.Verdict = record.Better
	case significant:
		c.Verdict = record.Worse
	default:
		c.Verdict = record.Inconclusive
		c.askForMore(r)
	}
	claimed := c.Verdict == record.Better || c.Verdict == record.Worse
	if c.tested && c.Pairs == 0 && claimed && c.RankP != nil && *c.RankP > 2*r.alpha() {
		c.notes = append(c.notes, "the rank test does not confirm it. See the single trials")
	}
	if c.tested && c.Value != nil && c.Base != nil && (*c.Value-*c.Base)*(c.ratio.Ratio-1) < 0 {
		c.notes = append(c.notes, "the two values differ in the opposite direction, because each is that of all trials of its "+
			"side, but the change is the mean of the "+changes)
	}
}

// trialsForVerdict is the smallest number of pairs, or of trials on each side, for a verdict. The spread of two is
// unreliable, and one disturbed trial of two is not recognised.
const trialsForVerdict = 3

// maxAdvised is the greatest number of trials to advise.
const maxAdvised = 1000

// askForMore notes how many trials would find a change as large as the margin with a probability of 80 %, if trials
// differ as much as these.
func (c *cell) askForMore(r rules) {
	n, ok := needed(c.ratio, r)
	margin := percent(r.margin)
	switch {
	case !c.tested || !ok:
	case min(c.N, c.NBase) < 3:
		c.notes = append(c.notes, "more trials are needed; from so few, how many is not known")
	case n <= max(c.N, c.NBase):
		c.notes = append(c.notes, "borderline; a few more trials would decide")
	case n > maxAdvised:
		c.notes = append(c.notes, "trials differ too much to find a change of "+margin+" by more trials")
	default:
		c.notes = append(c.notes, fmt.Sprintf("about %d trials of each would find a change of %s", n, margin))
	}
}

// percent formats a chosen share: "3 %".
func percent(share float64) string { return strconv.FormatFloat(share*100, 'g', 3, 64) + " %" }

// needed is the number of trials of each configuration that find a change as large as the margin with a probability
// of 80 %. The standard deviation of one log-ratio is that of the estimate times the root of what it was made of.
//
//	n = ((z(1−α/2) + z(0.8)) · s / ln(1+margin))²
//
// (the usual formula of sample sizes with normal quantiles; the t distribution asks for one or two more, added here).
func needed(ratio stats.Ratio, r rules) (int, bool) {
	const power = 0.8416 // z(0.8)
	n := float64(ratio.N)
	if !ratio.Paired {
		n /= 2 // both sides
	}
	s := ratio.SE * math.Sqrt(n)
	if !(s > 0) || math.IsInf(s, 0) {
		return 0, false
	}
	z := stats.TQuantile(1-r.alpha()/2, 1e9)
	x := math.Pow((z+power)*s/math.Log1p(r.margin), 2) + 2
	return int(math.Ceil(min(x, 1e9))), true
}

// typical returns the representative value of several trials with its interval, if there is one: the geometric mean of
// rates, the median of everything else.
func typical(m Metric, xs []float64, r rules) (value, low, high *float64) {
	if len(xs) == 0 {
		return nil, nil, nil
	}
	middle := measure.Median(xs)
	_, iv, ok := stats.MedianInterval(xs, r.confidence)
	if m.Unit == measure.UnitRate && positive(xs) {
		var mean float64
		if mean, iv, ok = stats.GeoMean(xs, r.confidence); ok {
			middle = mean
		}
	}
	if !ok {
		return record.Finite(middle), nil, nil
	}
	return record.Finite(middle), record.Finite(iv.Low), record.Finite(iv.High)
}

// pairs returns the values of the blocks that have both, in the order of the baseline.
func pairs(base, value []observation) (xs, ys []float64) {
	other := map[int]float64{}
	for _, o := range value {
		if o.block != 0 {
			other[o.block] = o.value
		}
	}
	for _, o := range base {
		if y, ok := other[o.block]; ok && o.block != 0 {
			xs, ys = append(xs, o.value), append(ys, y)
			delete(other, o.block)
		}
	}
	return xs, ys
}

func valuesOf(list []observation) []float64 {
	xs := make([]float64, len(list))
	for i, o := range list {
		xs[i] = o.value
	}
	return xs
}

func positive(xs []float64) bool {
	return !slices.ContainsFunc(xs, func(x float64) bool { return !(x > 0) || math.IsInf(x, 0) })
}
