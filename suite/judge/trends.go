package judge

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/plimsoll-bench/plimsoll/published"
	"github.com/plimsoll-bench/plimsoll/record"
)

// trendStatement compares words such as “rises” with the measured levels that they name.
func trendStatement(sweep *published.Sweep, t *published.Trend, by source) record.SuiteStatement {
	st := record.SuiteStatement{Sweep: sweep.ID, Part: by.part, Kind: record.StatementTrend, Metric: t.Metric,
		Level: trendLevels(sweep, t), Stated: fmt.Sprintf("%s: “%s”", t.Goes, t.Words), Goes: t.Goes, Words: t.Words,
		Place: sweep.Place.String(), Baseline: sweep.Baseline}
	if t.Note != "" {
		st.Doubts = append(st.Doubts, "note on these words: "+t.Note)
	}
	if t.Goes == "unclear" {
		st.Agreement, st.Why = record.NotStated, "the words name no direction"
		return st
	}
	pairs := trendPairs(sweep, t, by.levels)
	if len(pairs) == 0 {
		_, reasons := by.measure(missing(sweep, t, by.levels), t.Metric)
		if reasons.why == "" {
			reasons = reason{"fewer than two of the named levels were measured", record.GapLevels}
		}
		st.Agreement, st.Why, st.Gap = record.NotMeasured, reasons.why, reasons.gap
		return st
	}
	here := pairs[0][0] + " → " + pairs[0][1]
	bothEnds := trendEnd(sweep, t.From) != "" && trendEnd(sweep, t.To) != "" && numbered(sweep)
	if len(pairs) == 1 && bothEnds && here != st.Level {
		st.Doubts = append(st.Doubts, "measured here: "+here)
	}
	found := map[record.Agreement]int{}
	for _, pair := range pairs {
		m := between(sweep, by, pair[0], pair[1], t.Metric)
		if m == nil {
			found[record.NotMeasured]++
			continue
		}
		a, why := trendAgreement(t.Goes, m)
		found[a]++
		st.Why, st.Part, st.Measure, st.N = why, m.part, m.metric, m.n
		if len(pairs) == 1 {
			st.Ratio, st.Verdict = &m.ratio, m.verdict
			st.Doubts = append(st.Doubts, noteOf(m)...)
			if !m.single {
				st.Low, st.High = &m.low, &m.high
			}
		}
	}
	st.Agreement = jointly(found)
	if st.Why == "" {
		_, reasons := by.measure(pairs[0][1], t.Metric)
		st.Why = reasons.why
		if st.Agreement == record.NotMeasured {
			st.Gap = cmp.Or(reasons.gap, record.GapOther)
		}
	}
	if len(pairs) > 1 {
		st.Why = fmt.Sprintf("%d of %d pairs of levels agree", found[record.Agrees], len(pairs))
		st.Found = st.Why
	}
	return st
}

// jointly combines findings: one that disagrees is enough.
func jointly(found map[record.Agreement]int) record.Agreement {
	for _, a := range []record.Agreement{record.Disagrees, record.Undecided, record.Agrees} {
		if found[a] > 0 {
			return a
		}
	}
	return record.NotMeasured
}

func trendLevels(sweep *published.Sweep, t *published.Trend) string {
	if t.From == "" && t.To == "" {
		return "all levels of " + sweep.Factor
	}
	return t.From + " → " + t.To
}

// trendEnd returns the level that an end of a trend names, "" if the sweep has none of that name.
func trendEnd(sweep *published.Sweep, name string) string {
	if l := sweep.Level(name); l != nil {
		return l.Name
	}
	return ""
}

// missing returns a level that is needed for a trend: an end of it that was not measured, or any level but the
// baseline.
func missing(sweep *published.Sweep, t *published.Trend, measured []string) string {
	for _, end := range []string{t.To, t.From} {
		if l := trendEnd(sweep, end); l != "" && l != sweep.Baseline && !slices.Contains(measured, l) {
			return l
		}
	}
	for i := len(sweep.Levels) - 1; i >= 0; i-- {
		if sweep.Levels[i].Name != sweep.Baseline {
			return sweep.Levels[i].Name
		}
	}
	return ""
}

// trendPairs returns the pairs of measured levels that the words name: two levels, the first or the last one, or parts
// of compound names ("8 cores" in "8C+32GB") whose other part is the same.
func trendPairs(sweep *published.Sweep, t *published.Trend, measured []string) [][2]string {
	from, to := trendSide(sweep, t.From, measured, true), trendSide(sweep, t.To, measured, false)
	var alike, all [][2]string
	for _, a := range from {
		for _, b := range to {
			if a.level == b.level {
				continue
			}
			all = append(all, [2]string{a.level, b.level})
			if a.rest == b.rest {
				alike = append(alike, [2]string{a.level, b.level})
			}
		}
	}
	if len(alike) > 0 {
		return alike
	}
	if len(all) == 0 {
		return partOfRange(sweep, t, measured)
	}
	return all
}

