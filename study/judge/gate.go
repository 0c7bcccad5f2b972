package judge

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/measure/stats"
	"github.com/plimsoll-bench/plimsoll/record"
)

// minBefore is the smallest number of records with which a new one is compared.
const minBefore = 3

// Gate compares the newest record of a history with those before it, since the last change. A metric is worse or better
// if it is outside of the prediction interval of one more record and the difference is above the margin. The interval
// is
//
//	x̄ ± t(n−1)·s·sqrt(1 + 1/n)
//
// of logarithms (Hahn and Meeker, Statistical Intervals, 1991, 4.7), at 5 % for all metrics of a configuration together
// (Bonferroni).
func Gate(h *record.HistoryReport, name string, margin float64) *record.Gate {
	r := newRules(margin, 0)
	g := &record.Gate{SchemaVersion: record.SchemaVersion, Kind: record.KindGate, Tool: h.Tool, Record: name,
		Verdict: record.Inconclusive, Metrics: []record.GateMetric{}, Validity: []measure.Finding{}}
	for i := range h.Groups {
		group := &h.Groups[i]
		at := slices.IndexFunc(group.Points, func(p record.HistoryPoint) bool {
			return p.Record == name || strings.HasPrefix(p.Record, name+"#")
		})
		if at < 0 {
			continue
		}
		p := &group.Points[at]
		if p.N == 0 {
			g.Validity = append(g.Validity, measure.Finding{ID: "record-left-out", Severity: measure.Invalid,
				Text: fmt.Sprintf("the new record does not count: %s", p.Why)})
			continue
		}
		for j := range group.Series {
			if m, ok := gateMetric(group, &group.Series[j], at, r); ok {
				g.Metrics = append(g.Metrics, m)
			}
		}
	}
	slices.SortStableFunc(g.Metrics, func(a, b record.GateMetric) int {
		return cmp.Compare(gravity(a.Verdict), gravity(b.Verdict))
	})
	if len(g.Metrics) > 0 {
		g.Verdict = g.Metrics[0].Verdict
	}
	few := slices.ContainsFunc(g.Metrics, func(m record.GateMetric) bool { return m.N < minBefore })
	if few || len(g.Metrics) == 0 {
		g.Validity = append(g.Validity, measure.Finding{ID: "few-records", Severity: measure.Warning, Text: fmt.Sprintf(
			"a metric has fewer than %d earlier records of the same workload, data, load and processor, so it has no verdict. Run on the branch again", minBefore)})
	}
	measure.SortFindings(g.Validity)
	return g
}

// gravity orders verdicts: the first one is that of all.
func gravity(v record.Verdict) int {
	return slices.Index([]record.Verdict{record.Worse, record.Better, record.Inconclusive, record.Equivalent}, v)
}

func gateMetric(g *record.HistoryGroup, s *record.HistorySeries, at int, r rules) (m record.GateMetric, ok bool) {
	value, ok := g.Points[at].Values[s.Metric]
	if !ok {
		return m, false
	}
	m = record.GateMetric{Group: g.Name, Metric: s.Metric, Unit: s.Unit, Higher: s.Higher, Value: value,
		Verdict: record.Inconclusive, Course: []float64{}}
	from := 0
	for k := range s.Changes {
		if s.Changes[k].Index <= at {
			from, m.Changed = s.Changes[k].Index, &s.Changes[k]
		}
	}
	var before []float64
	for k, p := range g.Points[:at] {
		x, ok := p.Values[s.Metric]
		if !ok {
			continue
		}
		if len(m.Course) == 0 {
			m.Started = p.Started
		}
		m.Course = append(m.Course, x)
		if k >= from {
			before = append(before, x)
		}
	}
	if m.N = len(before); m.N >= minBefore {
		decideGate(&m, before, r.margin, len(g.Series))
	}
	return m, true
}

// decideGate sets the expected interval and the verdict of one of several metrics.
func decideGate(m *record.GateMetric, before []float64, margin float64, metrics int) {
	to, from := math.Log, math.Exp
	if slices.Min(before) <= 0 || m.Value <= 0 { // shares of errors: zero has no logarithm
		to, from = func(x float64) float64 { return x }, func(x float64) float64 { return x }
	}
	xs, n := make([]float64, len(before)), float64(len(before))
	mean, squares := 0.0, 0.0
	for i, x := range before {
		xs[i] = to(x)
		mean += xs[i] / n
	}
	for _, x := range xs {
		squares += (x - mean) * (x - mean)
	}
	const alpha = 0.05
	half := stats.TQuantile(1-alpha/2/float64(metrics), n-1) * math.Sqrt(squares/(n-1)*(1+1/n))
	typical, low, high := from(mean), from(mean-half), from(mean+half)
	m.Mean, m.Low, m.High = &typical, &low, &high
	if typical != 0 {
		ratio := m.Value / typical
		m.Ratio = &ratio
	}
	matters := math.Abs(m.Value-typical) > margin*math.Abs(typical)
	switch {
	case !matters:
		m.Verdict = record.Equivalent
	case m.Value >= low && m.Value <= high:
	case (m.Value > typical) == m.Higher:
		m.Verdict = record.Better
	default:
		m.Verdict = record.Worse
	}
}
