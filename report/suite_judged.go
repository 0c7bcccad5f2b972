package report

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/plimsoll-bench/plimsoll/internal/figure"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/suite/judge"
)

// headlines are the answers to “what did the document say, and what is it here”, as the judgement has them: of each
// figure what the document says most strongly.
func (s *Suite) headlines(word func(*SuiteFigure, *record.SuiteStatement) Point) (list []Point) {
	for _, i := range s.Record.Headlines {
		if i < 0 || i >= len(s.Record.Statements) {
			continue // a record may come from anybody
		}
		st := &s.Record.Statements[i]
		at := slices.IndexFunc(s.Figures, func(f SuiteFigure) bool { return f.Sweep != nil && f.Sweep.ID == st.Sweep })
		if at >= 0 {
			list = append(list, word(&s.Figures[at], st))
		}
	}
	return list
}

func (f *SuiteFigure) headline(st *record.SuiteStatement) Point {
	here, interval, _ := changeCells(st)
	what, there := f.Title()+" "+st.Level, cmp.Or(suiteStated(st), "-")
	if st.Kind == record.StatementWords {
		what = f.Title() + ": " + st.Level
	} else if !judge.Derived(f.Sweep) {
		what += ", " + suiteMetric(st)
	}
	if interval != "-" {
		here += " " + interval
	}
	if st.Agreement == record.NotStated {
		there = "-"
	}
	return Point{agreementGrade(st.Agreement), what + ":", fmt.Sprintf("there %s, here %s: %s", there, here, statementText(st))}
}

// short is a headline for a first screen, where the verdict and both figures have room.
func (f *SuiteFigure) short(st *record.SuiteStatement) Point {
	p := f.headline(st)
	what, _, _ := strings.Cut(st.Level, " (")
	if st.Kind != record.StatementWords && !judge.Derived(f.Sweep) {
		what += " " + suiteMetric(st)
	}
	figures, _, _ := strings.Cut(p.Text, ": "+statementText(st))
	return Point{p.Grade, agreementText(st.Agreement) + ":", what + ": " + figures}
}

// whyNotMeasured returns in a few words why statements of the document were not measured, the most common reason first;
// "" if all were.
func whyNotMeasured(s *Suite) string {
	words := map[record.Gap]string{
		record.GapTime: "of parts left out for lack of time", record.GapLevels: "of levels left out",
		record.GapHere: "need what is not here", record.GapOther: "for other reasons",
	}
	counts := map[record.Gap]int{}
	for _, st := range s.Record.Statements {
		if st.Agreement == record.NotMeasured {
			counts[st.Gap]++
		}
	}
	gaps := []record.Gap{record.GapTime, record.GapLevels, record.GapHere, record.GapOther}
	slices.SortStableFunc(gaps, func(a, b record.Gap) int { return cmp.Compare(counts[b], counts[a]) })
	var list []string
	for _, g := range gaps {
		if counts[g] > 0 {
			list = append(list, fmt.Sprintf("%d %s", counts[g], words[g]))
		}
	}
	return strings.Join(list, ", ")
}

func (s *Suite) adviceSection() Section {
	x := Section{Title: "best practices of the document",
		Table: &Table{Left: 4, Header: []string{"the document says", "here", "why", "but"}}}
	for _, a := range s.Record.Advice {
		x.Table.row(a.Says, agreementText(record.Agreement(a.Found)), a.Why, a.But)
	}
	return x
}

// practicesSection has the advice that follows from the measurements of this suite.
func (s *Suite) practicesSection() Section {
	x := Section{Title: "best practices from what was measured here",
		Table: &Table{Left: 4, Header: []string{"part", "setting", "advice", "evidence"}}}
	for i := range s.Record.Practices {
		p := &s.Record.Practices[i]
		var rests []string
		for _, l := range p.Levels {
			rests = append(rests, levelText(l))
		}
		if p.Rests != "" {
			rests = append(rests, p.Rests)
		}
		x.Table.row(p.Part, p.Setting, p.Advice, strings.Join(rests, "; "))
	}
	if len(x.Table.Rows) > 0 {
		x.Lines = []string{"based only on differences whose interval excludes no change, on this machine and at this scale; " +
			"a change is against the baseline of its part"}
		if s.Record.Budget == record.BudgetSmoke {
			x.Lines = []string{"this was a smoke test, so it supports no advice; the table shows the form only"}
		}
	}
	return x
}

