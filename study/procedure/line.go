package procedure

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/plimsoll-bench/plimsoll/internal/figure"
	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/spec"
	"github.com/plimsoll-bench/plimsoll/study/search"
)

// LineOptions say how a line is searched.
type LineOptions struct {
	Name       string
	Base       spec.Run // target, workload, and everything that steps have in common
	Objectives []string
	Search     spec.CapacitySearch
	Pace       search.Pace
	// Left returns how much time is left, nil without a limit.
	Left func() time.Duration
	// Event says that each step is a drill.
	Event bool
	// Done is called after each step, and again when the line has ended; nil for nothing.
	Done func(record.LoadLine)
}

// Step is one step to perform.
type Step struct {
	Number int
	Phase  string
	Spec   spec.Run // complete but for its directory
	What   string   // a different name for each step
}

// StepResult is what a step left.
type StepResult struct {
	Run       *record.Run // nil without a result
	Intervals Intervals
	// Step has what the search does not know: record, times, event, and the verdict of a failed step.
	Step record.LineStep
	// Missed says what was missed besides the objectives, such as lost writes; Limit is its word.
	Missed, Limit string
	// Event says that it was a drill. Leave says which intervals belong to its outage; nil for none.
	Event bool
	Leave func(*measure.Interval) bool
}

// Perform performs a step. An error ends the search, which can be continued with the same steps.
type Perform func(ctx context.Context, s Step) (StepResult, error)

// mostWorkers bounds the workers of a step.
const mostWorkers = 2048

// lineSearch is a search under way.
type lineSearch struct {
	o          LineOptions
	objectives []measure.Objective
	longest    time.Duration // the largest limit of a time, 0 if there is none
	search     *search.Search
	line       record.LoadLine
	limits     map[float64]string // by rate, of what was missed besides objectives
	number     int
}

// Line searches the highest rate that holds the objectives. It returns what is known until then also with an error.
//
// Each step is an open loop at one rate. A step has at least twice as many workers as are under way while the
// objectives hold (Little's law), so the workers are not the limit. A step that the load generator limited is no
// evidence.
func Line(ctx context.Context, o LineOptions, perform Perform) (record.LoadLine, error) {
	l := &lineSearch{o: o, limits: map[float64]string{}, line: record.LoadLine{Name: o.Name, Status: record.LineRunning,
		Steps: []record.LineStep{}}}
	var err error
	if l.objectives, err = measure.ParseObjectives(strings.Join(o.Objectives, ",")); err != nil {
		return l.line, fmt.Errorf("the objectives of the load line: %w", err)
	}
	for _, x := range l.objectives {
		if x.Unit == measure.UnitTime && x.AtMost() {
			l.longest = max(l.longest, time.Duration(x.Limit))
		}
	}
	from := float64(o.Search.From)
	if from == 0 {
		if from, err = l.closedLoop(ctx, perform); err != nil || from == 0 {
			l.conclude(err)
			return l.line, err
		}
	}
	l.search = search.New(search.Options{From: from, To: float64(o.Search.To), Growth: o.Search.Growth,
		Precision: float64(o.Search.Precision), Confirm: int(o.Search.Confirm),
		Least: min(search.Planned, int(o.Search.Steps)), Most: int(o.Search.Steps)})
	for err == nil {
		l.fit()
		next, more := l.search.Next()
		if !more {
			break
		}
		err = l.step(ctx, next, perform)
	}
	l.conclude(err)
	return l.line, err
}

// fit limits the steps to those that there is time for.
func (l *lineSearch) fit() {
	if l.o.Left == nil {
		return
	}
	done, took, around, measured := 0, 0.0, 0.0, 0
	for _, s := range l.line.Steps {
		if s.Phase != "probe" {
			done, took = done+1, took+s.Seconds
		}
		if s.Measured > 0 {
			measured, around = measured+1, around+s.Seconds-s.Measured
		}
	}
	if measured > 0 { // what is around a step depends on the target
		l.o.Pace.Around = time.Duration(around / float64(measured) * float64(time.Second))
	}
	each := l.o.Pace.Trial + l.o.Pace.Around
	if l.search.Confirmed() == 0 {
		each = l.o.Pace.Step + l.o.Pace.Around
	}
	if l.o.Event && done > 0 { // redundancy returns when it does
		each = max(each, time.Duration(took/float64(done)*float64(time.Second)))
	}
	fits := int(l.o.Left() / max(each, time.Millisecond))
	l.search.Limit(min(int(l.o.Search.Steps), done+max(0, fits)))
}

