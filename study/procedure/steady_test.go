package procedure_test

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/spec"
	"github.com/plimsoll-bench/plimsoll/study"
	"github.com/plimsoll-bench/plimsoll/study/simulatedtest"
)

// checkpointing is a store with checkpoints every minute, seen in intervals that keep simulations cheap.
var checkpointing = simulatedtest.Target{
	SecondNoise: 0.015, SecondAR: 0.5, Checkpoint: 0.15, Interval: 5 * time.Second,
	Classes: []simulatedtest.Class{{Name: "read", Share: 1, Time: 1}},
}

// steadily counts how often the procedure settles, and checks that every length is made of whole cycles.
func steadily(t *testing.T, g simulatedtest.Target, warmup time.Duration, seeds int) (settled int, reasons string) {
	t.Helper()
	for seed := range uint64(seeds) {
		asked := base()
		asked.Load.Warmup = spec.Duration(warmup)
		got, err := findSteady(context.Background(), asked, spec.Steady{To: 960}, newTries(t, g, seed).try)
		if err != nil {
			t.Fatal(err)
		}
		if got.Settled {
			settled++
		}
		for _, p := range got.Points {
			if math.Mod(p.Value, 60) != 0 {
				t.Errorf("%v s are not whole checkpoint cycles", p.Value)
			}
		}
		reasons += got.Reason + "\n"
	}
	return settled, reasons
}

// The dips of checkpoints are not taken for a warm-up or a trend, as bins of five seconds would.
func TestSteadyKnowsCheckpoints(t *testing.T) {
	if n, why := steadily(t, checkpointing, 0, 20); n < 19 {
		t.Errorf("only %d of 20 searches settled:\n%s", n, why)
	}
	warm := checkpointing
	warm.Warmup, warm.WarmupTime = 0.3, time.Minute
	if n, why := steadily(t, warm, 5*time.Minute, 20); n < 19 {
		t.Errorf("after the warm-up: only %d of 20 searches settled:\n%s", n, why)
	}
}

// A target that is still warming up, or never settles, is told apart from one that is steady.
func TestSteadyRefusesWhatIsNotSteady(t *testing.T) {
	warm := checkpointing
	warm.Warmup, warm.WarmupTime = 0.3, time.Minute
	n, why := steadily(t, warm, 0, 20)
	if n > 2 {
		t.Errorf("%d of 20 searches settled with the warm-up in the window:\n%s", n, why)
	}
	say(t, why, "warm")
	for _, trend := range []float64{-0.4, 0.4} {
		g := checkpointing
		g.Trend = trend
		n, why := steadily(t, g, 0, 20)
		if n > 0 {
			t.Errorf("trend %v in an hour: %d of 20 searches settled:\n%s", trend, n, why)
		}
		say(t, why, "no steady state was found up to 16m0s", "within the measured time", "Mann–Kendall")
	}
}

func TestSteadyTellsHowItChose(t *testing.T) {
	x := newTries(t, checkpointing, 1)
	got, err := findSteady(context.Background(), base(), spec.Steady{Trials: 2}, x.try)
	if err != nil || !got.Settled || got.Chosen != 240 || got.Path != "load.duration" || len(got.Points) != 2 {
		t.Fatalf("%+v, %v", got, err)
	}
	say(t, got.Rule, "duration is multiplied by 2", "4 checkpoint cycles of 60.0 s", "changes throughput by at most 2.00 %", "p99 by at most 10.0 %")
	say(t, got.Reason, "240 s are enough", "480 s changed throughput by", "MSER cuts", "of 16 bins of 15.0 s", "trend")
	if p := got.Points[0]; p.N != 2 || p.Value != 240 || p.P99 == nil || len(p.Trials) != 2 {
		t.Errorf("%+v", p)
	}
	if d := x.specs[0].Load; d.Duration != spec.Duration(4*time.Minute) || d.Operations != 0 {
		t.Errorf("the first trial: %+v", d)
	}
}

// The documents raised the number of operations until nothing changed any more.
func TestSteadyByOperations(t *testing.T) {
	g := checkpointing
	asked := spec.Steady{By: "operations", From: 500_000, To: 16_000_000, Cycle: spec.Duration(time.Minute)}
	x := newTries(t, g, 1)
	got, err := findSteady(context.Background(), base(), asked, x.try)
	if err != nil || !got.Settled || got.Path != "load.operations" {
		t.Fatalf("%+v, %v", got, err)
	}
	// 8,000/s less the checkpoints: two million operations are the first that take four cycles.
	if got.Chosen != 2_000_000 {
		t.Errorf("chose %v operations: %s", got.Chosen, got.Reason)
	}
	say(t, got.Points[0].Note, "1 whole checkpoint cycle of 60.0 s, but a steady state needs 4")
	say(t, got.Rule, "the number of operations is multiplied by 2")
	if l := x.specs[1].Load; l.Operations != 1_000_000 || l.Duration != 0 {
		t.Errorf("the second trial: %+v", l)
	}
}

func TestSteadyRoundsUpToCycles(t *testing.T) {
	x := newTries(t, checkpointing, 1)
	got, err := findSteady(context.Background(), base(), spec.Steady{From: 70, To: 500, Factor: 1.5}, x.try)
	if err != nil {
		t.Fatal(err)
	}
	var values []float64
	for _, p := range got.Points {
		values = append(values, p.Value)
	}
	if want := []float64{120, 180, 240, 360, 540}; !slices.Equal(values, want[:min(len(values), len(want))]) ||
		len(values) < 4 {
		t.Errorf("lengths %v, want %v", values, want)
	}
	if got.Settled && got.Chosen < 240 {
		t.Errorf("chose %v s, less than four cycles", got.Chosen)
	}
}

func TestSteadyWithoutResults(t *testing.T) {
	g := checkpointing
	g.Trouble = func(int, study.Request) simulatedtest.Trouble {
		return simulatedtest.Trouble{Err: errors.New("no server")}
	}
	got, err := findSteady(context.Background(), base(), spec.Steady{}, newTries(t, g, 1).try)
	if err != nil || got.Settled || len(got.Points) != 4 {
		t.Errorf("%+v, %v", got, err)
	}
	say(t, got.Reason, "no valid trial")
	say(t, got.Points[0].Note, "no server")
	// A record that cannot be read is not a steady series.
	x := newTries(t, checkpointing, 1)
	unreadable := errors.New("the file is torn")
	_, err = findSteady(context.Background(), base(), spec.Steady{},
		func(ctx context.Context, asked spec.Run, what string) (study.Result, record.Trial, error) {
			r, trial, err := x.try(ctx, asked, what)
			r.Seconds = func() ([]study.Second, error) { return nil, unreadable }
			return r, trial, err
		})
	if !errors.Is(err, unreadable) || !strings.Contains(err.Error(), "procedures/001") {
		t.Errorf("got %v", err)
	}
}
