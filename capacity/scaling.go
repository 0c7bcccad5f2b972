package capacity

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/plimsoll-bench/plimsoll/internal/figure"
	"github.com/plimsoll-bench/plimsoll/measure/stats"
	"github.com/plimsoll-bench/plimsoll/record"
)

// The assumptions of a number of nodes.
const (
	Linear       = "linear"       // twice the nodes serve twice the load; not measured
	Measured     = "measured"     // this size was measured
	Interpolated = "interpolated" // on the straight line between two measured sizes
	ByLaw        = "usl"          // beyond the measured sizes, by the fitted scalability law
	ByPower      = "power"        // beyond them, by the power law through the two largest
)

// Scaling is throughput by the number of nodes, at one measured size or several.
type Scaling struct {
	points  []ScalePoint
	fit     *Fit
	Problem string // why there is no law
}

// Estimate is the number of nodes that a load needs, not rounded.
type Estimate struct {
	N float64
	// Interval is the 95 % interval of N, a point unless Known. High is infinite beyond the measured sizes, because no
	// measured size shows what becomes the limit there, and where the largest size may not suffice.
	stats.Interval
	Known bool
	// Safe is the number to plan with: the upper end of the interval, beyond the measured sizes of one that assumes that
	// throughput continues as measured. It is infinite if that has no upper end.
	Safe       float64
	Assumption string
	Doubts     []string // to read before relying on it
}

// NewScaling makes a scaling. It fails for values that are not above 0.
func NewScaling(points []ScalePoint, seed uint64) (*Scaling, error) {
	if len(points) == 0 {
		return nil, fmt.Errorf("no size was measured")
	}
	for _, p := range points {
		if !(p.N > 0) || len(p.Throughput) == 0 || slices.ContainsFunc(p.Throughput, func(x float64) bool {
			return !(x > 0)
		}) {
			return nil, fmt.Errorf("size %v with throughput %v: both must be above 0", p.N, p.Throughput)
		}
	}
	s := &Scaling{points: slices.Clone(points)}
	slices.SortFunc(s.points, func(a, b ScalePoint) int { return cmp.Compare(a.N, b.N) })
	if len(s.points) == 1 {
		return s, nil
	}
	fit, err := FitUSL(s.points, FitOptions{Seed: seed})
	if err != nil {
		s.Problem = err.Error()
		return s, nil
	}
	s.fit = fit
	return s, nil
}

// Nodes returns the number of nodes for x operations per second. An error means that no known number reaches it.
func (s *Scaling) Nodes(x float64) (Estimate, error) {
	if len(s.points) == 1 {
		return s.linear(x), nil
	}
	middle := func(p ScalePoint) float64 { return stats.Middle(p.Throughput) }
	if n, ok := between(s.points, x, middle); ok {
		return s.inside(x, n), nil
	}
	if s.fit != nil && len(s.fit.Warnings) == 0 {
		return s.byLaw(x)
	}
	return s.byPower(x)
}

// linear returns n·x/X, with the interval from that of X.
func (s *Scaling) linear(x float64) Estimate {
	p := s.points[0]
	mean, iv, known := stats.GeoMean(p.Throughput, confidence)
	e := Estimate{N: p.N * x / mean, Known: known, Assumption: Linear}
	e.Interval, e.Safe = stats.Interval{Low: e.N, High: e.N}, e.N
	if known {
		e.Interval = stats.Interval{Low: p.N * x / iv.High, High: p.N * x / iv.Low}
		e.Safe = e.High
	}
	if e.N > p.N {
		if known {
			e.High = math.Inf(1)
		}
		e.Doubts = append(e.Doubts, fmt.Sprintf("that %s nodes carry %s times what %s carry is assumed, not measured (linear scaling). Vary the nodes in a study to "+
			"measure it",
			number(e.N), figure.Significant(e.N/p.N), number(p.N)))
	}
	return e
}

// between returns the size at which the straight lines between the points reach x, at least the first point. ok is
// false beyond the last point.
func between(points []ScalePoint, x float64, value func(ScalePoint) float64) (n float64, ok bool) {
	for i, p := range points {
		v := value(p)
		if v < x {
			continue
		}
		if i == 0 {
			return p.N, true
		}
		before := points[i-1]
		low := value(before)
		return before.N + (p.N-before.N)*(x-low)/(v-low), true
	}
	return 0, false
}

func (s *Scaling) inside(x, n float64) Estimate {
	e := Estimate{N: n, Assumption: Interpolated, Known: true}
	if slices.ContainsFunc(s.points, func(p ScalePoint) bool { return p.N == n }) {
		e.Assumption = Measured
	}
	bound := func(end func(stats.Interval) float64) float64 {
		m, ok := between(s.points, x, func(p ScalePoint) float64 {
			mean, iv, known := stats.GeoMean(p.Throughput, confidence)
			if !known {
				e.Known = false
				return mean
			}
			return end(iv)
		})
		if !ok {
			return math.Inf(1) // the largest size may not suffice
		}
		return m
	}
	e.Low = bound(func(iv stats.Interval) float64 { return iv.High })
	e.Safe = bound(func(iv stats.Interval) float64 { return iv.Low })
	if e.High = e.Safe; e.Assumption == Interpolated { // throughput is not on the line, but between its ends
		e.Low, e.High = s.around(e.Low, e.High)
	}
	if !e.Known {
		e.Interval = stats.Interval{Low: n, High: n}
	}
	if e.Assumption == Interpolated {
		next := s.points[slices.IndexFunc(s.points, func(p ScalePoint) bool { return p.N > n })]
		e.Doubts = append(e.Doubts, fmt.Sprintf("%s nodes were not measured. The next measured size that suffices is %s", number(n), number(next.N)))
	}
	return e
}

