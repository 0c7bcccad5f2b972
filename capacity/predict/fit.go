package predict

import (
	"cmp"
	"errors"
	"fmt"
	"iter"
	"math"
	"slices"

	"github.com/plimsoll-bench/plimsoll/internal/figure"
	"github.com/plimsoll-bench/plimsoll/measure/stats"
)

// Parameter is a fitted parameter of a model.
type Parameter struct {
	Name  string
	Value float64
}

// Fitted is a model fitted to levels.
type Fitted struct {
	*Model
	Parameters []Parameter
	Residuals  []float64 // of each level: ln(measured/fitted)
	Spread     float64   // residual standard deviation, of logarithms

	shapeAt      []float64
	coefficients []float64
	inverse      [][]float64 // of J'J
	df           float64
	trial, lack  float64 // variances of logarithms: of a trial, 0 if unknown, and of levels around the law
}

// confidence is that of all intervals.
const confidence = 0.95

// table has the terms of a model for each of its shapes and each level, relative to the measured throughput: X̂/X is
// their sum, times the coefficients, for a model of the rate, and X/X̂ for the others.
type table struct {
	*Model
	levels []Level
	shapes [][]float64
	rows   [][][]float64 // by shape and level; nil for a shape without a term
	why    error         // of the first such shape
}

func (m *Model) tabulate(levels []Level) *table {
	t := &table{Model: m, levels: levels}
	var measured []float64
	for i := range levels {
		measured = append(measured, stats.Middle(levels[i].Throughput))
	}
	for shape := range m.grid() {
		rows, err := m.rows(levels, measured, shape)
		t.shapes, t.rows, t.why = append(t.shapes, shape), append(t.rows, rows), cmp.Or(t.why, err)
	}
	return t
}

func (m *Model) rows(levels []Level, measured, shape []float64) ([][]float64, error) {
	rows := make([][]float64, len(levels))
	for i := range levels {
		terms, scale, ok := m.terms(&levels[i], shape)
		if !ok {
			return nil, errors.New("a fact that it needs is unknown")
		}
		x := measured[i]
		rows[i] = make([]float64, len(terms))
		for j, t := range terms {
			if m.rate {
				rows[i][j] = t / x
			} else {
				rows[i][j] = t * x / scale
			}
		}
	}
	return rows, nil
}

// fit fits a model to all levels but one, -1 for none, by least squares on relative residuals, with coefficients of at
// least 0. For a given shape the residual 1 − X̂/X (or 1 − X/X̂) is linear in the coefficients, so their minimum is
// exact. The shape is the best of a grid.
func (t *table) fit(but int) (*Fitted, error) {
	levels := t.levels
	if but >= 0 {
		levels = without(levels, but)
	}
	if n := len(levels); n < len(t.names)+1 || n < t.parameters() {
		return nil, fmt.Errorf("%s for %s", figure.Plural(n, "level"), figure.Plural(t.parameters(), "parameter"))
	}
	best, why, least := (*Fitted)(nil), t.why, math.Inf(1)
	for k, rows := range t.rows {
		if rows == nil {
			continue
		}
		if but >= 0 {
			rows = slices.Delete(slices.Clone(rows), but, but+1)
		}
		f, sum, err := t.at(rows, t.shapes[k])
		if why = cmp.Or(why, err); err == nil && sum < least*(1-1e-9) {
			best, least = f, sum
		}
	}
	if best == nil {
		return nil, why
	}
	for j, name := range t.names {
		best.Parameters = append(best.Parameters, Parameter{name, best.coefficients[j]})
	}
	for j, s := range t.Model.shapes {
		best.Parameters = append(best.Parameters, Parameter{s.name, best.shapeAt[j]})
	}
	return best, best.spread(levels)
}

// grid yields all combinations of the shapes.
func (m *Model) grid() iter.Seq[[]float64] {
	return func(yield func([]float64) bool) {
		all := [][]float64{nil}
		for _, s := range m.shapes {
			var more [][]float64
			for _, before := range all {
				for _, x := range s.tried {
					more = append(more, append(slices.Clone(before), x))
				}
			}
			all = more
		}
		for _, s := range all {
			if !yield(s) {
				return
			}
		}
	}
}

// at fits the coefficients for one shape. sum is that of the squares of the residuals.
func (m *Model) at(rows [][]float64, shape []float64) (f *Fitted, sum float64, err error) {
	c, ok := stats.NonNegative(rows)
	if !ok {
		return nil, 0, errors.New("a fact that it needs does not vary")
	}
	f = &Fitted{Model: m, shapeAt: shape, coefficients: c, Residuals: make([]float64, 0, len(rows))}
	for _, row := range rows {
		x := 0.0
		for j, t := range row {
			x += c[j] * t
		}
		if !(x > 0) {
			return nil, 0, errors.New("it has no throughput for one of the levels")
		}
		r := math.Log(x)
		if m.rate {
			r = -r
		}
		f.Residuals, sum = append(f.Residuals, r), sum+r*r
	}
	return f, sum, nil
}

