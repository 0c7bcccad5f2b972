package report

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/plimsoll-bench/plimsoll/capacity"
	"github.com/plimsoll-bench/plimsoll/internal/figure"
	"github.com/plimsoll-bench/plimsoll/measure/stats"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/report/chart"
	"github.com/plimsoll-bench/plimsoll/spec"
)

// sizes are the last parts of paths that say how many of something there are. The law of scaling is about these; it
// says nothing of a rate, a size of documents or a cache.
var sizes = []string{"workers", "clients", "hosts", "members", "shards", "gateways", "nodes", "count", "cores"}

// steps is how many points a curve has.
const steps = 32

// lawOf fits the law of scaling to the trials of a factor and draws it: dashed within the sizes that were measured;
// dotted, in a shaded stretch, beyond them, where it is an extrapolation; with its interval. It returns what to know of
// it and its numbers, nothing where the factor is no size or the metric no throughput. Where the law may not be used,
// it is not drawn beyond what was measured, and the text says why.
func lawOf(s *record.Study, f *spec.Factor, metric string, c *chart.XY) (note string, numbers *Table) {
	if metric != "throughput" || !slices.Contains(sizes, f.Path[strings.LastIndexByte(f.Path, '.')+1:]) {
		return "", nil
	}
	points := pointsOfLaw(s, f)
	if len(points) < 3 {
		return "", nil
	}
	fit, err := capacity.FitUSL(points, capacity.FitOptions{Seed: s.Specification.Seed,
		Confidence: float64(s.Specification.Confidence)})
	if err != nil {
		return "No law of scaling is drawn: " + bounded(err.Error()) + ".", nil
	}
	first, last := fit.Points[0].N, fit.Largest()
	c.Series = append(c.Series, curveOfLaw(fit, "law", chart.Dashed, first, last))
	c.Bands = append(c.Bands, bandOfLaw(fit, first, last))
	note = lawText(fit) + " It is not drawn beyond the measured sizes, because something else may become the limit there."
	if len(fit.Warnings) > 0 {
		note = lawText(fit) + " It may not be used: " + strings.Join(fit.Warnings, "; ") + "."
	}
	return note, lawTable(fit)
}

func pointsOfLaw(s *record.Study, f *spec.Factor) (points []capacity.ScalePoint) {
	base := s.BaselineID()
	for _, c := range s.Configurations {
		var n float64
		if c.Factor != f.Title() && c.ID != base {
			continue
		}
		if _, err := fmt.Sscan(c.Levels[f.Title()], &n); err != nil || !(n > 0) {
			continue
		}
		p := capacity.ScalePoint{N: n}
		for i := range s.Trials {
			t := &s.Trials[i]
			if t.Configuration == c.ID && t.Kind == record.TrialCompared && countsFor(t) && t.Values["throughput"] > 0 {
				p.Throughput = append(p.Throughput, t.Values["throughput"])
			}
		}
		if len(p.Throughput) > 0 {
			points = append(points, p)
		}
	}
	return points
}

// along calls f with sizes from one to another, evenly on a logarithmic axis.
func along(from, to float64, f func(n float64)) {
	for i := range steps + 1 {
		f(from * math.Pow(to/from, float64(i)/steps))
	}
}

func curveOfLaw(fit *capacity.Fit, name string, style chart.Style, from, to float64) chart.Series {
	line := chart.Series{Name: name, Style: style, Colour: 2, Unnamed: style == chart.Dashed && len(fit.Warnings) == 0}
	along(from, to, func(n float64) { line.X, line.Y = append(line.X, n), append(line.Y, fit.At(n)) })
	return line
}

func bandOfLaw(fit *capacity.Fit, from, to float64) chart.Band {
	a := chart.Band{Colour: 2}
	if !fit.Known {
		return a
	}
	along(from, to, func(n float64) {
		_, iv := fit.Predict(n)
		a.X, a.Low, a.High = append(a.X, n), append(a.Low, iv.Low), append(a.High, iv.High)
	})
	return a
}

// lawText says what the law is, with intervals where they are known.
func lawText(fit *capacity.Fit) string {
	within := func(iv stats.Interval, write func(float64) string) string {
		if !fit.Known {
			return ""
		}
		return " [" + write(iv.Low) + ", " + write(iv.High) + "]"
	}
	text := fmt.Sprintf("Dashed: the Universal Scalability Law fitted to the trials, contention σ = %s%s, coherency κ = %s%s", figure.Percent(fit.Sigma),
		within(fit.SigmaRange, figure.Percent), figure.Significant(fit.Kappa), within(fit.KappaRange, figure.Significant))
	if fit.Known {
		text += ", with its interval"
	}
	if peak, ok := fit.Peak(); ok && fit.Reached {
		high := figure.Significant(fit.PeakRange.High)
		if math.IsInf(fit.PeakRange.High, 0) {
			high = "unknown"
		}
		text += "; peak at " + figure.Significant(peak)
		if fit.Known {
			text += " [" + figure.Significant(fit.PeakRange.Low) + ", " + high + "]"
		}
		return text + "."
	}
	return text + "; the measured levels did not reach its peak, so the peak is not stated."
}

// lawTable has the law at the sizes that were measured.
func lawTable(fit *capacity.Fit) *Table {
	t := &Table{Left: -1, Header: []string{"size", "n", "measured ok/s", "law ok/s", "low", "high"}}
	for _, p := range fit.Points {
		x, iv := fit.Predict(p.N)
		low, high := "-", "-"
		if fit.Known {
			low, high = figure.Rate(iv.Low), figure.Rate(iv.High)
		}
		mean, _, _ := stats.GeoMean(p.Throughput, 0.95)
		t.Rows = append(t.Rows, []string{figure.Significant(p.N), fmt.Sprint(len(p.Throughput)), figure.Rate(mean),
			figure.Rate(x), low, high})
	}
	return t
}
