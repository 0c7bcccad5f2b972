package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/spec"
	"github.com/plimsoll-bench/plimsoll/study"
	"github.com/plimsoll-bench/plimsoll/study/judge"
	"github.com/plimsoll-bench/plimsoll/study/simulatedtest"
)

// claims is the answer for verdicts of differences: accused if any is better or worse.
func claims(t *trial, list []record.Comparison) answer {
	for _, c := range list {
		if c.Verdict == record.Better || c.Verdict == record.Worse {
			t.say("%s of %s is %s: %.4g, p %.4g", c.Metric, c.Configuration, c.Verdict, *c.Ratio, *c.Adjusted)
			return accused
		}
	}
	if slices.ContainsFunc(list, func(c record.Comparison) bool { return c.Verdict == record.Inconclusive }) {
		return undecided
	}
	return cleared
}

// wrong are honest inputs without a difference: at most 5 % may be accused.
func wrong(machine noise, prefix string, full int, try func(ctx context.Context, t *trial) (answer, error)) row {
	return row{name: prefix + machine.name, honest: machine.what, goal: atMost(0.05), small: 20, full: full, try: try}
}

// performed is a study while it is performed in memory.
type performed struct {
	*record.Study
	specs  map[string]spec.Run
	runner *simulatedtest.Runner
}

// planned plans a study on a machine with effects.
func planned(t *trial, asked spec.Study, machine noise, effects ...simulatedtest.Effect) (*performed, error) {
	asked.Seed = t.rand.Uint64()>>1 + 1
	plan, err := study.NewPlan(asked, study.PlanOptions{OnlyTime: true})
	if err != nil {
		return nil, err
	}
	p := &performed{Study: &record.Study{Specification: plan.Spec, Base: plan.Base, Configurations: plan.Configurations,
		Trials: plan.Trials}, specs: map[string]spec.Run{}}
	for _, c := range plan.Configurations {
		if p.specs[c.ID], err = plan.RunSpec(c.ID); err != nil {
			return nil, err
		}
	}
	factors := machine.factors(t.rand, len(plan.Trials))
	p.runner = simulatedtest.New(drifting(factors, effects...), t.rand.Uint64())
	return p, nil
}

// run makes the trials from one place to another, in the order of the plan.
func (p *performed) run(ctx context.Context, from, to int) error {
	for i := from; i < to; i++ {
		one := &p.Trials[i]
		began := p.runner.Clock().Now()
		got, err := p.runner.Trial(ctx, study.Request{Spec: p.specs[one.Configuration], Trial: one.Number})
		if err != nil {
			return err
		}
		one.Values = judge.Values(got.Run, judge.Metrics(p.Specification, got.Run))
		one.Validity, one.Status, one.Started = got.Run.Validity, record.TrialDone, &began
	}
	return nil
}

// studyOf performs a whole study and returns its verdicts.
func studyOf(ctx context.Context, t *trial, asked spec.Study, machine noise, effects ...simulatedtest.Effect) (
	*performed, error) {
	p, err := planned(t, asked, machine, effects...)
	if err == nil {
		err = p.run(ctx, 0, len(p.Trials))
	}
	if err == nil {
		judge.Study(p.Study)
	}
	return p, err
}

// trialsOf is a number of trials that people use.
func trialsOf(r *rand.Rand) int { return []int{4, 6, 7, 8, 10}[r.IntN(5)] }