// around returns the measured sizes around two sizes; the upper one is infinite if there is none.
func (s *Scaling) around(low, high float64) (below, above float64) {
	below, above = s.points[0].N, math.Inf(1)
	for _, p := range s.points {
		if p.N <= low {
			below = p.N
		}
		if p.N >= high {
			above = min(above, p.N)
		}
	}
	return below, above
}

func (s *Scaling) byLaw(x float64) (Estimate, error) {
	n, iv, err := s.fit.Nodes(x)
	if n == 0 {
		return Estimate{}, err
	}
	e := Estimate{N: n, Known: true, Safe: iv.High, Assumption: ByLaw,
		Interval: stats.Interval{Low: iv.Low, High: math.Inf(1)}}
	e.Doubts = append(e.Doubts, fmt.Sprintf("%s nodes are beyond the largest measured size (%s), so this is extrapolated by the scalability law, not measured",
		number(n), number(s.fit.Largest())))
	if err != nil {
		e.Doubts = append(e.Doubts, err.Error()+". Measure a larger size before you rely on it")
	}
	return e, nil
}

// byPower extrapolates from the two largest sizes: X ∝ N^a, with a at most 1.
func (s *Scaling) byPower(x float64) (Estimate, error) {
	last, before := s.points[len(s.points)-1], s.points[len(s.points)-2]
	top := stats.Middle(last.Throughput)
	a := min(1, math.Log(top/stats.Middle(before.Throughput))/math.Log(last.N/before.N))
	if a <= 0 {
		return Estimate{}, notShown{fmt.Sprintf("throughput did not rise from %s to %s nodes, so it is not known whether more nodes reach %s/s",
			number(before.N), number(last.N), figure.Rate(x))}
	}
	n := last.N * math.Pow(x/top, 1/a)
	if math.IsInf(n, 0) || n > 1e6 {
		return Estimate{}, notShown{fmt.Sprintf("throughput rose so little from %s to %s nodes that it is not known whether more nodes reach %s/s",
			number(before.N), number(last.N), figure.Rate(x))}
	}
	e := Estimate{N: n, Interval: stats.Interval{Low: n, High: n}, Safe: n, Assumption: ByPower}
	e.Doubts = append(e.Doubts, fmt.Sprintf("%s nodes are beyond the largest measured size (%s). It is assumed that throughput continues as from %s to %s nodes "+
		"(N^%s), without an interval",
		number(n), number(last.N), number(before.N), number(last.N), figure.Significant(a)))
	if n > maxReach*last.N {
		e.Doubts = append(e.Doubts, "that is more than twice the largest size. Measure a larger one before you rely on it")
	}
	return e, nil
}

// scalingResult is the scaling as stored and shown.
func scalingResult(factor string, points []ScalePoint, fit *Fit, problem string) *record.SizeScaling {
	out := &record.SizeScaling{Factor: factor}
	for _, p := range points {
		mean, iv, known := stats.GeoMean(p.Throughput, confidence)
		sp := record.SizeScalePoint{Size: p.N, N: len(p.Throughput), Throughput: mean}
		if known {
			sp.Low, sp.High = &iv.Low, &iv.High
		}
		out.Points = append(out.Points, sp)
	}
	slices.SortFunc(out.Points, func(a, b record.SizeScalePoint) int { return cmp.Compare(a.Size, b.Size) })
	if problem != "" {
		out.Warnings = append(out.Warnings, problem)
	}
	if fit == nil {
		return out
	}
	out.Warnings = append(out.Warnings, fit.Warnings...)
	out.Law = &record.SizeLaw{Lambda: fit.Lambda, Sigma: fit.Sigma, Kappa: fit.Kappa, Error: fit.Error}
	if peak, ok := fit.Peak(); ok && fit.Reached {
		out.Law.Peak = &peak
		if fit.Known {
			out.Law.PeakLow = &fit.PeakRange.Low
			if !math.IsInf(fit.PeakRange.High, 0) {
				out.Law.PeakHigh = &fit.PeakRange.High
			}
		}
	} else {
		out.Warnings = append(out.Warnings, "the measured sizes did not reach the peak, so it is not reported")
	}
	return out
}

// number prints a size: a whole number in full, others with three digits.
func number(x float64) string {
	if x == math.Trunc(x) && math.Abs(x) < 1e9 {
		return figure.Count(int64(x))
	}
	return figure.Significant(x)
}