func levelText(l record.SuiteLevel) string {
	var words []string
	for _, x := range l.Changes {
		c := record.Comparison{Unit: x.Unit, Ratio: x.Ratio, Low: x.Low, High: x.High, Difference: x.Difference}
		words = append(words, heading(x.Metric)+" "+changeText(&c)+" "+intervalText(&c))
	}
	return fmt.Sprintf("%s: %s, n = %d", l.Level, strings.Join(words, ", "), l.N)
}

func (s *Suite) lossSection() Section {
	x := Section{Title: "probability that a failure loses acknowledged writes", Table: &Table{Left: 1, Last: 1,
		Header: []string{"part", "rounds", "with a loss", "probability", "most lost in a round", "lost writes acknowledged", "writes without an answer"}}}
	for _, l := range s.Record.Losses {
		cells := []string{l.Part, "-", "-", "-", "-", "-", judge.GoneText(l.Unanswered, l.Gone)}
		if l.Rounds > 0 {
			cells[1], cells[2] = strconv.Itoa(l.Rounds), strconv.Itoa(l.Lossy)
			cells[3], cells[4] = judge.ChanceText(l.Low, l.High), figure.Count(l.Most)
		}
		if l.Oldest != nil {
			cells[5] = cmp.Or(windowText(*l.Oldest, l.After), "-")
		}
		x.Table.row(cells...)
	}
	if len(x.Table.Rows) > 0 {
		x.Lines = []string{"a round is one failure; the 95 % interval is exact (Clopper and Pearson) and wide for few rounds. " +
			"Writes without an answer were not acknowledged"}
	}
	return x
}

// drillUseSection compares what the drills of a suite used for each acknowledged write.
func (s *Suite) drillUseSection() Section {
	x := Section{Title: "resources used by the drills", Table: &Table{Left: 2, Header: []string{"part", "level", "members", "writes",
		"CPU of the servers", "for a write", "written", "for a write", "REST service", "load generator"}}}
	for _, u := range s.Record.Used {
		base := u
		if i := slices.IndexFunc(s.Record.Used, func(b record.SuiteUse) bool { return b.Part == u.Base }); i >= 0 {
			base = s.Record.Used[i]
		}
		x.Table.row(append([]string{u.Part, cmp.Or(u.Level, "-")}, useCells(u, base)...)...)
	}
	if len(x.Table.Rows) == 0 {
		return Section{}
	}
	x.Lines = []string{
		"CPU and bytes are those of all servers and other processes on their hosts, from before the load until redundancy was " +
			"back. Work of the kernel for virtual disks, such as copying to a mirror, is not included. Writes of plain hosts are not known.",
		"Each is divided by the acknowledged writes, because a target that is down writes less and uses less; in brackets the ratio to " +
			"the first part with the same load.",
		"REST service and load generator: CPU for an acknowledged write. They run outside the lab and are not included in the servers' figures.",
	}
	return x
}

func useCells(u, base record.SuiteUse) []string {
	each := func(total, baseTotal float64, print func(float64) string) (all, one string) {
		if total <= 0 || u.Writes <= 0 {
			return "-", "-"
		}
		one = print(total / float64(u.Writes))
		if baseTotal > 0 && base.Writes > 0 && u.Part != base.Part {
			one += " (×" + figure.Significant(total/float64(u.Writes)/(baseTotal/float64(base.Writes))) + ")"
		}
		return print(total), one
	}
	cpu, cpuEach := each(u.ServersCPU, base.ServersCPU, seconds)
	bytes := func(x float64) string { return figure.Bytes(int64(x)) }
	written, writtenEach := each(float64(u.ServersBytes), float64(base.ServersBytes), bytes)
	_, service := each(u.ServiceCPU, base.ServiceCPU, seconds)
	_, generator := each(u.GeneratorCPU, base.GeneratorCPU, seconds)
	return []string{strconv.Itoa(u.Members), figure.Count(u.Writes), cpu, cpuEach, written, writtenEach, service,
		generator}
}