// studyFamily has the verdicts of studies: all metrics of all configurations are one.
func studyFamily() family {
	f := family{name: "study", parallel: 2,
		verdict: "`plimsoll study`: *better*, *worse* or *equivalent*, for all configurations and metrics together",
		notFound: []string{
			"Whether the workload is the one that matters: a study compares what it runs.",
			"A change below the power of the study: `plimsoll study plan` prints it.",
			"Studies that are repeated from the beginning until one has a verdict.",
		}}
	for _, m := range machines() {
		f.rows = append(f.rows, wrong(m, "", 1000, func(ctx context.Context, t *trial) (answer, error) {
			p, err := studyOf(ctx, t, sweep(2, trialsOf(t.rand)), m)
			if err != nil {
				return 0, err
			}
			return claims(t, p.Comparisons), nil
		}))
	}
	scattering := machines()[0]
	f.rows = append(f.rows, row{name: "twenty-configurations", honest: "19 configurations equal to the baseline; trials scatter by 2 %",
		goal: atMost(0.05), small: 10, full: 500, try: func(ctx context.Context, t *trial) (answer, error) {
			p, err := studyOf(ctx, t, sweep(20, 6), scattering)
			if err != nil {
				return 0, err
			}
			return claims(t, p.Comparisons), nil
		}}, row{name: "not-equivalent", lie: "19 configurations differ from the baseline by the margin, 3 %; trials scatter by 1 %",
		goal: atLeast(0.95), small: 10, full: 500, try: notEquivalent,
		notFound: "found: no configuration is called equivalent"},
		row{name: "interrupted", honest: "the study is interrupted after each block until it has a verdict; trials scatter by 2 %",
			goal: atMost(0.05), small: 20, full: 1000, try: interrupted},
		row{name: "more-time", honest: "four of twelve blocks, then two more at a time until there is a verdict; trials scatter by 2 %",
			goal: atMost(0.05), small: 20, full: 1000, try: moreTime},
		row{name: "repeated", honest: "trials that failed are repeated, one at a time, until there is a verdict; trials scatter by 2 %",
			goal: atMost(0.05), small: 20, full: 1000, try: repeatedTrials})
	for _, percent := range []int{3, 5, 10} {
		for _, sign := range []int{1, -1} {
			f.rows = append(f.rows, found(percent*sign, "trials scatter by 2 %, 8 of each", func(ctx context.Context, t *trial,
				effect float64) ([]record.Comparison, error) {
				p, err := studyOf(ctx, t, sweep(2, 8), scattering, simulatedtest.Effect{When: level(1), Factor: effect})
				if err != nil {
					return nil, err
				}
				return p.Comparisons, nil
			}))
		}
	}
	return f
}

// found is a true difference: the share in which it is found.
func found(percent int, how string, compare func(context.Context, *trial, float64) ([]record.Comparison, error)) row {
	effect := 1 + float64(percent)/100
	r := row{name: fmt.Sprintf("effect%+d", percent), lie: fmt.Sprintf("the throughput differs by %+d %%; %s", percent, how),
		goal: unclaimed, small: 10, full: 300, notFound: "smaller changes and noisier machines need more trials",
		try: func(ctx context.Context, t *trial) (answer, error) {
			list, err := compare(ctx, t, effect)
			if err != nil {
				return 0, err
			}
			for _, c := range list {
				if c.Metric == "throughput" && c.Verdict == map[bool]record.Verdict{true: record.Better, false: record.Worse}[percent > 0] {
					return accused, nil
				}
			}
			return undecided, nil
		}}
	if percent == 10 || percent == -10 {
		r.goal, r.notFound = atLeast(0.9), ""
	}
	return r
}

// notEquivalent is found out unless a configuration is called equivalent.
func notEquivalent(ctx context.Context, t *trial) (answer, error) {
	var effects []simulatedtest.Effect
	for i := 1; i < 20; i++ {
		effects = append(effects, simulatedtest.Effect{When: level(i), Factor: 1.03})
	}
	quiet := noise{factors: func(r *rand.Rand, n int) []float64 { return correlated(r, n, scatter/2, 0) }}
	asked := sweep(20, 8)
	asked.Metrics = []string{"throughput"}
	p, err := studyOf(ctx, t, asked, quiet, effects...)
	if err != nil {
		return 0, err
	}
	for _, c := range p.Comparisons {
		if c.Verdict == record.Equivalent {
			t.say("%s is equivalent: %.4g, p %.4g", c.Configuration, *c.Ratio, *c.Equivalence)
			return cleared, nil
		}
	}
	return accused, nil
}

// interrupted looks at a study after each of its blocks.
func interrupted(ctx context.Context, t *trial) (answer, error) {
	p, err := planned(t, sweep(2, 12), machines()[0])
	for i := 2; err == nil && i <= len(p.Trials); i += 2 {
		if err = p.run(ctx, i-2, i); err != nil {
			break
		}
		if judge.Study(p.Study); claims(t, p.Comparisons) == accused {
			return accused, nil
		}
	}
	return undecided, err
}