// partOfRange returns the outermost measured levels between both ends of a trend, if levels are numbers and an end was
// not measured: what rises from 32 to 256 threads rises from 128 to 256 as well. It is nil if fewer than two were
// measured.
func partOfRange(sweep *published.Sweep, t *published.Trend, measured []string) [][2]string {
	place := func(name string) int {
		return slices.IndexFunc(sweep.Levels, func(l published.Level) bool { return l.Name == name })
	}
	from, to := place(trendEnd(sweep, t.From)), place(trendEnd(sweep, t.To))
	if from < 0 || to < 0 || !numbered(sweep) {
		return nil
	}
	var between []string
	for i := from; i <= to; i++ {
		if name := sweep.Levels[i].Name; slices.Contains(measured, name) || name == sweep.Baseline && len(measured) > 0 {
			between = append(between, name)
		}
	}
	if len(between) < 2 {
		return nil
	}
	return [][2]string{{between[0], between[len(between)-1]}}
}

// numbered reports whether all levels of a sweep are numbers, such as 25M, so they have an order.
func numbered(sweep *published.Sweep) bool {
	return !slices.ContainsFunc(sweep.Levels, func(l published.Level) bool {
		_, err := strconv.ParseFloat(strings.TrimSuffix(l.Name, "M"), 64)
		return err != nil
	})
}

// side is a level that an end of a trend names, and the rest of its name.
type side struct{ level, rest string }

func trendSide(sweep *published.Sweep, name string, measured []string, first bool) []side {
	if l := trendEnd(sweep, name); l != "" {
		if !slices.Contains(measured, l) {
			return nil
		}
		return []side{{level: l}}
	}
	if len(measured) == 0 {
		return nil
	}
	if name == "" || strings.HasPrefix(name, "the ") { // the smallest, the largest, the most
		if first {
			return []side{{level: measured[0]}}
		}
		return []side{{level: measured[len(measured)-1]}}
	}
	var list []side
	wanted := strings.ToLower(strings.ReplaceAll(strings.TrimSuffix(name, "ores"), " ", ""))
	for _, level := range measured {
		tokens := strings.FieldsFunc(strings.ToLower(level), func(r rune) bool { return r == '+' || r == ',' })
		rest := slices.DeleteFunc(tokens, func(s string) bool { return strings.ReplaceAll(s, " ", "") == wanted })
		if len(rest) < len(strings.FieldsFunc(level, func(r rune) bool { return r == '+' || r == ',' })) {
			list = append(list, side{level, strings.Join(rest, ",")})
		}
	}
	return list
}

// between returns the ratio of two levels from their ratios to the baseline. It is exact if one of them is the
// baseline. Otherwise its interval is as wide as both intervals allow, because their common part does not cancel.
func between(sweep *published.Sweep, by source, a, b, metric string) *measurement {
	if a == sweep.Baseline {
		return complete(first(by.measure(b, metric)))
	}
	x := complete(first(by.measure(a, metric)))
	if x == nil {
		return nil
	}
	inverse := *x
	inverse.ratio, inverse.low, inverse.high = 1/x.ratio, 1/x.high, 1/x.low
	turned := map[record.Verdict]record.Verdict{record.Better: record.Worse, record.Worse: record.Better}
	inverse.verdict = cmp.Or(turned[x.verdict], x.verdict)
	if b == sweep.Baseline {
		return &inverse
	}
	y := complete(first(by.measure(b, metric)))
	if y == nil {
		return nil
	}
	m := measurement{part: x.part, metric: x.metric, n: min(x.n, y.n),
		ratio: y.ratio / x.ratio, low: y.low / x.high, high: y.high / x.low}
	m.verdict = verdictOf(m.low, m.high, by.margin)
	if x.single || y.single {
		m.single, m.note, m.verdict = true, cmp.Or(x.note, y.note), record.Inconclusive
	}
	return &m
}

func first[T, R any](x T, _ R) T { return x }

// complete returns nil for a measurement without a ratio or an interval.
func complete(m *measurement) *measurement {
	if m == nil || !(m.ratio > 0 && m.low > 0 && m.high > 0) || math.IsInf(m.ratio+m.low+m.high, 0) {
		return nil
	}
	return m
}

// verdictOf returns the verdict for the interval of a ratio. More is called better, whatever the metric.
func verdictOf(low, high, margin float64) record.Verdict {
	switch bound := 1 + margin; {
	case low >= 1/bound && high <= bound:
		return record.Equivalent
	case low > 1:
		return record.Better
	case high < 1:
		return record.Worse
	}
	return record.Inconclusive
}

// trendAgreement compares a direction with a ratio.
func trendAgreement(goes string, m *measurement) (record.Agreement, string) {
	if m.single {
		return record.Undecided, m.note
	}
	if m.verdict == record.Inconclusive && (m.low > 1 || m.high < 1) {
		return record.Undecided, excludesOne
	}
	if m.verdict == record.Inconclusive {
		return record.Undecided, cmp.Or(m.note, includesOne)
	}
	here := "it rises here"
	switch {
	case m.verdict == record.Equivalent:
		here = "there is no relevant difference here"
	case m.ratio < 1:
		here = "it falls here"
	}
	ok := goes == "steady" && m.verdict == record.Equivalent ||
		goes == "rises" && m.verdict != record.Equivalent && m.ratio > 1 ||
		goes == "falls" && m.verdict != record.Equivalent && m.ratio < 1
	if ok {
		return record.Agrees, here
	}
	return record.Disagrees, here
}
