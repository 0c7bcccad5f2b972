package load

import (
	"math"
	"time"

	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/workload"
)

// plan is the plan of a run. It does not change during the run, so every goroutine may read it.
type plan struct {
	name     string // of the main phase
	timeout  time.Duration
	grace    time.Duration
	interval time.Duration
	plain    bool            // wait with the runtime's timers, see [Config.PlainTimers]
	alone    bool            // no worker waits for another one
	abort    <-chan struct{} // see [Config.Abort]

	from    int64 // of the measured window
	until   int64 // of the measured window, never without an end
	drained int64 // from then on, operations that were due in the window are not sent

	dims    measure.Dims
	steps   []userStep
	stages  []stageStart
	tickets int64 // number of operations of the schedule, never without an end
	dropAge int64 // operations that are later than this are dropped; never: they are queued
}

func planOf(cfg Config, w workload.Workload) plan {
	p := plan{name: PhaseMeasure, abort: cfg.Abort, plain: cfg.PlainTimers, alone: true,
		timeout: cfg.Timeout, grace: cfg.Grace, interval: cfg.Interval,
		drained: never, tickets: never, dropAge: never,
		dims: Dims(w, cfg.Scheduled()), steps: userSteps(cfg), stages: stageStarts(cfg)}
	p.from, p.until = int64(cfg.Warmup), never
	if cfg.Duration > 0 {
		p.until = p.from + int64(cfg.Duration)
		p.drained = p.until
		if cfg.Scheduled() {
			p.drained += int64(cfg.Timeout)
		}
	}
	if cfg.Open() && cfg.Operations > 0 {
		p.tickets = ticketsOf(cfg)
	}
	if cfg.Open() && cfg.Late == Drop {
		p.dropAge = int64(cfg.DropAfter)
	}
	return p
}

// ticketsOf returns how many operations this process has in a schedule that ends by [Config.Operations].
func ticketsOf(cfg Config) int64 {
	whole := cfg
	if cfg.Arrivals == Constant {
		whole.Turns = workload.Turns{} // the turns go on from the warm-up
	}
	border := int64(cfg.Warmup)
	warmup := newCounter(newArrivals(whole, math.MaxInt64), border).before(border)[warm]
	if cfg.Arrivals == Constant {
		return cfg.Turns.Before(warmup + cfg.Operations)
	}
	return warmup + cfg.Turns.Before(cfg.Operations)
}

// phaseOf returns the phase of operations that are due at t.
func (p *plan) phaseOf(t int64) int {
	if t < p.from {
		return warm
	}
	return measured
}

// border returns the first border of intervals after t.
func (p *plan) border(t int64) int64 {
	start, end := int64(0), p.from
	switch {
	case t >= p.until:
		start, end = p.until, never
	case t >= p.from:
		start, end = p.from, p.until
	}
	width := int64(p.interval)
	return min(start+((t-start)/width+1)*width, end)
}

// usersAt returns the planned number of virtual users at t.
func (p *plan) usersAt(t int64) int {
	n := 0
	for _, s := range p.steps {
		if s.at > t {
			break
		}
		n = s.n
	}
	return n
}
