package judge

import (
	"maps"
	"slices"

	"github.com/plimsoll-bench/plimsoll/measure/stats"
)

// additive holds the effects of all levels, estimated once per block: the coefficients of the levels in the model
//
//	ln y = mean + Σ effects of the levels of the factors
//
// fitted by least squares to the trials of the block. It has no interactions: a fraction of a grid cannot
// distinguish them from main effects. Blocks whose trials do not determine the model are left out.
type additive struct {
	column       map[[2]string]int // by factor and level
	coefficients [][]float64       // of each block
}

// of returns the effect of a level in each block.
func (a *additive) of(level [2]string) []float64 {
	var changes []float64
	for _, x := range a.coefficients {
		changes = append(changes, x[a.column[level]])
	}
	return changes
}

func (j *judgement) additive(factors []factorLevels, blocks map[int]map[string]float64) additive {
	column, place := map[[2]string]int{}, 1
	for _, f := range factors {
		for _, level := range f.levels[1:] {
			column[[2]string{f.name, level}] = place
			place++
		}
	}
	model := additive{column: column}
	for _, b := range slices.Sorted(maps.Keys(blocks)) {
		var rows [][]float64
		var logs []float64
		for i := range j.study.Configurations {
			c := &j.study.Configurations[i]
			y, ok := blocks[b][c.ID]
			if !ok {
				continue
			}
			row := make([]float64, place)
			row[0] = 1
			for _, f := range factors {
				if at, ok := column[[2]string{f.name, c.Levels[f.name]}]; ok {
					row[at] = 1
				}
			}
			rows, logs = append(rows, row), append(logs, y)
		}
		if len(rows) == 0 {
			continue
		}
		if x, ok := stats.LeastSquares(rows, logs); ok {
			model.coefficients = append(model.coefficients, x)
		}
	}
	return model
}
