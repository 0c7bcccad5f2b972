package judge

import (
	"cmp"
	"fmt"
	"math"
	"slices"

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
	// weight is that of its logarithm in the log-ratio of its block.
	weight float64
}

// cell is one comparison while it is being judged.
type cell struct {
	record.Comparison
	metric Metric
	ratio  stats.Ratio
	tested bool    // there is a ratio with its interval
	p      float64 // of a difference
	same   float64 // p-value of the test of equivalence
	notes  []string
	silent string // why there is no verdict
	rising int    // pairs of a trial of each side that rise, minus those that fall
}

func emptyCell(m Metric, n, nBase int, r rules) *cell {
	return &cell{metric: m, p: math.NaN(), same: math.NaN(), Comparison: record.Comparison{Metric: m.Name, Unit: m.Unit,
		Higher: m.Higher, Margin: r.margin, N: n, NBase: nBase}}
}

// newCell compares the trials of a configuration with those of the baseline in one metric, within the blocks that have
// each trials of both. silent is why there is no verdict whatever the values are, "" if there may be one. The verdict
// comes with [decide], when all cells of the family are known.
func newCell(m Metric, base, value []observation, silent string, r rules) *cell {
	c := emptyCell(m, len(value), len(base), r)
	c.Base, c.BaseLow, c.BaseHigh = typical(m, valuesOf(base), r)
	c.Value, c.ValueLow, c.ValueHigh = typical(m, valuesOf(value), r)
	switch {
	case len(base) == 0 && len(value) == 0:
		c.silent = "no valid trial has it"
		return c
	case len(base) == 0:
		c.silent = "no valid trial of the baseline has it"
		return c
	case len(value) == 0:
		c.silent = "no valid trial of the configuration has it"
		return c
	case len(base) < 2 || len(value) < 2:
		c.silent = "one trial on a side does not show how much trials differ"
	default:
		c.silent = silent
	}
	if positive(valuesOf(base)) && positive(valuesOf(value)) {
		c.compareRatio(base, value, r)
	} else {
		c.compareZeros(base, value)
	}
	return c
}

// count sets the number of blocks and, where they are enough for a test, the rank test of the trials in them.
func (c *cell) count(blocks [][]observation) {
	c.Pairs = len(blocks)
	var xs, ys []float64
	for _, block := range blocks {
		for _, o := range block {
			if o.weight < 0 {
				xs = append(xs, o.value)
			} else {
				ys = append(ys, o.value)
			}
		}
	}
	if left := max(c.N-len(ys), c.NBase-len(xs)); left > 0 && c.Pairs > 0 {
		c.notes = append(c.notes, plural(left, "trial")+" without counterpart in the block ignored")
	}
	if c.silent != "" {
		return
	}
	if c.Pairs < trialsForVerdict {
		c.silent = fewBlocks
	}
	if p, ok := stats.MannWhitney(xs, ys); ok && c.Pairs > 1 {
		c.RankP = record.Finite(p)
	}
	for _, x := range xs {
		for _, y := range ys {
			c.rising += cmp.Compare(y, x)
		}
	}
}

// compareZeros compares values of which some are zero, so that there is no ratio.
func (c *cell) compareZeros(base, value []observation) {
	c.count(together(base, value))
	c.Difference = record.Finite(*c.Value - *c.Base)
	switch {
	case c.silent != "":
	case !slices.ContainsFunc(slices.Concat(base, value), func(o observation) bool { return o.value != 0 }):
		c.Verdict = record.Equivalent
		c.notes = append(c.notes, "zero in every trial of both")
	default:
		c.notes = append(c.notes, "some values are zero, so there is no ratio. The rank test decides")
		if c.RankP == nil {
			c.silent = "these trials give no test"
			return
		}
		c.p = *c.RankP
	}
}

// compareRatio estimates the ratio within blocks.
func (c *cell) compareRatio(base, value []observation, r rules) {
	blocks := together(base, value)
	c.count(blocks)
	if c.Pairs > 1 {
		c.take(logRatios(blocks), r)
	}
	if !c.tested {
		c.Ratio = record.Finite(*c.Value / *c.Base)
	}
}

// take sets the ratio of blocks, if there is one.
func (c *cell) take(logs []float64, r rules) {
	if c.ratio, c.tested = stats.BlockRatio(logs, r.interval); !c.tested {
		c.silent = "these trials give no interval of the ratio"
		return
	}
	c.Ratio, c.Low, c.High = record.Finite(c.ratio.Ratio), record.Finite(c.ratio.Low), record.Finite(c.ratio.High)
	c.p, c.same = c.ratio.P, stats.EquivalenceP(c.ratio, r.margin)
	c.P = record.Finite(c.p)
}

