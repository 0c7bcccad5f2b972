package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/plimsoll-bench/plimsoll/internal/figure"
	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/spec"
)

// A practice is advice that follows from what was measured, and what it rests on.
type practice struct{ setting, advice, rests string }

// practicesSection is what the measurements of this suite advise, whatever the document says. Where nothing could be told there is
// no advice, and it says so.
func (s *Suite) practicesSection() Section {
	x := Section{Title: "best practices from what was measured here", Table: &Table{Left: 4, Header: []string{"part", "setting", "advice", "it rests on"}}}
	for i := range s.Parts {
		p := &s.Parts[i]
		var list []practice
		switch {
		case len(p.findings()) > 0 && measure.Worst(p.findings()) == measure.Invalid:
			list = []practice{{"-", "no advice", "its result is invalid"}}
		case p.Study != nil:
			list = studyPractices(p.Study)
		case p.Drill != nil:
			list = []practice{drillPractice(p)}
		case p.Probe != nil:
			list = probePractices(p.Probe)
		}
		for _, a := range list {
			x.Table.row(p.Name, a.setting, a.advice, a.rests)
		}
	}
	if len(x.Table.Rows) > 0 {
		x.Lines = []string{"only from differences whose interval leaves out that there is none, on this machine and at this scale; a change is against the baseline of its part"}
		if s.Record.Budget == record.BudgetSmoke {
			x.Lines = []string{"this was a smoke test, so that no advice follows from it; the table shows how it would be told"}
		}
	}
	return x
}

// studyPractices are those of the procedures and of each factor of a study.
func studyPractices(s *record.Study) (list []practice) {
	for i := range s.Procedures {
		if p := &s.Procedures[i]; p.Chosen > 0 {
			advice := "use " + procedureChosen(p)
			if !p.Settled {
				advice = "none: " + procedureChosen(p) + " is the best that was tried, and no answer was found"
			}
			list = append(list, practice{p.Path, advice, p.Reason})
		}
	}
	v := newStudyView(s)
	if len(v.metrics) == 0 {
		return list
	}
	for i := range s.Specification.Factors {
		f := &s.Specification.Factors[i]
		if a, ok := v.practice(f); ok {
			list = append(list, a)
		}
	}
	return list
}

// procedureChosen is a value that a procedure chose, as people write it.
func procedureChosen(p *record.ProcedureResult) string {
	if strings.HasSuffix(p.Path, "duration") {
		return nanoseconds(p.Chosen * 1e9)
	}
	return figure.Count(int64(math.Round(p.Chosen)))
}

// leveled is a level of a factor with what was found of a metric.
type leveled struct {
	name string
	id   string
	c    *record.Comparison
}

// practice is what the levels of a factor advise; ok is false if nothing was compared.
func (v *studyView) practice(f *spec.Factor) (a practice, ok bool) {
	base, by := v.levelsBy(f, v.metrics[0].name)
	for _, m := range v.metrics[1:] { // where the first one tells nothing, another one may
		if len(by[record.Better])+len(by[record.Worse]) > 0 {
			break
		}
		if _, told := v.levelsBy(f, m.name); len(told[record.Better])+len(told[record.Worse]) > 0 {
			by = told
		}
	}
	for _, list := range by {
		ok = ok || len(list) > 0
	}
	a.setting = FactorName(f)
	a.advice, a.rests = v.advised(f, base, by)
	return a, ok
}

// levelsBy are the levels of a factor by the verdict on a metric, from the least change on, and the name of the baseline.
func (v *studyView) levelsBy(f *spec.Factor, metric string) (base string, by map[record.Verdict][]leveled) {
	by = map[record.Verdict][]leveled{}
	for i := range v.study.Configurations {
		c := &v.study.Configurations[i]
		if c.ID == v.baseline {
			base = c.Levels[FactorName(f)]
			continue
		}
		x := v.of[[2]string{c.ID, metric}]
		if c.Factor != FactorName(f) || x == nil || x.Ratio == nil {
			continue
		}
		by[x.Verdict] = append(by[x.Verdict], leveled{c.Levels[FactorName(f)], c.ID, x})
	}
	for _, list := range by {
		slices.SortStableFunc(list, func(a, b leveled) int { return cmp.Compare(*a.c.Ratio, *b.c.Ratio) })
	}
	return base, by
}

