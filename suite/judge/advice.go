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

// Derived says whether a sweep follows from others of its document: how many times faster, and how many servers that
// is.
func Derived(sweep *published.Sweep) bool {
	return len(sweep.Metrics) == 1 && (sweep.Metrics[0] == "multiplier" || sweep.Metrics[0] == "nodes")
}

// derivedStatements are the multipliers of each workload, or the servers that they come to. The servers are the
// document's own number times the multiplier, which assumes that throughput grows with the servers.
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
		m, means := (*taken)(nil), span{math.NaN(), math.NaN()}
		if of.Ratio != nil && of.Low != nil {
			m = &taken{part: of.Part, ratio: *of.Ratio, low: *of.Low, high: *of.High, n: of.N, verdict: of.Verdict}
		}
		if v, ok := level.Values[sweep.Metrics[0]]; ok {
			low, high := v.Between()
			if v.Bound == "about" {
				low, high = low-0.5, high+0.5
			}
			x := v.Number / servers
			st.Published, st.Bound, means = &x, v.Bound, span{low / servers, high / servers}
		}
		judgeRatio(&st, means, m, lack{cmp.Or(of.Why, "not measured"), cmp.Or(of.Gap, record.GapOther)}, once)
		if st.Ratio != nil {
			st.Found = derivedText(m, servers)
		}
		list = append(list, st)
	}
	return list
}

// servers is 1 for a multiplier, and the servers of the faster cluster for equivalent ones.
func (s *Suite) servers(sweep *published.Sweep) float64 {
	if v, ok := s.Source.Value("nodes"); ok && sweep.Metrics[0] == "nodes" && v.Number > 0 {
		return v.Number
	}
	return 1
}

// multiplierOf is the statement on the throughput of a workload that a multiplier is made of, with its own ratio.
func (s *Suite) multiplierOf(workload string) *record.SuiteStatement {
	for _, sweep := range s.Source.Sweeps {
		if !strings.EqualFold(sweep.Workload, workload) || len(sweep.Levels) != 2 || sweep.Baseline == "" {
			continue
		}
		if len(s.showing(sweep)) == 0 {
			return &record.SuiteStatement{Baseline: sweep.Baseline, Why: "no part measured workload " + workload, Gap: record.GapOther}
		}
		for _, t := range s.takers(sweep) {
			for _, st := range s.statements(sweep, t) {
				if st.Metric == "throughput" {
					return &st
				}
			}
		}
	}
	return nil
}

// derivedText is a multiplier or a number of servers with its uncertainty.
func derivedText(m *taken, servers float64) string {
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
		return []string{"how many times as much the faster device gives, workload by workload"}
	}
	return []string{fmt.Sprintf("how many servers of the slower kind give what %s of the faster kind give: %s times the multiplier, with its interval",
		figure.Significant(servers), figure.Significant(servers)),
		"assumed, there as here: throughput grows with the servers. More than one size was measured by nobody; plimsoll size takes a measured law of scaling where a study has several sizes"}
}

// advice holds what the document recommends against what was measured of the figures that it rests on.
func (s *Suite) advice(shown []exhibit) []record.SuiteAdvice {
	var list []record.SuiteAdvice
	for i := range s.Source.Advice {
		a := &s.Source.Advice[i]
		x := record.SuiteAdvice{Says: a.Says, RestsOn: a.RestsOn, But: a.But, Place: a.Place.String()}
		x.Found, x.Why = adviceFound(a, shown)
		list = append(list, x)
	}
	return list
}

// about says whether a metric is what a sweep is about: its first one, and the longest call where that is the shortest.
func about(sweep *published.Sweep, metric string) bool {
	first := sweep.Metrics[0]
	class, found := strings.CutSuffix(first, ".min")
	return metric == first || found && metric == class+".max"
}

// adviceFound decides by what each sweep that an advice rests on is about: that is what the advice is about.
func adviceFound(a *published.Advice, list []exhibit) (found record.AdviceWorth, why string) {
	if len(a.RestsOn) == 0 {
		return record.AdviceNotMeasured, "the document measured nothing of the kind, and neither did this suite"
	}
	counts := map[record.Agreement]int{}
	shown, all := false, 0
	for i := range list {
		f := &list[i]
		if f.sweep == nil || !slices.ContainsFunc(a.RestsOn, f.sweep.Within) {
			continue
		}
		shown = true
		for k := range f.statements {
			st := &f.statements[k]
			whole := slices.Contains(a.RestsOn, f.sweep.ID) || slices.Contains(a.RestsOn, f.sweep.ID+"/"+st.Level)
			if whole && st.Counted() && about(f.sweep, st.Metric) {
				counts[st.Agreement]++
				all++
			}
		}
	}
	rests := "what it rests on (" + strings.Join(a.RestsOn, ", ") + ")"
	told := func(n int, what string) string {
		verb := map[bool]string{true: "was", false: "were"}[n == 1]
		return fmt.Sprintf("%d of %s behind it (%s) %s %s", n, figure.Plural(all, "statement"), strings.Join(a.RestsOn, ", "), verb, what)
	}
	agree, against := counts[record.Agrees]+counts[record.SameDirection], counts[record.Disagrees]
	switch {
	case !shown:
		return record.AdviceNotMeasured, "no part repeats " + rests
	case all == 0:
		return record.AdviceNotTold, "of " + rests + " the document states no figure that could be held against the measurement"
	case agree > 0 && against == 0:
		return record.AdviceHolds, told(agree, "found here too") + adviceRest(counts)
	case against > 0 && agree == 0:
		return record.AdviceDoesNot, told(against, "not found here") + adviceRest(counts)
	case against > 0:
		return record.AdviceNotTold, told(agree, fmt.Sprintf("found here too, and %d not", against)) + adviceRest(counts)
	case counts[record.NotTold] > 0:
		return record.AdviceNotTold, fmt.Sprintf("the measurements of %s are too uncertain to say", rests)
	}
	return record.AdviceNotMeasured, "nothing of " + rests + " was measured"
}

// adviceRest tells the statements that say nothing.
func adviceRest(counts map[record.Agreement]int) string {
	text := ""
	if n := counts[record.NotTold]; n > 0 {
		text += fmt.Sprintf(", %d could not be told", n)
	}
	if n := counts[record.NotMeasured]; n > 0 {
		text += fmt.Sprintf(", %d not measured", n)
	}
	return text
}
