package search_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/plimsoll-bench/plimsoll/study/search"
)

// blocks are seconds of a share of bad operations that scatters and depends on the second before.
func blocks(r *rand.Rand, seconds int, due, share, scatter float64) (list []search.Block) {
	wave := scatter * r.NormFloat64()
	for range seconds {
		wave = 0.6*wave + 0.8*scatter*r.NormFloat64()
		p := min(1, share*math.Exp(wave-scatter*scatter/2))
		bad := 0.0
		for range int(due) {
			if r.Float64() < p {
				bad++
			}
		}
		list = append(list, search.Block{Due: due, Bad: bad})
	}
	return list
}

// A verdict of a step of 30 s is wrong in at most about 5 % each way, also if slow moments last for several seconds. Of
// 10 s, up to 10 % are wrongly met.
func TestErrorOfAStep(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 5))
	const repetitions = 1000
	for _, x := range []struct {
		name               string
		seconds            int
		due, scatter, most float64
	}{{"independent", 30, 500, 0, 0.05}, {"few", 30, 50, 0, 0.05}, {"moderate", 30, 500, 0.3, 0.06},
		{"strong", 30, 1000, 0.5, 0.06}, {"strong and long", 60, 1000, 0.5, 0.05}, {"strong and short", 10, 1000, 0.5, 0.11}} {
		wrong := map[search.Verdict]int{}
		for range repetitions {
			certainty := search.Decide(blocks(r, x.seconds, x.due, allowed, x.scatter), allowed) // exactly at the limit
			wrong[search.Of(certainty)]++
		}
		met, missed := float64(wrong[search.Met])/repetitions, float64(wrong[search.Missed])/repetitions
		t.Logf("%s: met %.3f, missed %.3f", x.name, met, missed)
		if met > x.most || missed > 0.06 {
			t.Errorf("%s: at the limit, %.1f %% are met and %.1f %% are missed", x.name, 100*met, 100*missed)
		}
	}
	for share, want := range map[float64]search.Verdict{0.002: search.Met, 0.03: search.Missed} {
		decided := 0
		for range repetitions {
			if search.Of(search.Decide(blocks(r, 30, 500, share, 0.3), allowed)) == want {
				decided++
			}
		}
		if decided < repetitions*95/100 {
			t.Errorf("a share of %v is %s in %d of %d", share, want, decided, repetitions)
		}
	}
	if got := search.Of(search.Decide(blocks(r, 10, 5, 0, 0), allowed)); got != search.Undecided {
		t.Errorf("50 operations are %s", got)
	}
}

// A second in which all are late is one moment, not hundreds: one in 20 seconds does not decide, three in 60 do.
func TestSlowSecondIsOneMoment(t *testing.T) {
	var list []search.Block
	for s := range 60 {
		b := search.Block{Due: 500}
		if s%20 == 7 {
			b.Bad = 500
		}
		list = append(list, b)
	}
	if got := search.Of(search.Decide(list[:20], allowed)); got != search.Undecided {
		t.Errorf("one of 20 seconds: %s", got)
	}
	if got := search.Of(search.Decide(list, allowed)); got != search.Missed {
		t.Errorf("three of 60 seconds: %s", got)
	}
}

// drive searches with outcomes of a function.
func drive(o search.Options, outcome func(rate float64, seconds int) search.Outcome) (search.Answer, []search.Outcome) {
	s := search.New(o)
	var all []search.Outcome
	for {
		step, more := s.Next()
		if !more {
			return s.Answer(), all
		}
		seconds := perStep
		if step.Phase == search.Confirm {
			seconds = perTrial
		}
		out := outcome(step.Rate, seconds)
		out.Step = step
		all = append(all, out)
		s.Add(out)
	}
}

func from(rate, to float64) search.Options {
	o := options
	o.From, o.To = rate, to
	return o
}