// at1 is the throughput of a level by the fitted parameters.
func (f *Fitted) at1(l *Level) (float64, bool) { return f.with(l, f.coefficients, f.shapeAt) }

func (f *Fitted) with(l *Level, c, shape []float64) (float64, bool) {
	terms, scale, ok := f.terms(l, shape)
	if !ok {
		return 0, false
	}
	sum := 0.0
	for j, t := range terms {
		sum += c[j] * t
	}
	if f.rate {
		return sum, sum > 0
	}
	return scale / sum, sum > 0
}

// gradient is the derivative of the logarithm of throughput by each parameter, relative to the scale of the parameter.
func (f *Fitted) gradient(l *Level) []float64 {
	x, _ := f.at1(l)
	terms, scale, _ := f.terms(l, f.shapeAt)
	g := make([]float64, 0, len(terms)+1)
	for _, t := range terms {
		if f.rate {
			g = append(g, t/x)
		} else {
			g = append(g, -t*x/scale)
		}
	}
	for j, s := range f.shapes {
		i, _ := slices.BinarySearch(s.tried, f.shapeAt[j])
		low, high := slices.Clone(f.shapeAt), slices.Clone(f.shapeAt)
		low[j], high[j] = s.tried[max(i-1, 0)], s.tried[min(i+1, len(s.tried)-1)]
		a, _ := f.with(l, f.coefficients, low)
		b, _ := f.with(l, f.coefficients, high)
		g = append(g, math.Log(b/a))
	}
	return g
}

// spread sets the residual standard deviation and the matrix of the interval. Deviations below the variation of the
// trials are chance, so the variation of a level's mean is the least. What the residuals have beyond it is the
// deviation of the levels from the law. Single trials do not show which is which: all of it counts as that deviation.
func (f *Fitted) spread(levels []Level) error {
	p := 0
	var rows [][]float64
	for i := range levels {
		rows = append(rows, f.gradient(&levels[i]))
		p = len(rows[i])
	}
	sum := 0.0
	for _, r := range f.Residuals {
		sum += r * r
	}
	f.df = float64(max(1, len(levels)-p))
	var n float64
	f.trial, n = trialVariance(levels)
	f.Spread = math.Sqrt(max(sum/f.df, f.trial/n))
	f.lack = f.Spread*f.Spread - f.trial/n
	inverse, ok := stats.InverseNormal(rows)
	if !ok {
		return errors.New("a fact that it needs does not vary enough to distinguish its parameters")
	}
	f.inverse = inverse
	return nil
}

// Predict returns the throughput of a level with the 95 % interval of its mean, or, if trials is not 0, of what so many
// trials show:
//
//	ln X̂ ± t(n−p)·sqrt(s²·g'(J'J)⁻¹g + l² + v/trials),
//
// the intervals of nonlinear regression (Bates and Watts, Nonlinear Regression Analysis and Its Applications, 1988,
// 2.3.2), with J and g as the derivatives of ln X by the parameters, v as the variance of a trial, and l² = s² − v/n as
// that of the levels around the law. Where v is unknown, l² = s².
func (f *Fitted) Predict(l *Level, trials int) (x float64, iv stats.Interval, ok bool) {
	if x, ok = f.at1(l); !ok {
		return 0, iv, false
	}
	g, h := f.gradient(l), 0.0
	for i := range g {
		for j := range g {
			h += g[i] * f.inverse[i][j] * g[j]
		}
	}
	variance := f.Spread*f.Spread*max(h, 0) + f.lack
	if trials > 0 {
		variance += f.trial / float64(trials)
	}
	half := stats.TQuantile((1+confidence)/2, f.df) * math.Sqrt(variance)
	return x, stats.Interval{Low: x * math.Exp(-half), High: x * math.Exp(half)}, true
}

// trialVariance is the variance of the logarithms of a level's trials, 0 for single ones, and their mean number.
func trialVariance(levels []Level) (variance, n float64) {
	sum, df := 0.0, 0.0
	for _, l := range levels {
		m := math.Log(stats.Middle(l.Throughput))
		for _, x := range l.Throughput {
			d := math.Log(x) - m
			sum += d * d
		}
		df, n = df+float64(len(l.Throughput)-1), n+float64(len(l.Throughput))
	}
	return sum / max(df, 1), n / float64(len(levels))
}