// advised says what follows from levels that are better, worse, equal, or cannot be told from the baseline.
func (v *studyView) advised(f *spec.Factor, base string, by map[record.Verdict][]leveled) (advice, rests string) {
	better, worse, equal, open := by[record.Better], by[record.Worse], by[record.Equivalent], by[record.Inconclusive]
	all := slices.Concat(better, worse, equal, open)
	if len(all) == 0 {
		return "", ""
	}
	told := slices.Concat(better, worse)
	slices.SortStableFunc(told, func(a, b leveled) int { return cmp.Compare(b.gain(), a.gain()) })
	switch kind := kindOfFactor(f); {
	case len(told) == 0 && len(open) == 0:
		return map[factorKind]string{demand: "it makes no difference that matters", method: "a run may be as short as that", choice: "take what costs least: no level makes a difference that matters",
			protection: "take what protects most: it costs nothing that matters"}[kind], fmt.Sprintf("%s within a margin of %s, n = %d", namesOf(equal), figure.Percent(equal[0].c.Margin), equal[0].c.N)
	case len(told) == 0:
		return "none: too uncertain to tell the levels apart", fmt.Sprintf("%s: n = %d; more trials", namesOf(open), open[0].c.N)
	case kind == protection:
		advice = "choose by what may be lost, and count the price"
	case kind == demand:
		advice = "plan for it: it changes what is carried"
	case kind == method:
		advice = "compare only runs of the same length: it changes the result"
	case len(better) > 0 && v.slower(told[0].id):
		advice = told[0].name + " gives more and takes longer than " + base + ": choose by which of both counts"
	case len(better) > 0:
		best := told[0].name
		advice = "prefer " + best + " to " + base
		if len(better) > 1 {
			advice += "; how it stands to " + namesOf(slices.DeleteFunc(slices.Clone(better), func(l leveled) bool { return l.name == best })) + " was not compared"
		}
	default:
		advice = "keep " + base + " rather than " + namesOf(worse)
	}
	var words []string
	for _, l := range told {
		words = append(words, v.price(l))
	}
	if len(open) > 0 {
		words = append(words, "not told: "+namesOf(open))
	}
	if len(equal) > 0 {
		words = append(words, "no difference that matters: "+namesOf(equal))
	}
	return advice, strings.Join(words, "; ")
}

// gain is how many times as good a level is as the baseline.
func (l leveled) gain() float64 {
	if l.c.Higher {
		return *l.c.Ratio
	}
	return 1 / *l.c.Ratio
}

// slower says whether some time is certainly longer than at the baseline.
func (v *studyView) slower(id string) bool {
	return slices.ContainsFunc(v.metrics, func(m metric) bool {
		x := v.of[[2]string{id, m.name}]
		return x != nil && !x.Higher && x.Verdict == record.Worse
	})
}

// price is what a level changes for certain, in all metrics.
func (v *studyView) price(l leveled) string {
	var words []string
	for _, m := range v.metrics {
		x := v.of[[2]string{l.id, m.name}]
		if x == nil || x.Verdict != record.Better && x.Verdict != record.Worse {
			continue
		}
		words = append(words, heading(m.name)+" "+ChangeText(x)+" "+IntervalText(x))
	}
	return fmt.Sprintf("%s: %s, n = %d", l.name, strings.Join(words, ", "), l.c.N)
}

func namesOf(list []leveled) string {
	var names []string
	for _, l := range list {
		names = append(names, l.name)
	}
	return strings.Join(names, ", ")
}

// protecting are the keys of a study that decide what survives a failure: more operations alone are no reason to change them.
var protecting = []string{"durability", "lab.storage.checksum", "lab.storage.redundancy", "lab.storage.tolerate", "lab.topology.kind", "lab.topology.members", "lab.topology.acknowledge"}

// factorKind says what a person can do about a factor.
type factorKind int

const (
	choice     factorKind = iota
	protection            // it decides what survives a failure
	demand                // it is what users bring
	method                // it is how long one measures
)

func kindOfFactor(f *spec.Factor) factorKind {
	paths := map[string]bool{}
	if f.Path != "" {
		paths[f.Path] = true
	}
	for _, l := range f.Levels {
		for path := range l.Set {
			paths[path] = true
		}
	}
	demands, methods := 0, 0
	for path := range paths {
		switch {
		case slices.ContainsFunc(protecting, func(p string) bool { return path == p || strings.HasPrefix(path, p+".") }):
			return protection
		case strings.HasPrefix(path, "workload."):
			demands++
		case path == "load.duration" || path == "load.operations":
			methods++
		}
	}
	switch n := len(paths); {
	case n > 0 && demands == n:
		return demand
	case n > 0 && methods == n:
		return method
	}
	return choice
}

// drillPractice is what the rounds of a failure advise.
func drillPractice(p *SuitePart) practice {
	d := p.Drill
	a := practice{setting: cmp.Or(p.Level, "failure")}
	rounds, lossy := lossRounds(d)
	found, _, why := drillWords(d, true)
	switch {
	case lossy > 0:
		a.advice = "do not rely on it where this can happen: acknowledged writes are lost"
		a.rests = fmt.Sprintf("%d of %s lost up to %s", lossy, figure.Plural(rounds, "round"), figure.Plural(int(d.Losses.Max), "acknowledged write"))
		return a
	case found == "":
		a.advice, a.rests = "none", why
		return a
	case strings.HasPrefix(found, "noticed"):
		a.advice = "expect an interruption"
	default:
		a.advice = "nothing to do: nobody noticed"
	}
	a.rests = found
	if rounds > 0 {
		_, high := chanceInterval(0, rounds)
		a.rests += fmt.Sprintf(", which leaves room for a chance of loss of up to %s", percent(high))
	} else {
		a.advice += "; nobody promised that a write is there"
	}
	return a
}

// probePractices are how many threads storage is worth asking with.
func probePractices(p *record.Probe) (list []practice) {
	for _, r := range p.Ramps {
		a := practice{"threads, " + r.Operation, "more threads helped to the end: try more", "the ramp of this probe, each step once"}
		if r.Threads > 0 {
			a.advice = fmt.Sprintf("use %s: more do not help", figure.Plural(r.Threads, "thread"))
		}
		list = append(list, a)
	}
	return list
}