// A target that is late in one second of twenty holds no rate, and no objective that no rate meets.
func TestNoRateHolds(t *testing.T) {
	for name, x := range map[string]target{
		"late in one second of twenty": {capacity: 1000, slow: 0.05, noise: 0.02},
		"late at every rate":           {capacity: 1e-3, noise: 0.02},
	} {
		none := 0
		for seed := range uint64(40) {
			g := x
			g.r = rand.New(rand.NewPCG(seed, 2))
			a, all := drive(from(500, 0), g.run)
			if a.State == search.None && a.Rate == 0 {
				none++
			} else {
				t.Logf("%s, seed %d: %+v after %d steps", name, seed, a, len(all))
			}
		}
		if none < 34 {
			t.Errorf("%s: no rate in %d of 40 searches", name, none)
		}
	}
	// Steps that do not decide, and that do.
	for certainty, want := range map[float64]search.State{0.3: search.Open, 0.001: search.None} {
		o := from(500, 0)
		o.Most = 3
		same := func(float64, int) search.Outcome { return search.Outcome{Certainty: certainty} }
		if a, _ := drive(o, same); a.State != want {
			t.Errorf("3 steps with the certainty %v: %s, want %s", certainty, a.State, want)
		}
	}
	g := target{capacity: 1000, slow: 1.0 / 400, noise: 0.02, cliff: true} // an honest one beside them
	found := 0
	for seed := range uint64(40) {
		g := g
		g.r = rand.New(rand.NewPCG(seed, 3))
		if a, _ := drive(from(500, 0), g.run); a.State == search.Found && math.Abs(a.Rate/1000-1) < 0.06 {
			found++
		}
	}
	if found < 38 {
		t.Errorf("a target with one slow second in 400 is found in %d of 40 searches", found)
	}
}

// A client that is the limit makes the answer a lower bound, whatever is above it, and is never the capacity.
func TestClientIsNoCapacity(t *testing.T) {
	g := target{capacity: 5000, noise: 0.02, r: rand.New(rand.NewPCG(1, 4))}
	limited := func(at float64) func(float64, int) search.Outcome {
		return func(rate float64, seconds int) search.Outcome {
			if rate > at {
				return search.Outcome{Client: true}
			}
			return g.run(rate, seconds)
		}
	}
	a, all := drive(from(1000, 0), limited(3000))
	if a.State != search.AtLeast || a.Rate > 3000 || a.Rate < 2200 || !math.IsInf(a.High, 1) {
		t.Errorf("%+v after %d steps", a, len(all))
	}
	busy := 0 // a client that reaches a rate once, and then only a lower one
	if a, all = drive(from(2000, 0), func(rate float64, seconds int) search.Outcome {
		if busy++; rate > 3000 || rate > 1500 && busy > 3 {
			return search.Outcome{Client: true}
		}
		return g.run(rate, seconds)
	}); a.State != search.AtLeast || a.Rate > 1500 || a.Rate < 800 {
		t.Errorf("a client that became busy: %+v after %d steps", a, len(all))
	}
	if a, all = drive(from(40_000, 0), limited(3000)); a.State != search.AtLeast || a.Rate > 3000 || a.Rate < 1500 {
		t.Errorf("from a rate that no load reaches: %+v after %d steps", a, len(all))
	}
	if a, all = drive(from(1000, 0), limited(0)); a.State != search.Open || a.Rate != 0 {
		t.Errorf("a client that reaches nothing: %+v after %d steps", a, len(all))
	}
	missedAbove := func(rate float64, seconds int) search.Outcome {
		if rate > 300 {
			return search.Outcome{Certainty: 0.001}
		}
		return search.Outcome{Client: true}
	}
	if a, all = drive(from(1000, 0), missedAbove); a.State != search.Open || a.Rate != 0 {
		t.Errorf("a client that is the limit below a rate that is missed: %+v after %d steps", a, len(all))
	}
	if a, all = drive(from(2000, 0), limited(9000)); a.State != search.Found || math.Abs(a.Rate/5000-1) > 0.06 {
		t.Errorf("a client that is faster than the target: %+v after %d steps", a, len(all))
	}
	for _, highest := range []float64{3000, 3000 + 5e-13} { // as 1.1 × 2727.27… is
		if a, all = drive(from(1000, highest), g.run); a.State != search.AtLeast || a.Rate != 3000 || len(all) > 7 {
			t.Errorf("up to the highest rate %v: %+v after %d steps", highest, a, len(all))
		}
	}
	steps := 0
	disturbed := func(rate float64, seconds int) search.Outcome {
		if steps++; steps == 3 {
			return search.Outcome{Certainty: 0.05}
		}
		return g.run(rate, seconds)
	}
	if a, all = drive(from(1000, 2600), disturbed); a.State != search.AtLeast || a.Rate != 2600 {
		t.Errorf("up to the highest rate, with a disturbed step: %+v after %d steps", a, len(all))
	}
	for _, o := range all {
		if o.Rate > 2600 {
			t.Errorf("a step at %v, above the highest rate", o.Rate)
		}
	}
}

