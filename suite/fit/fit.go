// Package fit makes the parts of a suite as small as they have to be to be done in a time, and says what it shed for
// that: before the suite begins ([Fit]), and again where it turns out that this machine takes longer than was thought
// ([Refit]).
//
// It is a pure function of the parts and the time: it runs nothing and looks at no machine. What a machine or a
// deployment does not allow is left out before, by the plan of the suite.
package fit

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/spec"
	"github.com/plimsoll-bench/plimsoll/study"
)

// Part is one part of a suite that is to be fitted into a time. Unless it is out, exactly one of Study, Drill and Probe
// is given, and it is complete.
type Part struct {
	// Name is that of the part, for what is left out.
	Name  string
	Study *spec.Study
	Drill *spec.Drill
	Probe *spec.PartProbe
	// Vital parts are kept longest.
	Vital bool
	// Variant parts repeat a previous one for another value, such as a second workload. They are left out before trials
	// become too few for a verdict.
	Variant bool
	// Estimate is the estimated time in seconds; 0 if it is left out.
	Estimate float64
	// Out is true if it is left out; Why is the reason in a sentence.
	Out bool
	Why string
	// Pace is the factor by which parts of its kind take longer on this machine than estimated; 0 is 1. It is included
	// in Estimate.
	Pace float64
	// Under is the rest of a running study. Only its trials can be reduced, and it is never left out.
	Under *study.Rest

	baseline map[string]string // levels of the baseline by factor, as planned
}

// kind is study, drill or probe.
func (p *Part) kind() string {
	switch {
	case p.Study != nil:
		return record.KindStudy
	case p.Drill != nil:
		return record.KindDrill
	}
	return record.KindProbe
}

// A shed makes a part smaller in place, and says how.
type shed func(p *Part) []spec.Left

// A step makes all parts smaller.
type step func(f *fitter)

// all takes a step with every part.
func all(s shed) step { return func(f *fitter) { f.apply(s) } }

// trials leaves so many trials of every study, also of one that is under way.
func trials(trials spec.Count) step {
	return func(f *fitter) {
		f.under(int(trials))
		f.apply(fewerTrials(trials))
	}
}

// toldTrials is the number of trials for a verdict that the rank test confirms. leastTrials is enough for a verdict
// from the t distribution alone.
const (
	toldTrials  = 4
	leastTrials = 3
)

// quickSteps is the order in which a suite gets smaller, so that what is left can be answered: trials as far as
// verdicts allow, then the length of each, then levels and data. What comes after that is in lastSteps, and other
// parts as a whole go last.
func quickSteps() []step {
	return []step{
		all(withoutCanaries), trials(toldTrials), all(fewerRounds(2, true)),
		all(shorter(5*time.Second, time.Second, 45*time.Second)),
		all(levelsLeft(false, false)), all(levelsLeft(true, true)), all(labsOnce),
		all(lessData(2, 0)), all(lessData(2, 0)), all(lessData(2.5, 0)),
		all(shorterProcedures), all(shorter(3*time.Second, time.Second, 30*time.Second)), all(fewerThreads(false)),
	}
}

// lastSteps cost answers, so they are only taken if the time is too short otherwise: second rounds (without which
// ratios of outages are unknown) of drills that are not vital, second values of repeated parts, the other second
// rounds, and at last fewer trials than a verdict needs.
func lastSteps() []step {
	return []step{
		all(levelsLeft(false, true)), all(fewerThreads(true)), all(fewerRounds(1, false)),
		(*fitter).leaveVariants,
		all(fewerRounds(1, true)), trials(leastTrials), trials(2),
	}
}

// fitSpare is the share of the time that what costs no answer leaves free: a machine that has something else to do
// takes longer. Where that is not enough more is shed while the suite is under way, which costs more than to have
// shed it before.
const fitSpare = 0.07

// smokeSteps is the same, at once and as small as it goes: it shows that everything works, and proves nothing.
func smokeSteps() []step {
	return []step{
		all(fewerTrials(1)), all(fewerRounds(1, true)), all(withoutCanaries), all(oneStepOfProcedures),
		all(levelsLeft(false, true)), all(levelsLeft(true, true)), all(oneLabFactor), all(labsOnce),
		all(shorter(2*time.Second, time.Second, 15*time.Second)), all(lessData(10, 10_000)), all(smallestProbe),
	}
}

// smokeSlack is the factor by which a smoke may exceed its time: "about a minute".
const smokeSlack = 1.25

// Allowed is the time for a suite that is fitted into a time.
func Allowed(budget time.Duration, smoke bool) time.Duration {
	if smoke {
		return time.Duration(smokeSlack * float64(budget))
	}
	return budget
}

// Fit makes the parts of a suite as small as they have to be to be done in a time, and says what it shed, in a fixed
// order. With a budget of 0 it sheds nothing and only estimates. Parts that are Out already stay so, and what is
// given stays as it is. With smoke everything is shed at once; of each kind of part one stays as long as one fits.
// The same parts give the same result.
func Fit(parts []Part, budget time.Duration, smoke bool) (fitted []Part, left []spec.Left) {
	f := fitter{why: fmt.Sprintf("to be done in %v", spec.Duration(budget)), limit: budget.Seconds()}
	for _, p := range parts {
		f.add(p)
	}
	f.first = true
	steps, goal := quickSteps(), f.limit*(1-fitSpare)
	if smoke {
		f.why = "to show in about a minute that it works"
		f.limit *= smokeSlack
		steps = smokeSteps()
	}
	if budget > 0 && (smoke || f.total() > f.limit) { // what fits as it is stays
		for _, take := range steps {
			if smoke || f.total() > goal {
				take(&f)
			}
		}
		if !smoke {
			f.shedLast()
		}
		f.leaveParts(smoke)
	}
	return f.parts, merged(f.kept())
}

