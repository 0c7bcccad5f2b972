package judge

import (
	"maps"
	"math"
	"slices"

	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/measure/stats"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/spec"
)

// effects returns the main effects of the levels of each factor, if all combinations of several factors were run or a
// balanced part of them: what a level changes on average over the levels of all other factors.
//
// The unit of repetition is the block. Within each block the effect is estimated once: in a grid as the mean of the
// log-ratios of all pairs of configurations that differ in nothing but this level, in a fraction as the coefficient of
// an additive model of the logarithms. The t test over blocks then gives the confidence. (Box, Hunter and Hunter,
// "Statistics for Experimenters", 2005, chapters 5 and 6.)
func (j *judgement) effects() []effect {
	asked := &j.study.Specification
	if asked.Combine != spec.CombineGrid && asked.Combine != spec.CombineFraction {
		return nil
	}
	factors := j.levelsOf()
	if len(factors) < 2 {
		return nil
	}
	pairs := map[[2]string][]twin{}
	for _, f := range factors {
		for _, level := range f.levels[1:] {
			pairs[[2]string{f.name, level}] = j.twins(f.name, f.levels[0], level)
		}
	}
	var all []effect
	for _, m := range j.metrics {
		if m.Unit == measure.UnitShare {
			continue // mostly zero, so there are no ratios
		}
		blocks := j.logsByBlock(m.Name)
		var model additive
		if asked.Combine == spec.CombineFraction {
			model = j.additive(factors, blocks)
		}
		for _, f := range factors {
			for _, level := range f.levels[1:] {
				e := effect{Effect: record.Effect{Factor: f.name, Level: level, Reference: f.levels[0],
					Method: record.EffectMatched}}
				at := [2]string{f.name, level}
				if asked.Combine == spec.CombineGrid {
					e.cell = j.matched(&e.Effect, m, pairs[at], blocks)
				} else {
					e.Method = record.EffectAdditive
					e.cell = j.newEffect(m, model.of(at), "no block has trials that distinguish this level from the others")
				}
				all = append(all, e)
			}
		}
	}
	return all
}

// effect is a main effect while it is being judged.
type effect struct {
	record.Effect
	cell *cell
}

func cellsOf(effects []effect) []*cell {
	var cells []*cell
	for _, e := range effects {
		cells = append(cells, e.cell)
	}
	return cells
}

// conclude returns the effects with the verdicts of their cells.
func conclude(effects []effect) []record.Effect {
	var list []record.Effect
	for _, e := range effects {
		e.Comparison = e.cell.Comparison
		e.Configuration, e.Baseline = e.Factor+"="+e.Level, e.Factor+"="+e.Reference
		list = append(list, e.Effect)
	}
	return list
}

// factorLevels is a factor with the names of its levels, the baseline's first.
type factorLevels struct {
	name   string
	levels []string
}