// No answer is above the highest rate that was offered, whichever steps were disturbed.
func TestNoAnswerAboveWhatWasOffered(t *testing.T) {
	atLeast := 0
	for seed := range uint64(100) {
		r := rand.New(rand.NewPCG(seed, 5))
		g := target{capacity: 5000, noise: 0.02, r: r}
		highest := 0.0
		a, all := drive(from(2300, 2600), func(rate float64, seconds int) search.Outcome {
			highest = max(highest, rate)
			if r.Float64() < 0.15 {
				return search.Outcome{Certainty: 0.5 * r.Float64()}
			}
			return g.run(rate, seconds)
		})
		if a.Rate > highest {
			t.Errorf("seed %d: %+v after %d steps", seed, a, len(all))
		}
		if a.State == search.AtLeast && a.Rate == 2600 {
			atLeast++
		}
	}
	if atLeast < 80 {
		t.Errorf("the highest rate is carried in %d of 100 searches", atLeast)
	}
}

// With too few operations the search goes up, and never claims a rate.
func TestTooFewOperations(t *testing.T) {
	g := target{capacity: 5000, noise: 0.02, r: rand.New(rand.NewPCG(1, 4))}
	a, _ := drive(from(10, 0), func(rate float64, seconds int) search.Outcome {
		if rate < 100 {
			return search.Outcome{Few: true}
		}
		return g.run(rate, seconds)
	})
	if a.State != search.Found || math.Abs(a.Rate/5000-1) > 0.08 {
		t.Errorf("%+v", a)
	}
	a, all := drive(from(10, 40), func(float64, int) search.Outcome { return search.Outcome{Few: true} })
	if a.State != search.Few || a.Rate != 0 || len(all) > 10 {
		t.Errorf("%+v after %d steps", a, len(all))
	}
}

// The same outcomes lead to the same steps, and an answer before the end is not called found.
func TestSearchIsRepeatable(t *testing.T) {
	g := target{capacity: 5000, noise: 0.05, r: rand.New(rand.NewPCG(9, 4))}
	want, all := drive(from(2000, 0), g.run)
	s := search.New(from(2000, 0))
	for i, o := range all {
		if step, more := s.Next(); !more || step != o.Step {
			t.Fatalf("step %d: %+v, %v, want %+v", i+1, step, more, o)
		}
		if a := s.Answer(); a.State != search.Searching {
			t.Errorf("before step %d: %+v", i+1, a)
		}
		s.Add(o)
	}
	if a := s.Answer(); a != want {
		t.Errorf("%+v, want %+v", a, want)
	}
	short := from(2000, 0)
	short.Most = 7
	g = target{capacity: 5000, noise: 0.05, r: rand.New(rand.NewPCG(9, 4))}
	if a, _ := drive(short, g.run); a.State != search.Open || a.Low > 5000 || a.High < 5000 {
		t.Errorf("with 7 steps: %+v", a)
	}
}

// A target that misses a step now and then, whatever the rate, has an answer with a doubt, or none.
func TestMissesAtEveryRateAreDoubted(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 7))
	quiet := 0
	for range 60 {
		a, _ := drive(from(100, 1000),
			func(rate float64, _ int) search.Outcome {
				o := search.Outcome{Certainty: 0.995}
				if r.Float64() < 0.3 {
					o.Certainty = 0.005
				}
				return o
			})
		if (a.State == search.AtLeast || a.State == search.Found && a.Sure()) && a.MissedBelow == 0 {
			quiet++
		}
	}
	if t.Logf("%d of 60 answers have no doubt", quiet); quiet > 12 {
		t.Errorf("%d of 60 targets that miss 3 of 10 steps at every rate have an answer without a doubt", quiet)
	}
}
