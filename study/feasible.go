package study

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/plimsoll-bench/plimsoll/internal/figure"
	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/spec"
)

// What is certain before anything runs is refused before anything runs.

// atLeast is how long a run takes even if nothing is slow: its warm-up and its measured time. Operations that end it
// take the time that their rate gives them, or none that is known.
func atLeast(l spec.Load) time.Duration {
	measured := l.Duration.Std()
	if measured == 0 && l.Operations == 0 {
		for _, s := range l.Stages {
			measured += s.Duration.Std()
		}
	}
	if l.Operations > 0 {
		offered := float64(l.Rate)
		if offered == 0 && !l.Open() {
			offered = float64(l.Pace) * float64(l.Workers)
		}
		byOperations := time.Duration(0)
		if offered > 0 && len(l.Stages) == 0 {
			byOperations = time.Duration(float64(l.Operations) / offered * float64(time.Second))
		}
		if measured == 0 || byOperations < measured {
			measured = byOperations
		}
	}
	return l.Warmup.Std() + measured
}

// checkDeadline refuses a deadline that every trial of some configuration, or of a procedure, would miss.
func (p *Plan) checkDeadline() error {
	deadline := p.Spec.Deadline.Std()
	if deadline == 0 {
		return nil
	}
	var errs []error
	refuse := func(what string, takes time.Duration) {
		if takes >= deadline {
			errs = append(errs, fmt.Errorf("deadline: %v is too short for %s, which takes at least %v: allow more, or leave the deadline out and it is derived from the run",
				p.Spec.Deadline, what, spec.Duration(takes)))
		}
	}
	p.eachProcedure(func(name string, l spec.Load) { refuse("a trial of procedures."+name, atLeast(l)) })
	seen := map[string]bool{}
	for _, t := range p.Trials {
		if !seen[t.Configuration] && len(errs) < mostMistakes {
			seen[t.Configuration] = true
			refuse(fmt.Sprintf("trial %d, configuration %s", t.Number, t.Configuration), atLeast(p.specs[t.Configuration].Load))
		}
	}
	return errors.Join(errs...)
}

// eachProcedure gives the longest load that each procedure tries.
func (p *Plan) eachProcedure(do func(name string, l spec.Load)) {
	procedures := p.Spec.Procedures
	if procedures == nil {
		return
	}
	lasting := func(d spec.Duration) spec.Load {
		l := p.Base.Load
		if d > 0 {
			l.Duration, l.Operations = d, 0
		}
		return l
	}
	if t := procedures.Threads; t != nil {
		do("threads", lasting(t.Duration))
	}
	if s := procedures.Steady; s != nil {
		l := lasting(spec.Duration(float64(s.To) * float64(time.Second)))
		if s.By == "operations" {
			l.Duration, l.Operations = 0, s.To
		}
		do("steady", l)
	}
	if c := procedures.Capacity; c != nil {
		do("capacity", lasting(c.Duration))
	}
}

// checkProcedures refuses procedures that cannot come to a result.
func (p *Plan) checkProcedures() error {
	if p.Spec.Procedures == nil {
		return nil
	}
	return errors.Join(p.checkSteady(p.Spec.Procedures.Steady), p.checkCapacity(p.Spec.Procedures.Capacity))
}

// CyclesToSettle is how many cycles of the target a run must hold before it can be told to be steady (as in
// study/procedure): with fewer, too much depends on how many checkpoints happened to fall into it.
const CyclesToSettle = 4

// checkSteady refuses limits with which no length can be called steady: one is, if it and the next one hold
// [CyclesToSettle] cycles and give the same result.
func (p *Plan) checkSteady(s *spec.Steady) error {
	if s == nil || s.By == "operations" || s.Cycle == 0 || s.Factor <= 1 {
		return nil
	}
	cycle := s.Cycle.Std().Seconds()
	whole := func(x float64) float64 { return math.Ceil(x/cycle - 1e-9) } // runs are as long as whole cycles
	lengths := map[float64]bool{}
	for _, x := range steadyLengths(s) {
		if n := whole(x); n >= CyclesToSettle {
			lengths[n] = true
		}
	}
	if len(lengths) > 1 {
		return nil
	}
	first := max(whole(float64(s.From)), CyclesToSettle)
	least := spec.Duration(whole(max(first+1, first*s.Factor)*cycle) * cycle * float64(time.Second))
	return fmt.Errorf("procedures.steady: up to %v no run can be called steady: two lengths must agree, each of at least %d cycles of %v; raise to to %s (%v), or say how short the cycle is",
		spec.Duration(float64(s.To)*float64(time.Second)), CyclesToSettle, s.Cycle, figure.Count(int64(math.Ceil(least.Std().Seconds()))), least)
}

// checkCapacity refuses a search whose highest rate gives too few operations for a percentile that its objectives
// limit, and notes where only its lower rates do.
func (p *Plan) checkCapacity(c *spec.Capacity) error {
	if c == nil {
		return nil
	}
	l := p.Base.Load
	if c.Duration > 0 {
		l.Duration, l.Operations = c.Duration, 0
	}
	seconds := l.Duration.Std().Seconds()
	list := p.Spec.Objectives
	if len(list) == 0 {
		list = p.Spec.Run.Objectives
	}
	objectives, err := measure.ParseObjectives(strings.Join(list, ","))
	errs := []error{err}
	for _, o := range objectives {
		need := float64(o.Needs())
		switch {
		case seconds == 0 || l.Operations > 0 || need == 0:
		case c.To > 0 && float64(c.To)*seconds < need:
			errs = append(errs, fmt.Errorf("procedures.capacity: %s needs %s operations, and a trial of %v at %s/s has about %s: make its duration %v, or raise to",
				o.Text, figure.Count(int64(need)), l.Duration, figure.Rate(float64(c.To)), figure.Count(int64(float64(c.To)*seconds)), wholeSeconds(spare*need/float64(c.To))))
		case c.From > 0 && float64(c.From)*seconds < need:
			p.Notes = append(p.Notes, fmt.Sprintf("procedures.capacity: %s needs %s operations, so trials of %v cannot confirm a capacity below %s/s; a duration of %v can from %s/s on",
				o.Text, figure.Count(int64(need)), l.Duration, figure.Rate(need/seconds), wholeSeconds(spare*need/float64(c.From)), figure.Rate(float64(c.From))))
		}
	}
	return errors.Join(errs...)
}

// spare is how many more operations are advised than are needed: those of Poisson arrivals vary.
const spare = 1.2

func wholeSeconds(x float64) spec.Duration {
	return spec.Duration(math.Ceil(x) * float64(time.Second))
}

// stated adds the objectives of the study to those of a run, as far as the run has the operations that they are of, so
// that its record states whatever they limit.
func (p *Plan) stated(asked spec.Run, classes []string) []string {
	out := slices.Clone(asked.Objectives)
	objectives, err := measure.ParseObjectives(strings.Join(p.Spec.Objectives, ","))
	if err != nil {
		return out // it was checked
	}
	for _, o := range objectives {
		if (o.Class == "" || slices.Contains(classes, o.Class)) && !slices.Contains(out, o.Text) {
			out = append(out, o.Text)
		}
	}
	return out
}
