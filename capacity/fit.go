package capacity

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/plimsoll-bench/plimsoll/internal/figure"
	"github.com/plimsoll-bench/plimsoll/measure/stats"
)

// ScalePoint has the throughput at one size.
type ScalePoint struct {
	N          float64   // the size: nodes, members, clients or workers
	Throughput []float64 // of each trial, in operations per second, above 0
}

// FitOptions are those of [FitUSL]. The zero value has the defaults.
type FitOptions struct {
	Confidence float64 // of all intervals, 0.95 if 0
	Resamples  int     // 1000 if 0
	Seed       uint64  // of the resampling; the same seed gives the same intervals
}

// Fit is the law fitted to points.
type Fit struct {
	USL
	Points                 []ScalePoint // in order of N
	Error                  float64      // root mean square of the relative residuals
	Known                  bool         // there are intervals, because all sizes were measured several times
	SigmaRange, KappaRange stats.Interval
	// Reached: the measured sizes include the peak, so it may be reported. PeakRange is its interval, whose High is
	// infinite if some resamples have no peak.
	Reached   bool
	PeakRange stats.Interval
	Warnings  []string // a fit with warnings must not be used, or only with care

	samples    []USL
	confidence float64
}

// The limits of what a fit may be used for.
const (
	minScalePoints = 4    // more than the three parameters
	minScaleRange  = 4.0  // largest N by smallest: below it, contention and coherency cannot be distinguished
	peakMargin     = 0.9  // the peak counts as reached if the largest N is at least this share of it
	maxFitError    = 0.10 // larger residuals are not noise
	maxReach       = 2.0  // largest predicted N by largest measured N
)

// FitUSL fits the law by least squares on relative residuals, with 0 ≤ σ ≤ 1, κ ≥ 0 and λ free: λ is not the
// throughput at N = 1, which is one point like the others.
//
// N/X = a + bN + cN(N−1) with a = (1−σ)/λ, b = σ/λ, c = κ/λ is linear in its coefficients, and a, b, c ≥ 0 is the same
// as the limits of σ and κ. Dividing each row by N/X makes its residual X/X̂ − 1, relative. So the sum of squares has
// one minimum, which is found exactly, without starting values and iterations.
//
// Intervals come from resampling the trials within each N. Their deviations are widened first (see [widening]). In
// simulations with 3 % noise, the intervals included the truth in 91 to 96 of 100 fits with 3 to 10 trials per size.
func FitUSL(points []ScalePoint, o FitOptions) (*Fit, error) {
	if o.Confidence == 0 {
		o.Confidence = 0.95
	}
	if o.Resamples == 0 {
		o.Resamples = 1000
	}
	sorted, err := checkPoints(points)
	if err != nil {
		return nil, err
	}
	u, ok := solveUSL(sorted)
	if !ok {
		return nil, errors.New("throughput does not rise with size, so the scalability law does not fit")
	}
	f := &Fit{USL: u, Points: sorted, Error: fitError(u, sorted), confidence: o.Confidence}
	f.resample(o)
	f.judge()
	return f, nil
}

// checkPoints sorts the points by N and merges those with the same.
func checkPoints(points []ScalePoint) ([]ScalePoint, error) {
	byN := map[float64][]float64{}
	for _, p := range points {
		if !(p.N > 0) || math.IsInf(p.N, 0) {
			return nil, fmt.Errorf("a size of %v is not above 0", p.N)
		}
		for _, x := range p.Throughput {
			if !(x > 0) || math.IsInf(x, 0) {
				return nil, fmt.Errorf("a throughput of %v at N = %v is not above 0", x, p.N)
			}
		}
		byN[p.N] = append(byN[p.N], p.Throughput...)
	}
	var out []ScalePoint
	for n, x := range byN {
		if len(x) > 0 {
			out = append(out, ScalePoint{n, x})
		}
	}
	if len(out) < 3 {
		return nil, fmt.Errorf("the scalability law has three parameters, so it cannot be fitted to %s. Measure at least %d sizes",
			figure.Plural(len(out), "size"), minScalePoints)
	}
	slices.SortFunc(out, func(a, b ScalePoint) int { return int(math.Copysign(1, a.N-b.N)) })
	return out, nil
}