// levelsOf finds the factors that have several levels among the configurations, in the order of the specification.
func (j *judgement) levelsOf() []factorLevels {
	var base map[string]string
	for _, c := range j.study.Configurations {
		if c.ID == j.baseline {
			base = c.Levels
		}
	}
	var names []string
	for _, f := range j.study.Specification.Factors {
		if _, ok := base[f.Name]; ok && !slices.Contains(names, f.Name) {
			names = append(names, f.Name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(base)) {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	var list []factorLevels
	for _, name := range names {
		f := factorLevels{name, []string{base[name]}}
		for _, c := range j.study.Configurations {
			if level, ok := c.Levels[name]; ok && !slices.Contains(f.levels, level) {
				f.levels = append(f.levels, level)
			}
		}
		if len(f.levels) > 1 {
			list = append(list, f)
		}
	}
	return list
}

// logsByBlock returns the logarithms of a metric by block and configuration, without values that have none.
func (j *judgement) logsByBlock(metric string) map[int]map[string]float64 {
	blocks := map[int]map[string]float64{}
	for id, trials := range j.counted {
		for _, o := range observations(trials, metric, 1) {
			if o.block == 0 || !positive([]float64{o.value}) {
				continue
			}
			if blocks[o.block] == nil {
				blocks[o.block] = map[string]float64{}
			}
			blocks[o.block][id] = math.Log(o.value)
		}
	}
	return blocks
}

// twin is a pair of configurations that differ in the level of one factor only.
type twin struct{ base, value string }

// twins pairs the configurations of a level with those of the baseline's level that are otherwise equal.
func (j *judgement) twins(factor, reference, level string) []twin {
	rest := func(c record.Configuration) string {
		key := ""
		for _, name := range slices.Sorted(maps.Keys(c.Levels)) {
			if name != factor {
				key += name + "\x00" + c.Levels[name] + "\x00"
			}
		}
		return key
	}
	base := map[string]string{}
	for _, c := range j.study.Configurations {
		if c.Levels[factor] == reference {
			base[rest(c)] = c.ID
		}
	}
	var list []twin
	for _, c := range j.study.Configurations {
		if id, ok := base[rest(c)]; ok && c.Levels[factor] == level {
			list = append(list, twin{id, c.ID})
		}
	}
	return list
}

// matched returns the effect of a level over the pairs of configurations that differ in nothing else. A pair counts in
// all blocks that have both. If no block has both (other batches), each pair shows its change from all its trials, and
// there is no verdict.
func (j *judgement) matched(e *record.Effect, m Metric, list []twin, blocks map[int]map[string]float64) *cell {
	byPair := make([][]float64, len(list))
	var changes []float64
	for _, b := range slices.Sorted(maps.Keys(blocks)) {
		var within []float64
		for i, p := range list {
			x, okX := blocks[b][p.base]
			y, okY := blocks[b][p.value]
			if okX && okY {
				within, byPair[i] = append(within, y-x), append(byPair[i], y-x)
			}
		}
		if len(within) > 0 {
			changes = append(changes, stats.Mean(within))
		}
	}
	if len(changes) > 0 {
		addRange(e, byPair)
		return j.newEffect(m, changes, "")
	}
	addRange(e, pairsApart(list, blocks))
	return j.newEffect(m, nil, "no verdict: no block has both levels, so a drift between batches looks like the effect. order: "+
		"blocks alternates")
}

// addRange sets the range of the changes of the pairs.
func addRange(e *record.Effect, byPair [][]float64) {
	for _, d := range byPair {
		if len(d) == 0 {
			continue
		}
		e.Pairs++
		ratio := math.Exp(stats.Mean(d))
		if e.Least == nil || ratio < *e.Least {
			e.Least = record.Finite(ratio)
		}
		if e.Most == nil || ratio > *e.Most {
			e.Most = record.Finite(ratio)
		}
	}
}

// pairsApart returns the change of each pair of configurations whose trials share no block, from the means of their
// logarithms.
func pairsApart(list []twin, blocks map[int]map[string]float64) [][]float64 {
	of := map[string][]float64{}
	for _, b := range slices.Sorted(maps.Keys(blocks)) {
		for id, x := range blocks[b] {
			of[id] = append(of[id], x)
		}
	}
	changes := make([][]float64, len(list))
	for i, p := range list {
		if len(of[p.base]) > 0 && len(of[p.value]) > 0 {
			changes[i] = []float64{stats.Mean(of[p.value]) - stats.Mean(of[p.base])}
		}
	}
	return changes
}

// newEffect judges the log-ratios of blocks. none is why there are none.
func (j *judgement) newEffect(m Metric, changes []float64, none string) *cell {
	c := emptyCell(m, len(changes), len(changes), j.rules)
	c.silent = j.silent
	switch n := len(changes); {
	case n == 0:
		c.silent = none
	case n == 1:
		c.Ratio, c.silent = record.Finite(math.Exp(changes[0])), "one block does not show how much blocks differ"
	default:
		if c.Comparison.Pairs = n; n < trialsForVerdict && c.silent == "" {
			c.silent = fewBlocks
		}
		c.take(changes, j.rules)
	}
	return c
}
