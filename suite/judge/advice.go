package judge

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/plimsoll-bench/plimsoll/internal/figure"
	"github.com/plimsoll-bench/plimsoll/published"
	"github.com/plimsoll-bench/plimsoll/record"
)

// Derived reports whether a sweep is computed from other sweeps of its document: a multiplier, or a number of servers.
func Derived(sweep *published.Sweep) bool {
	return len(sweep.Metrics) == 1 && (sweep.Metrics[0] == "multiplier" || sweep.Metrics[0] == "nodes")
}

// derivedStatements returns the multiplier of each workload, or the number of servers. The servers are the document's
// own number times the multiplier, which assumes that throughput grows with the servers.
func (s *Suite) derivedStatements(sweep *published.Sweep) []record.SuiteStatement {
	var list []record.SuiteStatement
	servers := s.servers(sweep)
	for i := range sweep.Levels {
		level := &sweep.Levels[i]
		of := s.multiplierOf(level.Name)
		if of == nil {
			continue
		}
		st := s.stated(sweep, level.Name, sweep.Metrics[0])
		st.Baseline = of.Baseline
		m, means := (*measurement)(nil), span{math.NaN(), math.NaN()}
		if of.Ratio != nil && of.Low != nil {
			m = &measurement{part: of.Part, ratio: *of.Ratio, low: *of.Low, high: *of.High, n: of.N, verdict: of.Verdict}
		}
		if v, ok := level.Values[sweep.Metrics[0]]; ok {
			low, high := v.Between()
			if v.Bound == "about" {
				low, high = low-0.5, high+0.5
			}
			x := v.Number / servers
			st.Published, st.Bound, means = &x, v.Bound, span{low / servers, high / servers}
		}
		judgeRatio(&st, means, m, reason{cmp.Or(of.Why, "not measured"), cmp.Or(of.Gap, record.GapOther)}, once)
		if st.Ratio != nil {
			st.Found = derivedText(m, servers)
		}
		list = append(list, st)
	}
	return list
}

// servers returns 1 for a multiplier, otherwise the servers of the faster cluster.
func (s *Suite) servers(sweep *published.Sweep) float64 {
	if v, ok := s.Source.Value("nodes"); ok && sweep.Metrics[0] == "nodes" && v.Number > 0 {
		return v.Number
	}
	return 1
}

// multiplierOf returns the statement about the throughput of a workload, from which its multiplier is computed.
func (s *Suite) multiplierOf(workload string) *record.SuiteStatement {
	for _, sweep := range s.Source.Sweeps {
		if !strings.EqualFold(sweep.Workload, workload) || len(sweep.Levels) != 2 || sweep.Baseline == "" {
			continue
		}
		if len(s.showing(sweep)) == 0 {
			return &record.SuiteStatement{Baseline: sweep.Baseline, Why: "no part measured workload " + workload,
				Gap: record.GapOther}
		}
		for _, t := range s.sources(sweep) {
			for _, st := range s.statements(sweep, t) {
				if st.Metric == "throughput" {
					return &st
				}
			}
		}
	}
	return nil
}

func derivedText(m *measurement, servers float64) string {
	times := func(x float64) string { return figure.Significant(x * servers) }
	text := fmt.Sprintf("%s [%s, %s]", times(m.ratio), times(m.low), times(m.high))
	if servers == 1 {
		return "×" + text
	}
	return text + " servers"
}

func (s *Suite) derivedLines(sweep *published.Sweep) []string {
	servers := s.servers(sweep)
	if servers == 1 {
		return []string{"throughput of the faster device relative to the slower one, by workload"}
	}
	return []string{fmt.Sprintf("number of servers of the slower kind that match %s of the faster kind: %s times the "+
		"multiplier, with its interval", figure.Significant(servers), figure.Significant(servers)),
		"assumption, in the document and here: throughput grows linearly with the servers. Only one size was measured. " +
			"plimsoll size uses a measured scaling law if a study has several sizes"}
}

// advice judges the document's recommendations by the measurements of the figures that they rest on.
func (s *Suite) advice(shown []exhibit) []record.SuiteAdvice {
	var list []record.SuiteAdvice
	for i := range s.Source.Advice {
		a := &s.Source.Advice[i]
		x := record.SuiteAdvice{Says: a.Says, RestsOn: slices.Clone(a.RestsOn), But: a.But, Place: a.Place.String()}
		x.Found, x.Why = adviceFound(a, shown)
		list = append(list, x)
	}
	return list
}

// about reports whether a metric is the subject of a sweep: its first one, and CLASS.max if that is CLASS.min.
func about(sweep *published.Sweep, metric string) bool {
	first := sweep.Metrics[0]
	class, found := strings.CutSuffix(first, ".min")
	return metric == first || found && metric == class+".max"
}

// adviceFound decides by the statements about the subject of each sweep that an advice rests on.
func adviceFound(a *published.Advice, list []exhibit) (found record.AdviceWorth, why string) {
	if len(a.RestsOn) == 0 {
		return record.AdviceNotMeasured, "neither the document nor this suite measured it"
	}
	counts := map[record.Agreement]int{}
	shown, all, agree := false, 0, 0
	for i := range list {
		f := &list[i]
		if f.sweep == nil || !slices.ContainsFunc(a.RestsOn, f.sweep.Within) {
			continue
		}
		shown = true
		for k := range f.statements {
			st := &f.statements[k]
			named := slices.Contains(a.RestsOn, f.sweep.ID) || slices.Contains(a.RestsOn, f.sweep.ID+"/"+st.Level)
			if named && st.Counted() && about(f.sweep, st.Metric) {
				counts[st.Agreement]++
				all++
				if sameWay(st) {
					agree++
				}
			}
		}
	}
	basis := strings.Join(a.RestsOn, ", ")
	of := func(n int) string {
		return fmt.Sprintf("%d of %s behind it (%s)", n, figure.Plural(all, "statement"), basis)
	}
	against := counts[record.Disagrees]
	counts[record.Undecided] = all - agree - against - counts[record.NotMeasured]
	switch {
	case !shown:
		return record.AdviceNotMeasured, "no part repeats the measurements behind it (" + basis + ")"
	case all == 0:
		return record.AdviceUndecided, "the document states no figure behind it (" + basis + ") that could be compared with a measurement"
	case agree > 0 && against == 0:
		return record.AdviceHolds, of(agree) + " go in the same direction here" + adviceRest(counts)
	case against > 0 && agree == 0:
		return record.AdviceDoesNot, of(against) + " contradicted here" + adviceRest(counts)
	case against > 0:
		return record.AdviceUndecided, of(agree) + fmt.Sprintf(" go in the same direction here, %d contradicted", against) + adviceRest(counts)
	case counts[record.Undecided] > 0:
		return record.AdviceUndecided, "the measurements behind it (" + basis + ") are too uncertain"
	}
	return record.AdviceNotMeasured, "nothing behind it (" + basis + ") was measured"
}

// sameWay reports whether the direction of a statement was found here, whatever its size.
func sameWay(st *record.SuiteStatement) bool {
	certain := st.Verdict == record.Better || st.Verdict == record.Worse
	return st.Agreement == record.Agrees || st.Agreement == record.SameDirection ||
		st.Agreement == record.Compatible && certain
}

// adviceRest counts the statements without a verdict.
func adviceRest(counts map[record.Agreement]int) string {
	text := ""
	if n := counts[record.Undecided]; n > 0 {
		text += fmt.Sprintf(", %d inconclusive", n)
	}
	if n := counts[record.NotMeasured]; n > 0 {
		text += fmt.Sprintf(", %d not measured", n)
	}
	return text
}