// solveUSL finds the minimum with coefficients that are not negative.
func solveUSL(points []ScalePoint) (best USL, ok bool) {
	var rows [][]float64
	for _, p := range points {
		for _, x := range p.Throughput {
			rows = append(rows, []float64{x / p.N, x, x * (p.N - 1)})
		}
	}
	c, ok := stats.NonNegative(rows)
	if !ok || c[0]+c[1] <= 0 {
		return best, false
	}
	return USL{Lambda: 1 / (c[0] + c[1]), Sigma: c[1] / (c[0] + c[1]), Kappa: c[2] / (c[0] + c[1])}, true
}

func fitError(u USL, points []ScalePoint) float64 {
	sum, n := 0.0, 0
	for _, p := range points {
		for _, x := range p.Throughput {
			d := x/u.At(p.N) - 1
			sum, n = sum+d*d, n+1
		}
	}
	return math.Sqrt(sum / float64(n))
}

// resample repeats the fit with trials drawn at random within each size.
func (f *Fit) resample(o FitOptions) {
	for _, p := range f.Points {
		if len(p.Throughput) < 2 {
			return
		}
	}
	wide := make([]ScalePoint, len(f.Points))
	factor := widening(f.Points, o.Confidence)
	for i, p := range f.Points {
		wide[i] = ScalePoint{p.N, widened(p.Throughput, factor)}
	}
	r := rand.New(rand.NewPCG(o.Seed, 0x75736c))
	drawn := make([]ScalePoint, len(wide))
	for range o.Resamples {
		for i, p := range wide {
			drawn[i] = ScalePoint{p.N, make([]float64, len(p.Throughput))}
			for k := range drawn[i].Throughput {
				drawn[i].Throughput[k] = p.Throughput[r.IntN(len(p.Throughput))]
			}
		}
		if u, ok := solveUSL(drawn); ok {
			f.samples = append(f.samples, u)
		}
	}
	f.Known = len(f.samples) > 0
	f.SigmaRange = f.interval(func(u USL) float64 { return u.Sigma })
	f.KappaRange = f.interval(func(u USL) float64 { return u.Kappa })
	f.PeakRange = f.interval(func(u USL) float64 { n, _ := u.Peak(); return n })
}

// widening corrects for resampling few trials: the quantile should be Student's instead of the normal one. Each of the
// three parameters uses about a third of the trials, hence a third of the degrees of freedom. Simulations confirm it.
func widening(points []ScalePoint, confidence float64) float64 {
	df := 0.0
	for _, p := range points {
		df += float64(len(p.Throughput)-1) / 3
	}
	q := (1 + confidence) / 2
	return stats.TQuantile(q, max(df, 1)) / stats.TQuantile(q, 1e6)
}

// widened moves values away from their geometric mean by the factor, and by sqrt(n/(n−1)), because the deviations of a
// few values from their own mean are too small.
func widened(xs []float64, factor float64) []float64 {
	mean, n := math.Log(stats.Middle(xs)), float64(len(xs))
	out := make([]float64, len(xs))
	for i, x := range xs {
		out[i] = math.Exp(mean + (math.Log(x)-mean)*factor*math.Sqrt(n/(n-1)))
	}
	return out
}

// interval is the interval of a value over the resamples.
func (f *Fit) interval(of func(USL) float64) stats.Interval {
	if !f.Known {
		return stats.Interval{}
	}
	values := make([]float64, len(f.samples))
	for i, u := range f.samples {
		values[i] = of(u)
	}
	slices.Sort(values)
	at := func(q float64) float64 { return values[int(math.Round(q*float64(len(values)-1)))] }
	return stats.Interval{Low: at((1 - f.confidence) / 2), High: at((1 + f.confidence) / 2)}
}

// Largest returns the largest measured size.
func (f *Fit) Largest() float64 { return f.Points[len(f.Points)-1].N }

