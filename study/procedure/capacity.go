package procedure

import (
	"cmp"
	"context"
	"math"
	"strings"

	"github.com/plimsoll-bench/plimsoll/internal/figure"
	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/spec"
	"github.com/plimsoll-bench/plimsoll/study"
)

// Capacity finds the highest offered rate at which every objective holds and at least 99 % of the operations succeed in
// time: see [Line]. All its trials have the length of the specification or else of the base. Objectives for the rate
// are ignored, because the capacity is the answer.
func Capacity(ctx context.Context, base spec.Run, objectives []string, asked spec.CapacitySearch,
	try Try) (record.CapacityResult, error) {
	base.Load = study.Lasting(base.Load, asked.Duration)
	base.Load.Pace, base.Objectives = 0, nil
	asked.Duration = base.Load.Duration
	o := LineOptions{Base: base, Objectives: objectives, Search: asked}
	runs := map[string]*record.Run{}
	line, err := Line(ctx, o, func(ctx context.Context, s Step) (StepResult, error) {
		r, err := tried(ctx, try, s)
		runs[r.Step.Record] = r.Run
		return r, err
	})
	result := capacityOf(line, objectives, base.Load.Replay != "")
	result.LimitedBy = limitOf(LimitSteps(&line, func(path string) *record.Run { return runs[path] }))
	return result, err
}

// tried performs a step as a trial.
func tried(ctx context.Context, try Try, s Step) (StepResult, error) {
	asked := s.Spec
	asked.Objectives = withoutRate(asked.Objectives)
	o, err := attempt(ctx, try, asked, "capacity: "+s.What)
	if err != nil {
		return StepResult{}, err
	}
	r := StepResult{Run: o.run, Intervals: o.intervals, Step: record.LineStep{Record: o.record}}
	if o.problem != "" {
		r.Run, r.Step.Why = nil, o.problem
	}
	return r, nil
}

// withoutRate returns the objectives that are no condition for the rate.
func withoutRate(objectives []string) []string {
	parsed, _ := measure.ParseObjectives(strings.Join(objectives, ",")) // Line has parsed them
	var list []string
	for _, o := range parsed {
		if o.Metric != "rate" {
			list = append(list, o.Text)
		}
	}
	return list
}

// capacityOf is a line as studies record it.
func capacityOf(line record.LoadLine, objectives []string, replay bool) record.CapacityResult {
	r := record.CapacityResult{Objectives: append([]string{}, objectives...), Rate: line.Rate, Low: line.Low,
		High:  line.High,
		Wrong: line.Wrong, Confirmed: line.Status == record.LineFound || line.Status == record.LineAtLeast,
		AtLeast: line.Status == record.LineAtLeast, Doubts: line.Doubts, Steps: []record.CapacityStep{},
		Reason: cmp.Or(line.Reason, line.Problem, strings.Join(line.Doubts, "; "), "the steps do not decide")}
	if line.Problem != "" && r.Reason != line.Problem {
		r.Reason += ". " + line.Problem
	}
	for _, s := range line.Steps {
		step := record.CapacityStep{Phase: s.Phase, Offered: s.Offered, Achieved: s.Achieved, P99: s.P99, Errors: s.Errors,
			Trial: s.Record, Holds: s.Verdict == record.StepMet || s.Verdict == record.StepUndecided && *s.Certainty >= 0.5}
		if !step.Holds {
			step.Missed = cmp.Or(s.Objective+map[bool]string{true: ": "}[s.Objective != ""]+s.Why, string(s.Verdict))
		}
		r.Steps = append(r.Steps, step)
	}
	if first := line.Steps; replay && len(first) > 0 && first[0].Phase == "probe" && r.Rate > 0 {
		r.Reason += ". This is " + figure.Significant(math.Round(100*r.Rate/first[0].Achieved)/100) + " times the rate of the recording, " +
			figure.Rate(first[0].Achieved) + "/s"
	}
	return r
}

// underWay returns the mean number of operations under way.
func underWay(o outcome) float64 {
	p := o.run.Phase("measure")
	if p.InFlight != nil {
		return max(p.LittleInFlight, *p.InFlight)
	}
	return p.LittleInFlight
}

// share returns the share of the offered operations that succeeded in time. Operations under way at the end count as
// done, because about as many are always under way.
func share(o outcome) float64 {
	p := o.run.Phase("measure")
	if p.Offered == 0 {
		return 0
	}
	return min(1, (float64(p.Ended.Succeeded)+underWay(o))/float64(p.Offered))
}
