package main

import (
	"context"
	"math"
	"math/rand/v2"
	"time"

	"github.com/plimsoll-bench/plimsoll/measure"
)

// runFamily has the objectives and the findings of a run. Each trial plays operations of a made-up target in virtual
// time to the recorders of a run, and judges what they counted.
func runFamily() family {
	f := family{name: "run", verdict: "`plimsoll run`: objectives *met*, and a *valid* result", parallel: 2,
		notFound: []string{
			"Stalls so rare that the run has none.",
			"A wrong clock of the client: all times come from it.",
			"A trend that is small compared with the noise of the run; the rows say how many of which size are found.",
			"Noise with a memory longer than about a tenth of the run looks like a trend.",
		}}
	f.rows = append(f.rows, objectiveRows()...)
	f.rows = append(f.rows, validityRows()...)
	return f
}

// played is a target and its load.
type played struct {
	seconds int
	rate    float64 // arrivals per second of an open loop; 0: a closed loop
	workers int     // of a closed loop
	pace    float64 // operations per second of each worker, 0 for none
	// service returns the time of an operation that begins at a second, and false if it is not answered.
	service func(at float64) (seconds float64, ok bool)
	drop    float64               // share of the operations that are due and dropped
	lose    func(at float64) bool // the samples that the client loses on the way to the counts
	short   float64               // factor of the counted service time, 1 if 0
}

const (
	playedOK = iota
	playedIndeterminate
)

// play returns what the recorders of a run counted.
func (p played) play(rng *rand.Rand) (*measure.Summary, error) {
	dims := measure.Dims{Classes: []measure.Class{{Name: "read"}}, Scheduled: p.rate > 0,
		Outcomes: []measure.Outcome{{Name: "ok", Success: true}, {Name: "indeterminate"}}}
	c, err := measure.NewCollector(measure.Options{Dims: dims})
	if err != nil {
		return nil, err
	}
	r, ends, marks := c.Recorder(), time.Duration(p.seconds)*time.Second, int64(0)
	c.Phase("drain", ends)
	operation := func(start float64) (end float64) {
		took, ok := p.service(start)
		at, until := int64(start*1e9), int64((start+took)*1e9)
		r.Begin(at)
		// The controller of a real run wakes up with the operations.
		if at > marks {
			marks = at + int64(10*time.Millisecond)
			c.Gauge(time.Duration(at))
		}
		r.End(at, until)
		counted := until - at
		if p.short > 0 {
			counted = int64(float64(counted) * p.short)
		}
		s := measure.Sample{End: until, Service: counted, Response: counted, Docs: 1, Attempts: 1}
		if !ok {
			s.Outcome = playedIndeterminate
		}
		if p.lose == nil || !p.lose(start) {
			r.Record(&s)
		}
		return start + took
	}
	if p.rate > 0 {
		for at := 0.0; at < float64(p.seconds); at += rng.ExpFloat64() / p.rate {
			r.Offered(int64(at*1e9), 1)
			if rng.Float64() < p.drop {
				r.Dropped(int64(at*1e9), 1)
				continue
			}
			operation(at)
		}
	} else {
		free := make([]float64, p.workers)
		for i := range free {
			free[i] = rng.Float64() / 1000
		}
		for {
			next := 0
			for i := range free {
				if free[i] < free[next] {
					next = i
				}
			}
			begin := free[next]
			if begin >= float64(p.seconds) {
				break
			}
			if free[next] = operation(begin); p.pace > 0 {
				free[next] = max(free[next], begin+1/p.pace)
			}
		}
	}
	c.Gauge(ends)
	return p.merge(c, dims, ends)
}