// decide gives the cells of a family their verdicts: all those that are shown together, because any of them may be the
// one that is believed, or the one that decides the exit code.
func decide(cells []*cell, r rules) {
	var tested []*cell
	var differences, equivalences []float64
	for _, c := range cells {
		if !math.IsNaN(c.p) && c.silent == "" {
			tested = append(tested, c)
			differences, equivalences = append(differences, c.p), append(equivalences, c.same)
		}
	}
	different, same := stats.Holm(differences), stats.Holm(equivalences)
	for i, c := range tested {
		c.Adjusted = record.Finite(different[i])
		if c.tested {
			c.Equivalence = record.Finite(same[i])
		}
	}
	r.tests = len(tested)
	for _, c := range cells {
		c.decide(r)
		c.Note = strings.Join(c.notes, "; ")
	}
}

func (c *cell) decide(r rules) {
	significant := c.Adjusted != nil && *c.Adjusted < r.level
	up := c.rising > 0 // the configuration has the greater values
	if c.tested {
		up = c.ratio.Ratio > 1
	}
	switch {
	case c.silent != "":
		c.Verdict = record.Inconclusive
		c.notes = append(c.notes, c.silent)
	case c.Verdict != "":
	case c.Equivalence != nil && *c.Equivalence <= r.level:
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
	if c.tested && c.Value != nil && c.Base != nil && (*c.Value-*c.Base)*(c.ratio.Ratio-1) < 0 {
		c.notes = append(c.notes, "the two values differ in the opposite direction, because each is that of all trials of its "+
			"side, but the change is the mean of the changes within blocks")
	}
}

// trialsForVerdict is the smallest number of blocks for a verdict. The spread of two is unreliable, and one disturbed
// trial of two is not recognised.
const trialsForVerdict = 3

var fewBlocks = fmt.Sprintf("a verdict needs at least %d blocks with trials of both", trialsForVerdict)

// maxAdvised is the greatest number of trials to advise.
const maxAdvised = 1000

// askForMore notes how many trials would find a change as large as the margin with a probability of 80 %, if trials
// differ as much as these. They are those of another study: adding trials until there is a verdict finds differences
// where there are none.
func (c *cell) askForMore(r rules) {
	n, ok := needed(c.ratio, r)
	margin := figure.Limit(r.margin)
	if c.ratio.N > 0 {
		n *= max(1, c.N/c.ratio.N) // of a block
	}
	switch {
	case !c.tested || !ok:
	case n <= max(c.N, c.NBase):
		c.notes = append(c.notes, "borderline. Repeat it with more trials, from the beginning")
	case n > maxAdvised:
		c.notes = append(c.notes, "trials differ too much to find a change of "+margin+" by more trials")
	default:
		c.notes = append(c.notes, fmt.Sprintf("a new study with about %d trials of each would find a change of %s", n, margin))
	}
}

// percent formats a chosen share: "3 %".
// needed is the number of blocks that find a change as large as the margin with a probability of 80 %, as one of as
// many tests (the strictest step of Holm). The standard deviation of one log-ratio is that of the estimate times the
// root of its number of blocks.
//
//	n = ((z(1−α/2) + z(0.8)) · s / ln(1+margin))²
//
// (the usual formula of sample sizes with normal quantiles; the t distribution asks for one or two more, added here).
func needed(ratio stats.Ratio, r rules) (int, bool) {
	const power = 0.8416 // z(0.8)
	s := ratio.SE * math.Sqrt(float64(ratio.N))
	if !(s > 0) || math.IsInf(s, 0) {
		return 0, false
	}
	z := stats.TQuantile(1-r.alpha()/float64(max(1, r.tests))/2, 1e9)
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

// together returns the complete blocks: the weights of each side sum to 1.
func together(base, value []observation) (blocks [][]observation) {
	of := map[int][]observation{}
	var order []int
	for _, o := range slices.Concat(base, value) {
		if o.block == 0 {
			continue
		}
		if of[o.block] == nil {
			order = append(order, o.block)
		}
		of[o.block] = append(of[o.block], o)
	}
	for _, b := range order {
		sum, size := 0.0, 0.0
		for _, o := range of[b] {
			sum, size = sum+o.weight, size+math.Abs(o.weight)
		}
		if sum == 0 && size == 2 {
			blocks = append(blocks, of[b])
		}
	}
	return blocks
}

// logRatios returns the logarithm of the ratio in each block.
func logRatios(blocks [][]observation) []float64 {
	logs := make([]float64, len(blocks))
	for i, block := range blocks {
		for _, o := range block {
			logs[i] += o.weight * math.Log(o.value)
		}
	}
	return logs
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
