package main

import (
	"context"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/spec"
	"github.com/plimsoll-bench/plimsoll/study"
	"github.com/plimsoll-bench/plimsoll/study/conduct"
	"github.com/plimsoll-bench/plimsoll/study/judge"
	"github.com/plimsoll-bench/plimsoll/study/simulated"
)

// studyCost shows the overhead of a study: planning and judging a large one, and the time between two trials.
func studyCost(ctx context.Context, w io.Writer, _ config) error {
	if err := planAndCompare(w); err != nil {
		return err
	}
	return betweenTrials(ctx, w)
}

// studyOf is a study over a null target.
func studyOf(configurations, trials int) spec.Study {
	asked := spec.Study{
		Name: "bench", Run: spec.Run{Target: "null:", Load: spec.Load{Duration: spec.Duration(time.Second)}},
		Factors: []spec.Factor{{Path: "workload.seed"}}, Trials: spec.Count(trials),
	}
	for i := range configurations {
		asked.Factors[0].Levels = append(asked.Factors[0].Levels, spec.Level{Value: i + 1})
	}
	if err := asked.Complete(); err != nil {
		panic(err) // the study is written above
	}
	return asked
}

// planAndCompare plans 10,000 trials and judges random results of them.
func planAndCompare(w io.Writer) error {
	const configurations, trials = 100, 100
	begin := time.Now()
	plan, err := study.NewPlan(studyOf(configurations, trials), study.PlanOptions{})
	if err != nil {
		return err
	}
	planned := time.Since(begin)
	s := &record.Study{
		Specification: plan.Spec, Base: plan.Base, Configurations: plan.Configurations, Trials: plan.Trials,
	}
	rng := rand.New(rand.NewPCG(1, 1))
	for i := range s.Trials {
		t := &s.Trials[i]
		t.Status, t.Values = record.TrialDone, map[string]float64{"errors": 0}
		for _, m := range []string{"throughput", "read.mean", "read.p99", "update.mean", "update.p99"} {
			t.Values[m] = 1e5 * math.Exp(0.03*rng.NormFloat64())
		}
	}
	begin = time.Now()
	judge.Study(s)
	judged := time.Since(begin)
	fmt.Fprintf(w, "\nA study of %d trials: %d configurations, %d times each (goal: planned and compared in under 2 s)\n",
		configurations*trials, configurations, trials)
	fmt.Fprintf(w, "  planned in %s, %d comparisons in %s  %s\n", short(planned), len(s.Comparisons), short(judged),
		verdict(planned+judged < 2*time.Second))
	return nil
}

// timedRunner notes when each trial began and ended.
type timedRunner struct {
	study.Runner
	began, ended []time.Time
}

func (r *timedRunner) Trial(ctx context.Context, q study.Request) (study.Result, error) {
	r.began = append(r.began, time.Now())
	result, err := r.Runner.Trial(ctx, q)
	r.ended = append(r.ended, time.Now())
	return result, err
}

// betweenTrials runs a study of 400 trials that take no time. It shows the time from the end of a trial to the
// beginning of the next one, in which the study writes its journal and study.json to the disk.
func betweenTrials(ctx context.Context, w io.Writer) error {
	dir, err := scratchIn("")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	sim := simulated.New(simulated.Target{Noise: 0.01, Interval: time.Second}, 1)
	sim.Write = true
	r := &timedRunner{Runner: sim}
	opts := conduct.Options{Runner: r, Clock: sim.Clock(), Dir: filepath.Join(dir, "study")}
	if _, err := conduct.Run(ctx, studyOf(20, 20), opts); err != nil {
		return err
	}
	var gaps []time.Duration
	for i := 1; i < len(r.began); i++ {
		gaps = append(gaps, r.began[i].Sub(r.ended[i-1]))
	}
	slices.Sort(gaps)
	fmt.Fprintf(w, "\nTime between two trials of %d, recorded in the temporary directory (goal: under 200 ms)\n", len(r.began))
	fmt.Fprintf(w, "  median %s, 99 %% within %s, longest %s  %s\n", short(rank(gaps, 0.5)), short(rank(gaps, 0.99)),
		short(gaps[len(gaps)-1]), verdict(rank(gaps, 0.99) < 200*time.Millisecond))
	return nil
}
