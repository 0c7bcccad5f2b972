package judge

import (
	"maps"
	"math"
	"slices"
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
		sums := newNormal(place)
		for i := range j.study.Configurations {
			c := &j.study.Configurations[i]
			y, ok := blocks[b][c.ID]
			if !ok {
				continue
			}
			row := []int{0}
			for _, f := range factors {
				if at, ok := column[[2]string{f.name, c.Levels[f.name]}]; ok {
					row = append(row, at)
				}
			}
			sums.add(row, y)
		}
		if x, ok := sums.solve(); ok {
			model.coefficients = append(model.coefficients, x)
		}
	}
	return model
}

// normal is the normal equations of least squares with rows of zeros and ones.
type normal struct {
	a [][]float64 // the last column is the right side
	n int
}

func newNormal(size int) *normal {
	s := &normal{a: make([][]float64, size)}
	for i := range s.a {
		s.a[i] = make([]float64, size+1)
	}
	return s
}

// add adds an observation, given by the columns that are one.
func (s *normal) add(ones []int, y float64) {
	s.n++
	for _, i := range ones {
		for _, k := range ones {
			s.a[i][k]++
		}
		s.a[i][len(s.a)] += y
	}
}

// solve returns ok false if the observations do not determine all coefficients.
func (s *normal) solve() (x []float64, ok bool) {
	const singular = 1e-9 // counts are whole numbers, so a pivot is either far larger or zero
	size := len(s.a)
	if s.n < size {
		return nil, false
	}
	for i := range size {
		best := i
		for k := i + 1; k < size; k++ {
			if math.Abs(s.a[k][i]) > math.Abs(s.a[best][i]) {
				best = k
			}
		}
		s.a[i], s.a[best] = s.a[best], s.a[i]
		if math.Abs(s.a[i][i]) < singular {
			return nil, false
		}
		for k := range size {
			if k == i {
				continue
			}
			factor := s.a[k][i] / s.a[i][i]
			for c := i; c <= size; c++ {
				s.a[k][c] -= factor * s.a[i][c]
			}
		}
	}
	x = make([]float64, size)
	for i := range size {
		x[i] = s.a[i][size] / s.a[i][i]
	}
	return x, true
}
