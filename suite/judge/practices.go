package judge

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/plimsoll-bench/plimsoll/internal/figure"
	"github.com/plimsoll-bench/plimsoll/measure/stats"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/spec"
)

// practices returns advice from the measurements of this suite, independent of the document.
func (s *Suite) practices() (all []record.SuitePractice) {
	for i := range s.Parts {
		p := &s.Parts[i]
		var list []record.SuitePractice
		switch {
		case p.invalid() != "":
			list = []record.SuitePractice{{Setting: "-", Advice: "no advice", Rests: "its result is invalid"}}
		case p.Study != nil:
			list = studyPractices(p.Study)
		case p.Drill != nil:
			list = []record.SuitePractice{drillPractice(p)}
		case p.Probe != nil:
			list = probePractices(p.Probe)
		}
		for _, a := range list {
			a.Part = p.Name
			all = append(all, a)
		}
	}
	return all
}

func studyPractices(s *record.Study) (list []record.SuitePractice) {
	for i := range s.Procedures {
		if p := &s.Procedures[i]; p.Chosen > 0 {
			advice := "use " + procedureChosen(p)
			if !p.Settled {
				advice = "none: " + procedureChosen(p) + " is the best value that was tried, but the search found no answer"
			}
			list = append(list, record.SuitePractice{Setting: p.Path, Advice: advice, Rests: p.Reason})
		}
	}
	x := comparisonsOf(s)
	if len(x.metrics) == 0 {
		return list
	}
	for i := range s.Specification.Factors {
		if a, ok := x.practice(s, &s.Specification.Factors[i]); ok {
			list = append(list, a)
		}
	}
	return list
}

// procedureChosen formats the value that a procedure chose.
func procedureChosen(p *record.ProcedureResult) string {
	if strings.HasSuffix(p.Path, "duration") {
		return figure.Duration(time.Duration(p.Chosen * 1e9))
	}
	return figure.Count(int64(math.Round(p.Chosen)))
}

// leveled is a level of a factor with its comparison in one metric.
type leveled struct {
	name string
	id   string
	c    *record.Comparison
}

// practice returns the advice about a factor. ok is false if nothing was compared.
func (x *comparisons) practice(s *record.Study, f *spec.Factor) (a record.SuitePractice, ok bool) {
	base, by := x.levelsBy(s, f, x.metrics[0])
	for _, metric := range x.metrics[1:] { // use another metric if the first one shows no difference
		if len(by[record.Better])+len(by[record.Worse]) > 0 {
			break
		}
		if _, told := x.levelsBy(s, f, metric); len(told[record.Better])+len(told[record.Worse]) > 0 {
			by = told
		}
	}
	for _, list := range by {
		ok = ok || len(list) > 0
	}
	a = x.advised(f, base, by)
	a.Setting = f.Title()
	return a, ok
}

// levelsBy returns the levels of a factor by the verdict on a metric, smallest ratio first, and the name of the
// baseline.
func (x *comparisons) levelsBy(s *record.Study, f *spec.Factor, metric string) (base string,
	by map[record.Verdict][]leveled) {
	by = map[record.Verdict][]leveled{}
	for i := range s.Configurations {
		c := &s.Configurations[i]
		if c.ID == x.baseline {
			base = c.Levels[f.Title()]
			continue
		}
		found := x.of[[2]string{c.ID, metric}]
		if c.Factor != f.Title() || found == nil || found.Ratio == nil {
			continue
		}
		by[found.Verdict] = append(by[found.Verdict], leveled{c.Levels[f.Title()], c.ID, found})
	}
	for _, list := range by {
		slices.SortStableFunc(list, func(a, b leveled) int { return cmp.Compare(*a.c.Ratio, *b.c.Ratio) })
	}
	return base, by
}

