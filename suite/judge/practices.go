package judge

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/plimsoll-bench/plimsoll/internal/figure"
	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/measure/stats"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/spec"
)

// practices are what the measurements of this suite advise, whatever the document says. Where nothing could be told
// there is no advice, and it says so.
func (s *Suite) practices() (all []record.SuitePractice) {
	for i := range s.Parts {
		p := &s.Parts[i]
		var list []record.SuitePractice
		switch {
		case len(p.Findings()) > 0 && measure.Worst(p.Findings()) == measure.Invalid:
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

// studyPractices are those of the procedures and of each factor of a study.
func studyPractices(s *record.Study) (list []record.SuitePractice) {
	for i := range s.Procedures {
		if p := &s.Procedures[i]; p.Chosen > 0 {
			advice := "use " + procedureChosen(p)
			if !p.Settled {
				advice = "none: " + procedureChosen(p) + " is the best that was tried, and no answer was found"
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

// procedureChosen is a value that a procedure chose, as people write it.
func procedureChosen(p *record.ProcedureResult) string {
	if strings.HasSuffix(p.Path, "duration") {
		return figure.Duration(time.Duration(p.Chosen * 1e9))
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
func (x *comparisons) practice(s *record.Study, f *spec.Factor) (a record.SuitePractice, ok bool) {
	base, by := x.levelsBy(s, f, x.metrics[0])
	for _, metric := range x.metrics[1:] { // where the first one tells nothing, another one may
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

// levelsBy are the levels of a factor by the verdict on a metric, from the least change on, and the name of the
// baseline.
func (x *comparisons) levelsBy(s *record.Study, f *spec.Factor, metric string) (base string, by map[record.Verdict][]leveled) {
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

// advised says what follows from levels that are better, worse, equal, or cannot be told from the baseline.
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
			demand: "it makes no difference that matters", method: "a run may be as short as that",
			choice:     "take what costs least: no level makes a difference that matters",
			protection: "take what protects most: it costs nothing that matters",
		}[kind]
		a.Rests = fmt.Sprintf("%s within a margin of %s, n = %d", namesOf(equal), figure.Percent(equal[0].c.Margin), equal[0].c.N)
		return a
	case len(told) == 0:
		a.Advice = "none: too uncertain to tell the levels apart"
		a.Rests = fmt.Sprintf("%s: n = %d; more trials", namesOf(open), open[0].c.N)
		return a
	case kind == protection:
		a.Advice = "choose by what may be lost, and count the price"
	case kind == demand:
		a.Advice = "plan for it: it changes what is carried"
	case kind == method:
		a.Advice = "compare only runs of the same length: it changes the result"
	case len(better) > 0 && x.slower(told[0].id):
		a.Advice = told[0].name + " gives more and takes longer than " + base + ": choose by which of both counts"
	case len(better) > 0:
		best := told[0].name
		a.Advice = "prefer " + best + " to " + base
		if len(better) > 1 {
			others := slices.DeleteFunc(slices.Clone(better), func(l leveled) bool { return l.name == best })
			a.Advice += "; how it stands to " + namesOf(others) + " was not compared"
		}
	default:
		a.Advice = "keep " + base + " rather than " + namesOf(worse)
	}
	for _, l := range told {
		a.Levels = append(a.Levels, x.price(l))
	}
	var rests []string
	if len(open) > 0 {
		rests = append(rests, "not told: "+namesOf(open))
	}
	if len(equal) > 0 {
		rests = append(rests, "no difference that matters: "+namesOf(equal))
	}
	a.Rests = strings.Join(rests, "; ")
	return a
}

// gain is how many times as good a level is as the baseline.
func (l leveled) gain() float64 {
	if l.c.Higher {
		return *l.c.Ratio
	}
	return 1 / *l.c.Ratio
}

// slower says whether some time is certainly longer than at the baseline.
func (x *comparisons) slower(id string) bool {
	return slices.ContainsFunc(x.metrics, func(metric string) bool {
		c := x.of[[2]string{id, metric}]
		return c != nil && !c.Higher && c.Verdict == record.Worse
	})
}

// price is what a level changes for certain, in all metrics.
func (x *comparisons) price(l leveled) record.SuiteLevel {
	p := record.SuiteLevel{Level: l.name, N: l.c.N, Changes: []record.SuiteChange{}}
	for _, metric := range x.metrics {
		if c := x.of[[2]string{l.id, metric}]; c != nil && (c.Verdict == record.Better || c.Verdict == record.Worse) {
			p.Changes = append(p.Changes, record.SuiteChange{Metric: c.Metric, Unit: c.Unit, Ratio: c.Ratio, Low: c.Low, High: c.High,
				Difference: c.Difference})
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

// protecting are the keys of a study that decide what survives a failure: more operations alone are no reason to
// change them.
var protecting = []string{"durability", "lab.storage.checksum", "lab.storage.redundancy", "lab.storage.tolerate",
	"lab.topology.kind", "lab.topology.members", "lab.topology.acknowledge"}

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
func drillPractice(p *Part) record.SuitePractice {
	d := p.Drill
	a := record.SuitePractice{Setting: cmp.Or(p.Level, "failure")}
	rounds, lossy := lossRounds(d)
	felt := noticingOf(d)
	switch {
	case lossy > 0:
		a.Advice = "do not rely on it where this can happen: acknowledged writes are lost"
		most := figure.Plural(int(d.Losses.Max), "acknowledged write")
		a.Rests = fmt.Sprintf("%d of %s lost up to %s", lossy, figure.Plural(rounds, "round"), most)
		return a
	case felt.unknown != "":
		a.Advice, a.Rests = "none", felt.unknown
		return a
	case felt.n > 0:
		a.Advice = "expect an interruption"
	default:
		a.Advice = "nothing to do: nobody noticed"
	}
	a.Rests = felt.String()
	if rounds > 0 {
		high := stats.BinomialInterval(0, rounds, lossConfidence).High
		a.Rests += fmt.Sprintf(", which leaves room for a chance of loss of up to %s", percent(high))
	} else {
		a.Advice += "; nobody promised that a write is there"
	}
	return a
}

// probePractices are how many threads storage is worth asking with.
func probePractices(p *record.Probe) (list []record.SuitePractice) {
	for _, r := range p.Ramps {
		a := record.SuitePractice{Setting: "threads, " + r.Operation, Rests: "the ramp of this probe, each step once",
			Advice: "more threads helped to the end: try more"}
		if r.Threads > 0 {
			a.Advice = fmt.Sprintf("use %s: more do not help", figure.Plural(r.Threads, "thread"))
		}
		list = append(list, a)
	}
	return list
}