// closedLoop runs a short step without a rate. The ramp begins at half of its throughput.
func (l *lineSearch) closedLoop(ctx context.Context, perform Perform) (float64, error) {
	asked := l.o.Base
	closedLoop(&asked.Load)
	asked.Load.Duration = spec.Duration(max(3*time.Second, min(l.o.Pace.Step, 10*time.Second)))
	asked.Objectives = nil
	r, err := l.perform(ctx, perform, Step{Phase: "probe", Spec: asked, What: "closed loop"})
	if err != nil {
		return 0, err
	}
	step := r.Step
	p := phaseOf(r.Run)
	if p == nil || p.Rates.Achieved <= 0 {
		step.Verdict, step.Why = record.StepFailed, cmp.Or(step.Why, "no operation succeeded")
		l.add(step)
		l.line.Problem = "the first step, which determines where to begin, has no result (" + step.Why + "). Set the rate from " +
			"which to search (--from)"
		return 0, nil
	}
	step.Achieved, step.Measured, step.Workers = p.Rates.Achieved, p.Seconds, p.Workers
	step.Verdict, step.Why = record.StepMet, "a closed loop, to see where to begin"
	l.add(step)
	return p.Rates.Achieved / 2, nil
}

// step performs one step at a rate.
func (l *lineSearch) step(ctx context.Context, at search.Step, perform Perform) error {
	asked := l.o.Base
	asked.Load.Rate, asked.Load.Speed = spec.Rate(at.Rate), 0
	if asked.Load.Arrivals == "" && asked.Load.Replay == "" {
		asked.Load.Arrivals = "poisson"
	}
	if asked.Load.Late == "" {
		asked.Load.Late = "queue"
	}
	asked.Load.Duration = spec.Duration(l.length(at))
	asked.Load.Workers = max(asked.Load.Workers, l.workers(at.Rate))
	asked.Objectives = l.o.Objectives
	r, err := l.perform(ctx, perform, Step{Phase: at.Phase, Spec: asked,
		What: fmt.Sprintf("%s %d, %s/s", at.Phase, l.number+1, figure.Rate(at.Rate))})
	if err != nil {
		return err
	}
	r.Step.Offered = at.Rate
	var objectives []seen
	if r.Run != nil && phaseOf(r.Run) != nil {
		if objectives, err = weigh(r.Run, l.objectives, r.Intervals, r.Leave); err != nil {
			return fmt.Errorf("step %d: %w", l.number, err)
		}
	}
	step, outcome := l.verdictOf(at, r, objectives)
	if r.Missed != "" {
		l.limits[at.Rate] = r.Limit
	}
	l.search.Add(outcome)
	l.add(step)
	return nil
}

// perform performs a step and sets its number and phase.
func (l *lineSearch) perform(ctx context.Context, perform Perform, s Step) (StepResult, error) {
	if err := ctx.Err(); err != nil {
		return StepResult{}, err
	}
	l.number++
	s.Number = l.number
	r, err := perform(ctx, s)
	r.Step.Number, r.Step.Phase = s.Number, s.Phase
	return r, err
}

func (l *lineSearch) add(s record.LineStep) {
	l.line.Steps = append(l.line.Steps, s)
	if l.o.Done != nil {
		l.o.Done(l.line)
	}
}

// enough is how many operations beyond the fewest of a percentile a step has.
const enough = 1.5

// samples is how many operations may miss an objective in the shortest step, so that none that does is proof.
const samples = 4

// length is the measured time of a step: as long as its percentile needs, and longer where it confirms.
func (l *lineSearch) length(at search.Step) time.Duration {
	if d := l.o.Search.Duration.Std(); d > 0 || l.o.Event {
		return cmp.Or(d, l.o.Base.Load.Duration.Std())
	}
	length := l.o.Pace.Step
	if at.Phase == search.Confirm {
		length = l.o.Pace.Trial
	}
	for _, o := range l.objectives {
		least := float64(o.Needs())
		if allowed, ok := countable(o); ok {
			least = max(least, samples/allowed)
		}
		need := enough * least / at.Rate * float64(time.Second)
		length = max(length, time.Duration(math.Ceil(min(need, float64(4*l.o.Pace.Trial))/1e9)*1e9))
	}
	if l.o.Left != nil { // a step that needs more than is left would be late, and has what is left
		length = max(l.o.Pace.Step, min(length, (l.o.Left()-l.o.Pace.Around).Round(time.Second)))
	}
	return length
}

// workers is how many workers a rate needs. While the objectives hold, at most rate × limit operations are under way.
func (l *lineSearch) workers(rate float64) spec.Count {
	longest := l.longest
	if longest == 0 {
		longest = 250 * time.Millisecond
	}
	return spec.Count(min(mostWorkers, math.Ceil(2*rate*longest.Seconds())))
}
