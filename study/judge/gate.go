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

// minBefore is the smallest number of records with which a new one is compared.
const minBefore = 3

// Gate compares one record of a history with the others, since the last change. All metrics of all configurations are
// one family: the probabilities of both tests are corrected after Holm, at 5 % each ([stats.Next]).
//
//   - equivalent: the level of the new record is within the margin of the earlier ones, by two one-sided tests.
//   - worse or better: the record is not what one more is expected to be, and the difference is above the margin. A
//     percentile without an answer is worse than all that have one.
//
// A value that is only known to be at least so high is a bound: a new one can only be better, and against earlier ones
// a new one can only be worse. A metric that only the earlier records have is inconclusive.
func Gate(h *record.HistoryReport, name string, margin float64) *record.Gate {
	r := newRules(margin, 0)
	var tests []*expected
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
			if m, ok := newExpected(group, &group.Series[j], at, r.margin); ok {
				tests = append(tests, m)
			}
		}
	}
	g.Metrics = decideGate(tests)
	slices.SortStableFunc(g.Metrics, func(a, b record.GateMetric) int {
		return cmp.Compare(gravity(a.Verdict), gravity(b.Verdict))
	})
	if len(g.Metrics) > 0 {
		g.Verdict = g.Metrics[0].Verdict
	}
	for _, m := range tests {
		if m.missing {
			g.Validity = append(g.Validity, measure.Finding{ID: "metric-missing", Severity: measure.Warning, Text: fmt.Sprintf(
				"the new record has no value of %s, and %s before it have. Look into the record for the reason", m.Metric,
				figure.Plural(m.N, "record"))})
		}
		if m.bound || m.bounds {
			g.Validity = append(g.Validity, measure.Finding{ID: "only-at-least", Severity: measure.Note, Text: fmt.Sprintf(
				"%s is only known to be at least its value in some records, so the new one cannot be called equivalent", m.Metric)})
		}
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

// expected is a metric of a new record while it is being judged.
type expected struct {
	record.GateMetric
	value                 float64
	known                 bool // there are enough earlier records
	missing               bool // only earlier records have it
	bound, bounds         bool // the new value, or earlier ones, are only known to be at least so high
	next                  stats.Expected
	back                  func(float64) float64 // from the scale of next
	differs, same, margin float64
}

func newExpected(g *record.HistoryGroup, s *record.HistorySeries, at int, margin float64) (m *expected, ok bool) {
	value, answered := g.Points[at].Values[s.Metric]
	m = &expected{margin: margin, value: value, bound: slices.Contains(g.Points[at].AtLeast, s.Metric)}
	m.GateMetric = record.GateMetric{Group: g.Name, Metric: s.Metric,
		Unit: s.Unit, Higher: s.Higher, Verdict: record.Inconclusive, Course: []float64{}}
	if answered {
		m.Value = &value
	}
	from := 0
	for k := range s.Changes {
		from, m.Changed = s.Changes[k].Index, &s.Changes[k]
	}
	var before []float64
	for k, p := range g.Points {
		x, ok := p.Values[s.Metric]
		if k == at || !ok {
			continue
		}
		if len(m.Course) == 0 {
			m.Started = p.Started
		}
		m.Course = append(m.Course, x)
		if k < from {
			continue
		}
		m.N++
		if slices.Contains(p.AtLeast, s.Metric) {
			if m.bound { // nothing is known of two bounds
				continue
			}
			m.bounds = true
		}
		before = append(before, x)
	}
	switch {
	case answered:
		m.expect(before)
	case !slices.Contains(g.Points[at].NoAnswer, s.Metric):
		m.missing = true
	case m.N >= minBefore:
		m.Verdict = record.Worse
	}
	return m, !m.missing || m.N >= minBefore
}

// expect tests the new value against the earlier ones, on logarithms unless a value has none.
func (m *expected) expect(before []float64) {
	to, margin := math.Log, math.Log1p(m.margin)
	m.back = math.Exp
	if len(before) == 0 || slices.Min(before) <= 0 || m.value <= 0 { // shares of errors
		to = func(x float64) float64 { return x }
		margin, m.back = m.margin*math.Abs(stats.Mean(before)), to
	}
	xs := make([]float64, len(before))
	for i, x := range before {
		xs[i] = to(x)
	}
	if m.next, m.known = stats.Next(xs); !m.known {
		return
	}
	m.differs, m.same = m.next.Differs(to(m.value)), m.next.Within(to(m.value), margin)
	if m.value == 0 && slices.Max(before) == 0 {
		m.same = 0 // zero in every record
	}
}

// decideGate gives the metrics of a record their verdicts.
func decideGate(all []*expected) []record.GateMetric {
	const level = 0.05
	var tested []*expected
	var differ, within []float64
	for _, m := range all {
		if m.known {
			tested, differ, within = append(tested, m), append(differ, m.differs), append(within, m.same)
		}
	}
	differ, within = stats.Holm(differ), stats.Holm(within)
	for i, m := range tested {
		typical := m.back(m.next.Mean)
		around := m.next.Range(1 - level/float64(len(tested)))
		low, high := m.back(around.Low), m.back(around.High)
		m.Mean, m.Low, m.High = &typical, &low, &high
		if typical != 0 {
			ratio := m.value / typical
			m.Ratio = &ratio
		}
		switch {
		case within[i] <= level:
			m.Verdict = record.Equivalent
		case differ[i] >= level || math.Abs(m.value-typical) <= m.margin*math.Abs(typical):
		case (m.value > typical) == m.Higher:
			m.Verdict = record.Better
		default:
			m.Verdict = record.Worse
		}
		if m.bound && m.Verdict != record.Better || m.bounds && m.Verdict != record.Worse {
			m.Verdict = record.Inconclusive
		}
	}
	metrics := []record.GateMetric{}
	for _, m := range all {
		metrics = append(metrics, m.GateMetric)
	}
	return metrics
}
