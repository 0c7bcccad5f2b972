package stats

import (
	"cmp"
	"math"
)

// Middle is the geometric mean of values above 0, and 1 of none.
func Middle(xs []float64) float64 {
	sum := 0.0
	for _, x := range xs {
		sum += math.Log(x)
	}
	return math.Exp(sum / cmp.Or(float64(len(xs)), 1))
}

// LeastSquares minimises Σ(y − Σcⱼrⱼ)². ok is false if the rows do not determine all coefficients.
func LeastSquares(rows [][]float64, y []float64) (c []float64, ok bool) {
	inverse, ok := InverseNormal(rows)
	if !ok {
		return nil, false
	}
	c = make([]float64, len(inverse))
	for i := range c {
		for j, x := range inverse[i] {
			for k, r := range rows {
				c[i] += x * r[j] * y[k]
			}
		}
	}
	return c, true
}

// NonNegative minimises Σ(1 − Σcⱼrⱼ)² with c ≥ 0: the best of all minima in which some coefficients are 0 and the
// others are free and not negative. On a tie the first wins, with fewer coefficients. ok is false if the columns do not
// differ.
func NonNegative(rows [][]float64) (best []float64, ok bool) {
	p := len(rows[0])
	if _, ok := InverseNormal(rows); !ok {
		return nil, false
	}
	ones := make([]float64, len(rows))
	for i := range ones {
		ones[i] = 1
	}
	least, part := math.Inf(1), make([][]float64, len(rows))
	for mask := 1; mask < 1<<p; mask++ {
		for i, r := range rows {
			part[i] = part[i][:0]
			for j, x := range r {
				if mask>>j&1 == 1 {
					part[i] = append(part[i], x)
				}
			}
		}
		free, solved := LeastSquares(part, ones)
		c, valid := make([]float64, p), solved
		for j := range c {
			if solved && mask>>j&1 == 1 {
				c[j], free = free[0], free[1:]
				valid = valid && c[j] >= 0
			}
		}
		sum := 0.0
		for _, r := range rows {
			d := 1.0
			for j, x := range r {
				d -= c[j] * x
			}
			sum += d * d
		}
		if valid && sum < least*(1-1e-9) {
			best, least = c, sum
		}
	}
	return best, best != nil
}

// InverseNormal is the inverse of J'J of the rows of J; ok is false if it has none, or nearly so. Rows and columns are
// scaled first, so that near singularity is the same for all units.
func InverseNormal(rows [][]float64) (inverse [][]float64, ok bool) {
	p := len(rows[0])
	scale := make([]float64, p)
	for j := range scale {
		for _, r := range rows {
			scale[j] += r[j] * r[j]
		}
		if scale[j] = math.Sqrt(scale[j]); !(scale[j] > 0) || math.IsInf(scale[j], 0) {
			return nil, false
		}
	}
	m := make([][]float64, p) // the matrix, and behind it what becomes its inverse
	for i := range m {
		m[i] = make([]float64, 2*p)
		for j := range p {
			for _, r := range rows {
				m[i][j] += r[i] / scale[i] * r[j] / scale[j]
			}
		}
		m[i][p+i] = 1
	}
	if !eliminate(m) {
		return nil, false
	}
	for i := range m {
		m[i] = m[i][p:]
		for j := range m[i] {
			m[i][j] /= scale[i] * scale[j]
		}
	}
	return m, true
}

// eliminate solves a small augmented system in place by Gauss and Jordan with pivoting: the columns behind the square
// of m become the solutions, one for each right side. It returns false if the system is singular or nearly so.
func eliminate(m [][]float64) bool {
	const least = 1e-11
	n := len(m)
	for col := range n {
		pivot := col
		for r := col + 1; r < n; r++ {
			if math.Abs(m[r][col]) > math.Abs(m[pivot][col]) {
				pivot = r
			}
		}
		if math.Abs(m[pivot][col]) < least {
			return false
		}
		m[col], m[pivot] = m[pivot], m[col]
		for r := range n {
			if r == col {
				continue
			}
			f := m[r][col] / m[col][col]
			for k := col; k < len(m[r]); k++ {
				m[r][k] -= f * m[col][k]
			}
		}
	}
	for r := range n {
		for k := n; k < len(m[r]); k++ {
			m[r][k] /= m[r][r]
		}
	}
	return true
}
