package load

import (
	"math"
	"time"

	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/workload"
)

// plan is what a run is asked to do. Nothing changes it once the run has begun, so every goroutine may read it.
type plan struct {
	name     string // of the main phase
	timeout  time.Duration
	grace    time.Duration
	interval time.Duration
	plain    bool            // wait with the runtime's timers, see [Config.PlainTimers]
	alone    bool            // no worker ever waits for another one
	abort    <-chan struct{} // see [Config.Abort]

	from    int64 // of the measured window
	until   int64 // of the measured window, never if it has no end
	drained int64 // when nothing due in the window is sent any more

	dims    measure.Dims
	steps   []userStep
	stages  []stageStart
	tickets int64 // how many operations the schedule has, never if it has no end
	dropAge int64 // operations that are later than this are dropped, never if they are queued
}

// planOf plans the run that cfg asks for.
func planOf(cfg Config, w workload.Workload) plan {
	p := plan{name: PhaseMeasure, abort: cfg.Abort, plain: cfg.PlainTimers, alone: true,
		timeout: cfg.Timeout, grace: cfg.Grace, interval: cfg.Interval,
		drained: never, tickets: never, dropAge: never,
		dims: Dims(w, cfg.Scheduled()), steps: userSteps(cfg), stages: stageStarts(cfg)}
	p.from, p.until = cfg.bounds()
	if p.until != never {
		p.drained = p.until
		if cfg.Scheduled() {
			p.drained += int64(cfg.Timeout)
		}
	}
	if cfg.Open() && cfg.Operations > 0 {
		warmup := newCounter(newArrivals(cfg, math.MaxInt64), p.from).before(p.from)[warm]
		p.tickets = warmup + cfg.Operations
	}
	if cfg.Open() && cfg.Late == Drop {
		p.dropAge = int64(cfg.DropAfter)
	}
	return p
}

// phaseOf returns the phase of what was due at t.
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

// usersAt returns how many virtual users there shall be at t.
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
