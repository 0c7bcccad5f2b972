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

// atLeast returns the shortest time of a run: warm-up and measured time. A limit of operations counts with the offered
// rate, or not at all if that is not known.
func atLeast(l spec.Load) time.Duration {
	rate := Offered(l)
	if len(l.Stages) > 0 {
		rate = math.Inf(1)
	}
	return duration(Length(l, rate)).Std()
}

// checkDeadline rejects a deadline that every trial of a configuration or of a procedure would miss.
func (p *Plan) checkDeadline() error {
	deadline := p.Spec.Deadline.Std()
	if deadline == 0 {
		return nil
	}
	var errs []error
	refuse := func(what string, takes time.Duration) {
		if takes >= deadline {
			errs = append(errs, fmt.Errorf("deadline: %v is too short for %s, which takes at least %v. Increase it, or remove it to "+
				"derive it from the run", p.Spec.Deadline, what, spec.Duration(takes)))
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

// eachProcedure calls do with the longest load of each procedure.
func (p *Plan) eachProcedure(do func(name string, l spec.Load)) {
	procedures := p.Spec.Procedures
	if procedures == nil {
		return
	}
	if t := procedures.Threads; t != nil {
		do("threads", Lasting(p.Base.Load, t.Duration))
	}
	if s := procedures.Steady; s != nil {
		l := Lasting(p.Base.Load, duration(float64(s.To)))
		if s.By == "operations" {
			l.Duration, l.Operations = 0, s.To
		}
		do("steady", l)
	}
	if c := procedures.Capacity; c != nil {
		do("capacity", Lasting(p.Base.Load, c.Duration))
	}
}

// checkProcedures rejects procedures that cannot have a result.
func (p *Plan) checkProcedures() error {
	if p.Spec.Procedures == nil {
		return nil
	}
	return errors.Join(p.checkSteady(p.Spec.Procedures.Steady), p.checkCapacity(p.Spec.Procedures.Capacity))
}

// CyclesToSettle is the fewest cycles of the target in a run that can be called steady. With fewer, the result depends
// too much on the number of checkpoints in it.
const CyclesToSettle = 4

// checkSteady rejects limits with which no length can be called steady. A length is steady if it and the next one have
// [CyclesToSettle] cycles and give the same result.
func (p *Plan) checkSteady(s *spec.Steady) error {
	if s == nil || s.By == "operations" || s.Cycle == 0 || s.Factor <= 1 {
		return nil
	}
	cycle := s.Cycle.Std().Seconds()
	cycles := func(x float64) float64 { return math.Ceil(x/cycle - 1e-9) } // runs are as long as settings cycles
	lengths := map[float64]bool{}
	for _, x := range SteadyLengths(s) {
		if n := cycles(x); n >= CyclesToSettle {
			lengths[n] = true
		}
	}
	if len(lengths) > 1 {
		return nil
	}
	first := max(cycles(float64(s.From)), CyclesToSettle)
	least := duration(cycles(max(first+1, first*s.Factor)*cycle) * cycle)
	return fmt.Errorf("procedures.steady: up to %v no run can be steady, because two lengths must agree, each of at least %d "+
		"cycles of %v. Increase to: %s (%v), or set a shorter cycle",
		duration(float64(s.To)), CyclesToSettle, s.Cycle,
		figure.Count(int64(math.Ceil(least.Std().Seconds()))), least)
}

// checkCapacity rejects a search whose highest rate gives too few operations for a percentile in its objectives. If
// only its lower rates do, it adds a note.
func (p *Plan) checkCapacity(c *spec.CapacitySearch) error {
	if c == nil {
		return nil
	}
	l := Lasting(p.Base.Load, c.Duration)
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
			errs = append(errs, fmt.Errorf("procedures.capacity: %s needs %s operations, but a trial of %v at %s/s has about %s. Set "+
				"duration to %v, or increase to", o.Text, figure.Count(int64(need)), l.Duration, figure.Rate(float64(c.To)),
				figure.Count(int64(float64(c.To)*seconds)), duration(math.Ceil(spare*need/float64(c.To)))))
		case c.From > 0 && float64(c.From)*seconds < need:
			p.Notes = append(p.Notes, fmt.Sprintf("procedures.capacity: %s needs %s operations, so trials of %v cannot confirm a "+
				"load line below %s/s. A duration of %v can, from %s/s on", o.Text, figure.Count(int64(need)), l.Duration,
				figure.Rate(need/seconds), duration(math.Ceil(spare*need/float64(c.From))), figure.Rate(float64(c.From))))
		}
	}
	return errors.Join(errs...)
}

// spare is a reserve of operations in advice, because Poisson arrivals vary.
const spare = 1.2

// stated adds the objectives of the study to those of a run, if the run has their operations, so that its record has
// the metrics that they limit.
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
