package procedure_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/spec"
	"github.com/plimsoll-bench/plimsoll/study"
	"github.com/plimsoll-bench/plimsoll/study/procedure"
)

// anything answers with whatever a trial may leave, sensible or not.
func anything(rng *rand.Rand, trials *int, most int) procedure.Try {
	pick := func(p float64) bool { return rng.Float64() < p }
	return func(_ context.Context, asked spec.Run, _ string) (study.Result, record.Trial, error) {
		if *trials++; *trials > most {
			return study.Result{}, record.Trial{}, errors.New("too many trials")
		}
		trial := record.Trial{Status: record.TrialDone, Record: fmt.Sprint(*trials)}
		switch {
		case pick(0.05):
			trial.Status, trial.Problem = record.TrialFailed, "broken"
			return study.Result{}, trial, errors.New("broken")
		case pick(0.05):
			trial.Status = record.TrialTimeout
			return study.Result{}, trial, nil
		case pick(0.05):
			return study.Result{}, trial, nil
		}
		run := &record.Run{Head: record.Head{Status: record.Complete}, Specification: asked}
		for _, text := range asked.Objectives {
			x := rng.Float64() * 1e7
			if pick(0.95) {
				run.Objectives = append(run.Objectives, measure.ObjectiveResult{Objective: text, Met: pick(0.6), Unknown: pick(0.1),
					Measured: &x, Unit: "ns"})
			}
		}
		for _, id := range []string{"client-cpu", "littles-law", "not-steady"} {
			if pick(0.1) {
				run.Validity = append(run.Validity, measure.Finding{ID: id, Severity: []measure.Severity{measure.Invalid,
					measure.Warning, measure.Note}[rng.IntN(3)]})
			}
		}
		offered := int64(float64(asked.Load.Rate) * 10)
		p := record.PhaseResult{Phase: "measure", Offered: offered, Seconds: 10}
		if pick(0.95) {
			done := int64(rng.ExpFloat64() * 1000)
			if offered > 0 && pick(0.8) {
				done = offered
			}
			p.Ended = measure.Tally{Attempted: done, Succeeded: done}
			p.Counts = p.Ended
			p.Rates.Achieved = float64(done) / 10
		}
		if ns := int64(rng.ExpFloat64() * 1e7); pick(0.8) {
			p.All.Response = &record.Latency{P99: &ns}
		}
		run.Phases = append(run.Phases, p)
		seconds := make([]study.Second, rng.IntN(600))
		for i := range seconds {
			seconds[i] = study.Second{Phase: "measure", Start: time.Duration(i) * time.Second,
				Length: time.Duration(rng.IntN(2000)) * time.Millisecond, Rate: rng.ExpFloat64() * 1000}
		}
		return study.Result{Run: run, Seconds: func() ([]study.Second, error) { return seconds, nil }}, trial, nil
	}
}

// Whatever trials show, procedures end after a bounded number of them, give a reason, choose only what they tried, and
// report a capacity only where fresh trials of that very rate all held.
func TestProceduresSurviveAnything(t *testing.T) {
	for seed := range uint64(900) {
		rng := rand.New(rand.NewPCG(seed, 1))
		var n int
		switch seed % 3 {
		case 0:
			asked := spec.Threads{Trials: spec.Count(1 + rng.IntN(4)),
				Latency: spec.Duration(rng.IntN(3)) * spec.Duration(time.Millisecond)}
			got, err := findThreads(context.Background(), base(), asked, anything(rng, &n, 100))
			checkChoice(t, seed, got, err)
		case 1:
			asked := spec.Steady{By: []string{"", "operations"}[rng.IntN(2)],
				Cycle: spec.Duration(1+rng.IntN(60)) * spec.Duration(time.Second), Trials: spec.Count(rng.IntN(3))}
			got, err := findSteady(context.Background(), base(), asked, anything(rng, &n, 100))
			checkChoice(t, seed, got, err)
		case 2:
			asked := spec.CapacitySearch{From: spec.Rate(rng.IntN(2) * 1000), To: spec.Rate(rng.IntN(2) * 20_000),
				Confirm: spec.Count(rng.IntN(5))}
			got, err := findCapacity(context.Background(), base(), []string{"p99<10ms"}, asked, anything(rng, &n, 600))
			checkCapacity(t, seed, got, err)
		}
	}
}

func checkChoice(t *testing.T, seed uint64, got record.ProcedureResult, err error) {
	t.Helper()
	tried := slices.ContainsFunc(got.Points, func(p record.ProcedurePoint) bool { return p.Value == got.Chosen })
	if err != nil || got.Reason == "" || got.Rule == "" || !tried && (got.Chosen != 0 || got.Settled) {
		t.Errorf("seed %d: %+v, %v", seed, got, err)
	}
}

func checkCapacity(t *testing.T, seed uint64, got record.CapacityResult, err error) {
	t.Helper()
	confirming, held := 0, false
	for _, s := range got.Steps {
		if s.Phase == "confirm" {
			confirming++
		}
		held = held || s.Holds && s.Phase != "probe"
	}
	if err != nil || got.Reason == "" || got.Rate > 0 && !held || got.Confirmed && (got.Rate == 0 ||
		confirming == 0 || got.Low == nil) {
		t.Errorf("seed %d: %+v, %v", seed, got, err)
	}
}