// advised returns what follows from levels that are better, worse, equivalent or inconclusive.
func (x *comparisons) advised(f *spec.Factor, base string, by map[record.Verdict][]leveled) (a record.SuitePractice) {
	better, worse, equal, open := by[record.Better], by[record.Worse], by[record.Equivalent], by[record.Inconclusive]
	if len(better)+len(worse)+len(equal)+len(open) == 0 {
		return a
	}
	told := slices.Concat(better, worse)
	slices.SortStableFunc(told, func(a, b leveled) int { return cmp.Compare(b.gain(), a.gain()) })
	switch kind := kindOfFactor(f); {
	case len(told) == 0 && len(open) == 0:
		a.Advice = map[factorKind]string{
			demand: "no relevant difference", method: "runs may be this short",
			choice:     "use the cheapest level: there is no relevant difference",
			protection: "use the level that protects most: it costs nothing relevant",
		}[kind]
		a.Rests = fmt.Sprintf("%s within a margin of %s, n = %d", namesOf(equal), figure.Percent(equal[0].c.Margin),
			equal[0].c.N)
		return a
	case len(told) == 0:
		a.Advice = "none: the levels cannot be distinguished"
		a.Rests = fmt.Sprintf("%s: n = %d. Run more trials", namesOf(open), open[0].c.N)
		return a
	case kind == protection:
		a.Advice = "choose by what may be lost; the price is measured"
	case kind == demand:
		a.Advice = "plan for it: it changes the capacity"
	case kind == method:
		a.Advice = "compare only runs of the same length, because the length changes the result"
	case len(better) > 0 && x.slower(told[0].id):
		a.Advice = told[0].name + " has a higher throughput but longer times than " + base + ": choose which matters more"
	case len(better) > 0:
		best := told[0].name
		a.Advice = "prefer " + best + " to " + base
		if len(better) > 1 {
			others := slices.DeleteFunc(slices.Clone(better), func(l leveled) bool { return l.name == best })
			a.Advice += " (not compared with " + namesOf(others) + ")"
		}
	default:
		a.Advice = "keep " + base + " rather than " + namesOf(worse)
	}
	for _, l := range told {
		a.Levels = append(a.Levels, x.price(l))
	}
	var rests []string
	if len(open) > 0 {
		rests = append(rests, "inconclusive: "+namesOf(open))
	}
	if len(equal) > 0 {
		rests = append(rests, "no relevant difference: "+namesOf(equal))
	}
	a.Rests = strings.Join(rests, "; ")
	return a
}

// gain returns how many times as good as the baseline a level is.
func (l leveled) gain() float64 {
	if l.c.Higher {
		return *l.c.Ratio
	}
	return 1 / *l.c.Ratio
}

// slower reports whether any metric where less is better is worse than at the baseline.
func (x *comparisons) slower(id string) bool {
	return slices.ContainsFunc(x.metrics, func(metric string) bool {
		c := x.of[[2]string{id, metric}]
		return c != nil && !c.Higher && c.Verdict == record.Worse
	})
}

// price returns the significant changes of a level in all metrics.
func (x *comparisons) price(l leveled) record.SuiteLevel {
	p := record.SuiteLevel{Level: l.name, N: l.c.N, Changes: []record.SuiteChange{}}
	for _, metric := range x.metrics {
		if c := x.of[[2]string{l.id, metric}]; c != nil && (c.Verdict == record.Better || c.Verdict == record.Worse) {
			p.Changes = append(p.Changes, record.SuiteChange{Metric: c.Metric, Unit: c.Unit, Ratio: c.Ratio,
				Low: c.Low, High: c.High, Difference: c.Difference})
		}
	}
	return p
}

func namesOf(list []leveled) string {
	var names []string
	for _, l := range list {
		names = append(names, l.name)
	}
	return strings.Join(names, ", ")
}

// protecting are the keys that decide what survives a failure. A higher throughput alone is no reason to change them.
var protecting = []string{"durability", "lab.storage.checksum", "lab.storage.redundancy", "lab.storage.tolerate",
	"lab.topology.kind", "lab.topology.members", "lab.topology.acknowledge"}

// factorKind is what a user can do about a factor.
type factorKind int

const (
	choice     factorKind = iota
	protection            // it decides what survives a failure
	demand                // it is given by the application
	method                // it is the length of the measurement
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

func drillPractice(p *Part) record.SuitePractice {
	d := p.Drill
	a := record.SuitePractice{Setting: cmp.Or(p.Level, "failure")}
	rounds, lossy := lossRounds(d)
	felt := noticingOf(d)
	switch {
	case lossy > 0:
		a.Advice = "do not rely on it if this failure can happen: acknowledged writes are lost"
		most := figure.Plural(int(d.Losses.Max), "acknowledged write")
		a.Rests = fmt.Sprintf("%d of %s lost up to %s", lossy, figure.Plural(rounds, "round"), most)
		return a
	case felt.unknown != "":
		a.Advice, a.Rests = "none", felt.unknown
		return a
	case felt.n > 0:
		a.Advice = "expect an interruption"
	default:
		a.Advice = "nothing to do: users notice nothing"
	}
	a.Rests = felt.String()
	if rounds > 0 {
		high := stats.BinomialInterval(0, rounds, lossConfidence).High
		a.Rests += fmt.Sprintf("; the probability of a loss is at most %s", percent(high))
	} else {
		a.Advice += "; writes are not acknowledged, so they may be lost"
	}
	return a
}

// probePractices returns the advice about threads for each ramp of a probe.
func probePractices(p *record.Probe) (list []record.SuitePractice) {
	for _, r := range p.Ramps {
		a := record.SuitePractice{Setting: "threads, " + r.Operation, Rests: "the ramp of this probe, with one measurement per step",
			Advice: "more threads helped up to the largest number: try more"}
		if r.Threads > 0 {
			a.Advice = fmt.Sprintf("use %s: more do not help", figure.Plural(r.Threads, "thread"))
		}
		list = append(list, a)
	}
	return list
}
