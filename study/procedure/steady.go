package procedure

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/plimsoll-bench/plimsoll/internal/figure"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/spec"
	"github.com/plimsoll-bench/plimsoll/study"
)

// timeTolerance is how much more a percentile of response times may change than throughput. It is the ratio of the
// limits of both in the checks of a run.
const timeTolerance = 5

// Steady raises the length of a run, in seconds or operations, until a longer one gives the same result, and chooses
// the shorter of the two. Both must be in a steady state: at least four checkpoint cycles measured, no warm-up left
// (MSER) and no trend (Theil–Sen over whole cycles). If no length is steady, the result is not settled, with the reason
// and the longest length as its value.
//
// Lengths in time are rounded up to whole checkpoint cycles: half a cycle more has half a checkpoint too many or too
// few.
func Steady(ctx context.Context, base spec.Run, asked spec.Steady, try Try) (record.ProcedureResult, error) {
	s := steady{spec: asked}
	result := record.ProcedureResult{Name: "steady", Path: "load." + asked.By, Rule: s.rule(), Points: []record.ProcedurePoint{}}
	var err error
	for _, value := range s.values() {
		var p *point
		if p, err = s.step(ctx, base, value, try); err != nil {
			break
		}
		s.steps = append(s.steps, p)
		if s.unchanged() == "" {
			break
		}
	}
	s.choose(&result)
	return result, err
}

// steady is a search for the length of a run.
type steady struct {
	spec   spec.Steady
	steps  []*point
	states []string // of each step: the gate that it failed, "" if none
}

func (s *steady) rule() string {
	what := "duration"
	if s.spec.By == "operations" {
		what = "number of operations"
	}
	return fmt.Sprintf("the %s is multiplied by %s until the next step changes throughput by at most %s and p99 by at most %s. The "+
		"result is the shorter of the two, if both are steady: at least %d checkpoint cycles of %s, MSER cuts at most half of "+
		"the bins and no warm-up that changes the mean by more than %s, and the trend over cycles is at most %s",
		what, figure.Significant(s.spec.Factor), figure.Percent(float64(s.spec.Tolerance)),
		figure.Percent(timeTolerance*float64(s.spec.Tolerance)),
		minCycles, figure.Duration(s.spec.Cycle.Std()), figure.Percent(maxTrend), figure.Percent(maxTrend))
}

// values returns the lengths to try, rising, the highest allowed last.
func (s *steady) values() []float64 {
	values := study.SteadyLengths(&s.spec)
	for i, x := range values {
		values[i] = s.whole(x)
	}
	return slices.Compact(values)
}

// whole rounds a length up: seconds to whole checkpoint cycles, operations to whole ones.
func (s *steady) whole(x float64) float64 {
	if s.spec.By == "operations" {
		return math.Ceil(x)
	}
	cycle := s.spec.Cycle.Std().Seconds()
	return math.Ceil(x/cycle-1e-9) * cycle
}

// step runs the trials of one length.
func (s *steady) step(ctx context.Context, asked spec.Run, value float64, try Try) (*point, error) {
	name := ""
	if s.spec.By == "operations" {
		asked.Load.Operations, asked.Load.Duration = spec.Count(value), 0
		name = figure.Count(int64(value)) + " operations"
	} else {
		asked.Load.Operations, asked.Load.Duration = 0, spec.Duration(value*1e9)
		name = asked.Load.Duration.String()
	}
	p, state := &point{ProcedurePoint: record.ProcedurePoint{Value: value}}, ""
	for i := range int(s.spec.Trials) {
		o, err := attempt(ctx, try, asked, fmt.Sprintf("steady: %s, trial %d of %d", name, i+1, s.spec.Trials))
		if err != nil {
			return nil, err
		}
		p.add(o)
		if !o.counts() {
			continue
		}
		g, err := s.gates(o)
		if err != nil {
			return nil, err
		}
		if g.problem != "" {
			state = g.problem
			p.note(g.problem)
		} else {
			p.note(g.String())
		}
	}
	p.sum()
	if p.N == 0 {
		state = "no valid trial"
	}
	s.states = append(s.states, state)
	return p, nil
}

// gates checks the course of a trial.
func (s *steady) gates(o outcome) (settling, error) {
	if o.seconds == nil {
		return settling{problem: "its course is not known"}, nil
	}
	seconds, err := o.seconds()
	if err != nil {
		return settling{}, fmt.Errorf("reading the course of the trial %s: %w", o.record, err)
	}
	return settlingOf(seconds, s.spec.Cycle.Std()), nil
}

// unchanged returns why the last two steps do not show a steady state, or "".
func (s *steady) unchanged() string {
	n := len(s.steps)
	if n < 2 {
		return "only one length was tried"
	}
	if state := cmp.Or(s.states[n-1], s.states[n-2]); state != "" { // the longer one says more
		return state
	}
	a, b := s.steps[n-2], s.steps[n-1]
	rate, times := s.changes(a, b)
	if math.Abs(rate) > float64(s.spec.Tolerance) {
		return fmt.Sprintf("the last step still changed throughput by %s", signed(rate))
	}
	if math.Abs(times) > timeTolerance*float64(s.spec.Tolerance) {
		return fmt.Sprintf("the last step still changed p99 by %s", signed(times))
	}
	return ""
}

// changes returns those of throughput and p99 from one step to the next, as shares; 0 if p99 is not known.
func (s *steady) changes(a, b *point) (rate, times float64) {
	if a.Throughput > 0 {
		rate = b.Throughput/a.Throughput - 1
	}
	if a.P99 != nil && b.P99 != nil && *a.P99 > 0 {
		times = *b.P99 / *a.P99 - 1
	}
	return rate, times
}

func (s *steady) choose(result *record.ProcedureResult) {
	result.Points = points(s.steps)
	if len(s.steps) == 0 {
		result.Reason = "nothing was measured"
		return
	}
	n := len(s.steps)
	last := s.steps[n-1]
	if why := s.unchanged(); why != "" {
		result.Chosen = last.Value
		result.Reason = fmt.Sprintf("no steady state was found up to %s: %s. Warm the target up longer, raise the limit, or find what "+
			"changes in it", s.text(last.Value), why)
		return
	}
	a := s.steps[n-2]
	rate, times := s.changes(a, last)
	result.Settled, result.Chosen = true, a.Value
	result.Reason = fmt.Sprintf("%s are enough: %s changed throughput by %s and p99 by %s; %s", s.text(a.Value), s.text(last.Value),
		signed(rate), signed(times), a.Note)
}

func (s *steady) text(value float64) string {
	if s.spec.By == "operations" {
		return figure.Count(int64(value)) + " operations"
	}
	return figure.Duration(time.Duration(value * 1e9))
}