// shedLast takes the steps that cost answers, as far as they are needed.
func (f *fitter) shedLast() {
	for _, take := range lastSteps() {
		if f.total() > f.limit {
			take(f)
		}
	}
}

// kept returns the cuts of parts that were not left out.
func (f *fitter) kept() (left []spec.Left) {
	for _, l := range f.left {
		i := slices.IndexFunc(f.parts, func(p Part) bool { return p.Name == l.Part })
		if !f.parts[i].Out || l.What == spec.LeftPart {
			left = append(left, l)
		}
	}
	return left
}

// fitter holds the parts while they get smaller.
type fitter struct {
	parts []Part
	left  []spec.Left
	why   string
	limit float64 // seconds
	first bool    // one part always stays, or nothing would be done
}

// add copies a part and estimates its time.
func (f *fitter) add(p Part) {
	p = p.copied()
	p.estimate()
	f.parts = append(f.parts, p)
}

func (f *fitter) total() (seconds float64) {
	for i := range f.parts {
		seconds += f.parts[i].Estimate
	}
	return seconds
}

// apply takes one step with every part. A part that could no longer be planned stays as it was.
func (f *fitter) apply(smallerBy shed) {
	for i := range f.parts {
		p := &f.parts[i]
		if p.Out || p.Under != nil {
			continue
		}
		smaller := p.copied()
		left := smallerBy(&smaller)
		if len(left) == 0 || !smaller.estimate() {
			continue
		}
		*p = smaller
		for _, l := range left {
			l.Part = p.Name
			if l.Why == "" {
				l.Why = f.why
			} else {
				l.Why = f.why + ": " + l.Why
			}
			f.left = append(f.left, l)
		}
	}
}

// leaveVariants leaves parts out that repeat another one for a second and later value, from the last one on, as many
// as have to go.
func (f *fitter) leaveVariants() {
	for i := len(f.parts) - 1; i >= 0 && f.total() > f.limit; i-- {
		if p := &f.parts[i]; p.Variant && !p.Out {
			f.leave(p, "another value of the same part is measured. With this one there would be too few trials of each")
		}
	}
}

// leave leaves a part out.
func (f *fitter) leave(p *Part, why string) {
	p.Why, p.Out, p.Estimate = why, true, 0
	f.left = append(f.left, spec.Left{Part: p.Name, What: spec.LeftPart, Why: f.why + ": " + why})
}

// leaveParts leaves whole parts out: those that are vital are taken first, then the others, each in their order as
// long as there is time. A smoke takes one of each kind before that.
func (f *fitter) leaveParts(smoke bool) {
	if f.total() <= f.limit {
		return
	}
	taken := make([]bool, len(f.parts))
	spent := 0.0
	take := func(i int) {
		taken[i] = true
		spent += f.parts[i].Estimate
	}
	if smoke {
		for _, i := range f.oneOfEachKind() {
			take(i)
		}
	}
	for i := range f.parts {
		if f.parts[i].Under != nil {
			f.end(&f.parts[i])
			take(i)
		}
	}
	for _, vital := range []bool{true, false} {
		for i := range f.parts {
			if p := &f.parts[i]; !p.Out && !taken[i] && p.Vital == vital &&
				(f.first && spent == 0 || spent+p.Estimate <= f.limit) {
				take(i)
			}
		}
	}
	for i := range f.parts {
		p := &f.parts[i]
		if p.Out || taken[i] {
			continue
		}
		f.leave(p, fmt.Sprintf("there is no time for it: even this small it takes about %v", spec.Duration(time.Duration(p.Estimate*1e9).Round(time.Second))))
	}
}

// oneOfEachKind is the first vital part of each kind, or else the first, or the shortest of each if that is too long;
// the longest kinds are not there if that is too long as well.
func (f *fitter) oneOfEachKind() []int {
	first := func(a, b int) bool { return f.parts[a].Vital && !f.parts[b].Vital }
	shortest := func(a, b int) bool { return f.parts[a].Estimate < f.parts[b].Estimate }
	var list []int
	for _, better := range []func(a, b int) bool{first, shortest} {
		if list = f.ofEachKind(better); f.sum(list) <= f.limit {
			return list
		}
	}
	for len(list) > 1 && f.sum(list) > f.limit {
		longest := slices.MaxFunc(list, func(a, b int) int { return cmp.Compare(f.parts[a].Estimate, f.parts[b].Estimate) })
		list = slices.DeleteFunc(list, func(i int) bool { return i == longest })
	}
	return list
}

func (f *fitter) ofEachKind(better func(a, b int) bool) (list []int) {
	for _, kind := range []string{record.KindStudy, record.KindDrill, record.KindProbe} {
		best := -1
		for i := range f.parts {
			if p := &f.parts[i]; !p.Out && p.kind() == kind && (best < 0 || better(i, best)) {
				best = i
			}
		}
		if best >= 0 {
			list = append(list, best)
		}
	}
	return list
}

func (f *fitter) sum(list []int) (seconds float64) {
	for _, i := range list {
		seconds += f.parts[i].Estimate
	}
	return seconds
}

// merged makes one entry of several steps that changed the same.
func merged(all []spec.Left) []spec.Left {
	var out []spec.Left
	for _, l := range all {
		i := slices.IndexFunc(out, func(o spec.Left) bool { return o.Part == l.Part && o.What == l.What && o.To != "" })
		if i < 0 || l.What == spec.LeftPart {
			out = append(out, l)
			continue
		}
		out[i].To, out[i].Why = l.To, l.Why
	}
	return out
}

// names joins names of levels.
func names(levels []spec.Level) string {
	var list []string
	for _, l := range levels {
		list = append(list, l.Name)
	}
	return strings.Join(list, ", ")
}