// judge adds the warnings.
func (f *Fit) judge() {
	peak, has := f.Peak()
	f.Reached = has && f.Largest() >= peakMargin*peak
	warn := func(format string, a ...any) { f.Warnings = append(f.Warnings, fmt.Sprintf(format, a...)) }
	if n := len(f.Points); n < minScalePoints {
		warn("only %s were measured. Three parameters always fit three points, so the fit proves nothing. Measure %d or more", figure.Plural(n, "size"), minScalePoints)
	}
	if r := f.Largest() / f.Points[0].N; r < minScaleRange {
		warn("the largest size is %s times the smallest, so contention and coherency cannot be distinguished. Measure a factor of "+
			"at least %s",
			figure.Significant(r), figure.Significant(minScaleRange))
	}
	if f.Error > maxFitError {
		warn("points are %s off the curve (root mean square), so the law does not describe them", figure.Percent(f.Error))
	}
	if at, ok := f.risesAgain(); ok {
		warn("throughput falls and then rises again at N = %s, so something else than the size changed", figure.Significant(at))
	}
	if !f.Known {
		warn("some sizes were measured once, so the uncertainty of the fit is not known. Run at least 3 trials of each")
	}
}

// risesAgain finds throughput that fell and then rose, each by more than the noise of the points.
func (f *Fit) risesAgain() (n float64, again bool) {
	noise := max(0.02, 2*trialNoise(f.Points))
	high, low, fell := 0.0, 0.0, false
	for _, p := range f.Points {
		x := stats.Middle(p.Throughput)
		switch {
		case fell && x > low*(1+noise):
			return p.N, true
		case fell:
			low = min(low, x)
		case x < high*(1-noise):
			fell, low = true, x
		}
		high = max(high, x)
	}
	return 0, false
}

// trialNoise is the largest relative standard deviation of the mean of a size's trials.
func trialNoise(points []ScalePoint) float64 {
	worst := 0.0
	for _, p := range points {
		n := float64(len(p.Throughput))
		if n < 2 {
			continue
		}
		m, sum := math.Log(stats.Middle(p.Throughput)), 0.0
		for _, x := range p.Throughput {
			d := math.Log(x) - m
			sum += d * d
		}
		worst = max(worst, math.Sqrt(sum/(n-1)/n))
	}
	return worst
}

// Predict returns the throughput at n between the measured sizes with its interval, which is a point if none is known.
func (f *Fit) Predict(n float64) (x float64, iv stats.Interval) {
	x = f.At(n)
	iv = stats.Interval{Low: x, High: x}
	if f.Known {
		iv = f.interval(func(u USL) float64 { return u.At(n) })
	}
	return x, iv
}

// notShown is the error of a question that the measured sizes do not decide.
type notShown struct{ why string }

func (e notShown) Error() string { return e.why }

// Nodes returns the smallest size, not rounded, at which the curve reaches x, with its interval. High is infinite if
// some resamples never reach it. The error says why there is no such size, or why it is unreliable.
func (f *Fit) Nodes(x float64) (n float64, iv stats.Interval, err error) {
	n, ok := f.NodesFor(x)
	if !ok {
		peak, _ := f.Peak()
		if f.Reached {
			return 0, iv, fmt.Errorf("no size reaches %s/s: by the fit, throughput peaks at N = %s with %s/s", figure.Rate(x), figure.Significant(peak), figure.Rate(f.At(peak)))
		}
		return 0, iv, notShown{fmt.Sprintf("by the fit no size reaches %s/s, but its peak is beyond the measured sizes, so this is not known. Measure a larger size", figure.Rate(x))}
	}
	iv = stats.Interval{Low: n, High: n}
	if f.Known {
		iv = f.interval(func(u USL) float64 {
			if v, ok := u.NodesFor(x); ok {
				return v
			}
			return math.Inf(1)
		})
	}
	if n > f.Largest()*maxReach {
		err = fmt.Errorf("the fit needs N = %s for %s/s, more than %s times the largest measured size (%s)",
			figure.Significant(n), figure.Rate(x), figure.Significant(maxReach), figure.Significant(f.Largest()))
	}
	return n, iv, err
}