// moreTime gives a study more time as long as it has no verdict.
func moreTime(ctx context.Context, t *trial) (answer, error) {
	p, err := planned(t, sweep(2, 12), machines()[0])
	if err != nil {
		return 0, err
	}
	done := 0
	for _, until := range []int{8, 12, 16, 20, 24} {
		for i := range p.Trials[until:] {
			p.Trials[until+i].Status = record.TrialLeft
		}
		if err := p.run(ctx, done, until); err != nil {
			return 0, err
		}
		done = until
		if judge.Study(p.Study); claims(t, p.Comparisons) == accused {
			return accused, nil
		}
	}
	return undecided, nil
}

// repeatedTrials repeats the trials of a study that failed, one after the other.
func repeatedTrials(ctx context.Context, t *trial) (answer, error) {
	p, err := studyOf(ctx, t, sweep(2, 8), machines()[0])
	if err != nil {
		return 0, err
	}
	p.Looks = nil
	for i := 4; i < len(p.Trials); i++ {
		p.Trials[i].Status = record.TrialFailed
	}
	for i := 4; i < len(p.Trials); i++ {
		p.Trials[i].Status = record.TrialDone
		if judge.Study(p.Study); claims(t, p.Comparisons) == accused {
			return accused, nil
		}
	}
	return undecided, nil
}

// compareFamily has the verdicts about directories of records.
func compareFamily() family {
	f := family{name: "compare", parallel: 2, verdict: "`plimsoll compare DIR DIR`: *better*, *worse* or *equivalent*, for all metrics together",
		notFound: []string{
			"Records that are added to a side until there is a verdict: `compare` does not count how often it ran.",
			"Differences between the sides that are not in the records.",
		}}
	apart := func(n int) []bool { // one side after the other
		sides := make([]bool, n)
		for i := n / 2; i < n; i++ {
			sides[i] = true
		}
		return sides
	}
	inTurns := func(n int) []bool { // A B A B …
		sides := make([]bool, n)
		for i := range sides {
			sides[i] = i%2 == 1
		}
		return sides
	}
	balanced := func(n int) []bool { // A B B A …
		sides := make([]bool, n)
		for i := range sides {
			sides[i] = i%4 == 1 || i%4 == 2
		}
		return sides
	}
	for _, m := range machines() {
		f.rows = append(f.rows, wrong(m, "apart-", 300, func(ctx context.Context, t *trial) (answer, error) {
			return compared(ctx, t, m, apart(2*trialsOf(t.rand)))
		}), wrong(m, "in-turns-", 1000, func(ctx context.Context, t *trial) (answer, error) {
			return compared(ctx, t, m, inTurns(12+4*t.rand.IntN(4)))
		}), wrong(m, "balanced-", 1000, func(ctx context.Context, t *trial) (answer, error) {
			return compared(ctx, t, m, balanced(12+4*t.rand.IntN(4)))
		}))
	}
	for i := range f.rows {
		f.rows[i].honest = []string{"one side after the other: ", "A B A B: ", "A B B A: "}[i%3] + f.rows[i].honest
	}
	for _, percent := range []int{3, 5, 10} {
		for _, sign := range []int{1, -1} {
			f.rows = append(f.rows, found(percent*sign, "A B B A, trials scatter by 2 %, 12 of each", func(_ context.Context, t *trial,
				effect float64) ([]record.Comparison, error) {
				return sides(t, machines()[0], balanced(24), effect)
			}))
		}
	}
	return f
}

func compared(_ context.Context, t *trial, machine noise, second []bool) (answer, error) {
	list, err := sides(t, machine, second, 1)
	if err != nil {
		return 0, err
	}
	return claims(t, list), nil
}

// sides compares two directories of records that were made in an order. The second one has an effect.
func sides(t *trial, machine noise, second []bool, effect float64) ([]record.Comparison, error) {
	factors := machine.factors(t.rand, len(second))
	for i, is := range second {
		if is {
			factors[i] *= effect
		}
	}
	runs, err := course(t.rand.Uint64(), factors, time.Minute, 0, 1)
	if err != nil {
		return nil, err
	}
	sources := []judge.Source{{Name: "before"}, {Name: "after"}}
	for i, r := range runs {
		at := 0
		if second[i] {
			at = 1
		}
		sources[at].Runs = append(sources[at].Runs, judge.Run{Dir: fmt.Sprint(i), Run: r})
	}
	r, err := judge.Compare(judge.Sides(sources, nil), judge.CompareOptions{})
	if err != nil {
		return nil, err
	}
	return r.Comparisons, nil
}