// merge sums up the intervals of the measured phase.
func (p played) merge(c *measure.Collector, dims measure.Dims, ends time.Duration) (*measure.Summary, error) {
	intervals, err := c.Finish(ends + time.Minute)
	if err != nil {
		return nil, err
	}
	s := measure.NewSummary(dims, "measure")
	for _, iv := range intervals {
		add := s.Add
		if iv.Phase == "drain" {
			add = s.AddTail
		}
		if err := add(iv); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// steady returns times around a mean, with an exponential tail.
func steady(rng *rand.Rand, mean float64) func(float64) (float64, bool) {
	return func(float64) (float64, bool) { return mean * (0.5 + rng.ExpFloat64()/2), true }
}

// objectiveOf plays a load and evaluates one objective. A lie is found if it is not met.
func objectiveOf(text string, make func(rng *rand.Rand) played) func(context.Context, *trial) (answer, error) {
	return func(_ context.Context, t *trial) (answer, error) {
		s, err := make(t.rand).play(t.rand)
		if err != nil {
			return cleared, err
		}
		list, err := measure.ParseObjectives(text)
		if err != nil {
			return cleared, err
		}
		r := list[0].Evaluate(s)
		t.say("%+v", r)
		if r.Met {
			return cleared, nil
		}
		return accused, nil
	}
}

// unanswered lets a share of the operations time out after a second.
func unanswered(share float64) func(rng *rand.Rand) played {
	return func(rng *rand.Rand) played {
		normal := steady(rng, 0.002)
		return played{seconds: 60, rate: 200, service: func(at float64) (float64, bool) {
			if rng.Float64() < share {
				return 1, false
			}
			return normal(at)
		}}
	}
}

func objectiveRows() []row {
	dropped := func(share float64) func(rng *rand.Rand) played {
		return func(rng *rand.Rand) played {
			return played{seconds: 60, rate: 200, service: steady(rng, 0.002), drop: share}
		}
	}
	oneStall := func(rng *rand.Rand) played {
		normal, at := steady(rng, 0.002), 5+50*rng.Float64()
		return played{seconds: 60, rate: 500, service: func(now float64) (float64, bool) {
			if left := at + 1 - now; left > 0.97 && left < 1 {
				return 0.08, true // too few to move p99.9 above the limit
			} else if left > 0 && left < 1 {
				return max(0.001, left) * 0.04, true // below the limit, but all of the tail
			}
			return normal(now)
		}}
	}
	return []row{
		{name: "timeouts", lie: "0.5 % of the operations time out, and the others are fast: `p99.9<50ms`", goal: everyOne,
			small: 10, full: 400, try: objectiveOf("p99.9<50ms", unanswered(0.005))},
		{name: "timeouts-service", lie: "the same, with the service time: `service.p99.9<50ms`", goal: everyOne,
			small: 10, full: 200, try: objectiveOf("service.p99.9<50ms", unanswered(0.005))},
		{name: "dropped", lie: "2.9 % of the operations are dropped: `p99.9<120ms`", goal: everyOne,
			small: 10, full: 400, try: objectiveOf("p99.9<120ms", dropped(0.029))},
		{name: "dropped-p99", lie: "2.9 % of the operations are dropped: `p99<120ms`", goal: everyOne,
			small: 10, full: 200, try: objectiveOf("p99<120ms", dropped(0.029))},
		{name: "dropped-class", lie: "2.9 % of the operations, of an unknown class, are dropped: `read.p99<120ms`", goal: everyOne,
			small: 10, full: 200, try: objectiveOf("read.p99<120ms", dropped(0.029))},
		{name: "one-stall", lie: "one stall of 1 s has all operations at or beyond p99.9: `p99.9<50ms`", goal: everyOne,
			small: 5, full: 200, try: objectiveOf("p99.9<50ms", oneStall)},
		{name: "few-timeouts", honest: "0.03 % of the operations time out: `p99.9<50ms`", goal: atMost(0.01),
			small: 10, full: 1000, try: objectiveOf("p99.9<50ms", unanswered(0.0003))},
		{name: "few-dropped", honest: "0.3 % of the operations are dropped: `p99<50ms`", goal: atMost(0.01),
			small: 10, full: 1000, try: objectiveOf("p99<50ms", dropped(0.003))},
		{name: "all-answered", honest: "all operations are fast: `p99.9<50ms`", goal: atMost(0.01),
			small: 10, full: 1000, try: objectiveOf("p99.9<50ms", unanswered(0))},
	}
}

// findingOf plays a load and asks whether a finding is there, any that makes a run invalid for "".
func findingOf(id string, make func(rng *rand.Rand) played) func(context.Context, *trial) (answer, error) {
	return func(_ context.Context, t *trial) (answer, error) {
		s, err := make(t.rand).play(t.rand)
		if err != nil {
			return cleared, err
		}
		got := cleared
		for _, f := range measure.Judge(s, measure.Circumstances{Remote: true}) { // this process is no load generator
			if f.ID == id || id == "" && f.ID != "too-short" && f.Severity != measure.Note {
				got = accused
				t.say("%s: %s", f.ID, f.Text)
			}
		}
		return got, nil
	}
}

// noisy returns times whose level changes from second to second, with a memory, around a course.
func noisy(rng *rand.Rand, seconds int, deviation, memory float64,
	course func(share float64) float64) func(float64) (float64, bool) {
	level, x := make([]float64, seconds+1), rng.NormFloat64()
	for i := range level {
		x = memory*x + math.Sqrt(1-memory*memory)*rng.NormFloat64()
		level[i] = 0.02 * math.Exp(deviation*x) / course(float64(i)/float64(seconds))
	}
	return func(at float64) (float64, bool) {
		return level[min(int(at), seconds)] * (0.5 + rng.ExpFloat64()/2), true
	}
}

func validityRows() []row {
	flat := func(float64) float64 { return 1 }
	rising := func(by float64) func(float64) float64 { return func(share float64) float64 { return 1 + by*share } }
	warming := func(share float64) float64 { return 1 - 0.4*math.Exp(-10*share) }
	closed := func(seconds int, deviation, memory float64, course func(float64) float64) func(*rand.Rand) played {
		return func(rng *rand.Rand) played {
			return played{seconds: seconds, workers: 8, service: noisy(rng, seconds, deviation, memory, course)}
		}
	}
	paced := func(rng *rand.Rand) played {
		return played{seconds: 5, workers: 2, pace: 300, service: steady(rng, 0.0004)}
	}
	open := func(rate float64, seconds int, mean float64) func(*rand.Rand) played {
		return func(rng *rand.Rand) played { return played{seconds: seconds, rate: rate, service: steady(rng, mean)} }
	}
	losing := func(share float64) func(*rand.Rand) played {
		return func(rng *rand.Rand) played {
			p := paced(rng)
			p.lose = func(float64) bool { return rng.Float64() < share }
			return p
		}
	}
	return []row{
		{name: "lost-operations", lie: "the client loses 10 % of the operations on the way to the counts: `littles-law`", goal: everyOne,
			small: 20, full: 400, try: findingOf("littles-law", losing(0.1))},
		{name: "short-times", lie: "the client counts 85 % of each service time: `littles-law`", goal: everyOne,
			small: 10, full: 200, try: findingOf("littles-law", func(rng *rand.Rand) played {
				p := paced(rng)
				p.short = 0.85
				return p
			})},
		{name: "trend-10", lie: "throughput rises by 10 %, with 3 % of noise whose memory is 0.5 a second: `not-steady`", goal: unclaimed,
			small: 2, full: 200, try: findingOf("not-steady", closed(240, 0.03, 0.5, rising(0.1))), notFound: "one trend in seven"},
		{name: "trend-10-noisy", lie: "throughput rises by 10 %, with 10 % of noise whose memory is 0.8 a second: `not-steady`", goal: unclaimed,
			full: 200, try: findingOf("not-steady", closed(240, 0.1, 0.8, rising(0.1))), notFound: "Trends within the noise."},
		{name: "warm-up", lie: "throughput begins 40 % lower and recovers in a tenth of the run: `not-steady`", goal: atLeast(0.95),
			small: 1, full: 200, try: findingOf("not-steady", closed(600, 0.03, 0.5, warming))},
		{name: "steady-noise", honest: "noise of 10 % whose memory is 0.5 a second: `not-steady`", goal: atMost(0.05),
			small: 4, full: 400, try: findingOf("not-steady", closed(240, 0.1, 0.5, flat))},
		{name: "steady-memory", honest: "noise of 10 % whose memory is 0.9 a second: `not-steady`", goal: atMost(0.05),
			small: 4, full: 400, try: findingOf("not-steady", closed(240, 0.1, 0.9, flat))},
		{name: "steady-long-memory", honest: "noise of 10 % whose memory is 0.95 a second, for 10 min: `not-steady`", goal: atMost(0.05),
			full: 200, try: findingOf("not-steady", closed(600, 0.1, 0.95, flat))},
		{name: "paced", honest: "two workers with a pace: any warning, or an invalid result", goal: atMost(0.01),
			small: 10, full: 1000, try: findingOf("", paced)},
		{name: "closed", honest: "a closed loop of eight workers: any warning, or an invalid result", goal: atMost(0.02),
			small: 4, full: 400, try: findingOf("", closed(30, 0.02, 0.3, flat))},
		{name: "open", honest: "an open loop of 200/s: any warning, or an invalid result", goal: atMost(0.02),
			small: 10, full: 1000, try: findingOf("", open(200, 20, 0.002))},
		{name: "open-slow", honest: "an open loop of 20/s for 5 s with operations of 100 ms: any warning, or an invalid result", goal: atMost(0.02),
			small: 20, full: 1000, try: findingOf("", open(20, 5, 0.1))},
	}
}
