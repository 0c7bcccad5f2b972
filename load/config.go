package load

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/plimsoll-bench/plimsoll/workload"
)

// Arrivals is the distribution of the operations of an open loop over time.
type Arrivals uint8

const (
	Constant Arrivals = iota // equal distances, s_i = i/λ
	Poisson                  // independent exponential distances of mean 1/λ, as of many independent users
)

// LatePolicy is the treatment of an operation that was due while all workers were busy.
type LatePolicy uint8

const (
	Queue LatePolicy = iota // it is sent late; its response time begins when it was due
	Drop                    // if it is later than DropAfter, it is not sent and counted as dropped
)

// Stage is a part of a run in which the rate or the number of workers changes. The first stage begins with the measured
// window. After the last one its target is kept.
type Stage struct {
	Duration time.Duration // 0 with Step changes the target at once
	Rate     float64       // at its end, in operations per second; only for runs whose Stages set no Workers
	Workers  int           // at its end; only for runs without any rate
	// Step sets the target from the beginning of the stage. Otherwise it changes linearly from that of the last stage
	// (from Config.Rate or Config.Workers in the first one).
	Step bool
}

// The values that replace zeros in a [Config] or [FillConfig].
const (
	defaultTimeout   = 10 * time.Second // operations survive a failover (2–12 s), and a run ends soon
	DefaultInterval  = time.Second
	defaultDropAfter = time.Second
	defaultGrace     = time.Second
)

// Limits against mistyped numbers.
const (
	maxWorkers = 1 << 20
	maxRate    = 1e8
)

// Config configures a run. A Rate, in the configuration or in a stage, makes it an open loop. Pace makes every worker
// follow its own ticks. Otherwise each worker sends the next operation after the reply to the last.
type Config struct {
	// Turns are those of this process if several share the load. Workers, rates, stages and operations are then those of
	// all processes together, and this one does its part. Poisson arrivals of processes need different seeds.
	Turns workload.Turns
	// Workers is the largest number of operations in flight. If stages set workers, it is their number before the first
	// stage and may be 0.
	Workers int
	// Rate is the rate of an open loop in operations per second, for all workers together; where
	// stages set rates, the rate before the first stage (during the warm-up and where its ramp begins).
	Rate float64
	// Arrivals spreads the operations of an open loop.
	Arrivals Arrivals
	// Times returns the due times of a recording, whose mean rate is Rate. It replaces Arrivals; stages and operations are
	// not used with it. Nil for other loads.
	Times func() workload.Times
	// Seed makes Poisson arrivals and the stagger of paced workers repeatable.
	Seed uint64
	// Pace is the rate of each worker in operations per second, YCSB's way of throttling: worker ticks
	// at start + k/Pace, a late worker sends back to back until it has caught up, and workers of at
	// most 1000/s start after a random part of their first tick.
	Pace float64
	// Late is the treatment of late operations of an open loop, DropAfter the limit of [Drop] (default 1 s). Paced workers
	// always queue.
	Late      LatePolicy
	DropAfter time.Duration
	// Stages changes the rate of an open loop or the number of workers of a closed or paced one.
	Stages []Stage
	// Warmup is before the measured window and is counted separately.
	Warmup time.Duration
	// Duration is the length of the measured window; 0 with Stages is their sum, 0 with Operations is no limit.
	Duration time.Duration
	// Operations ends the run when so many measured operations are done, if Duration does not before.
	Operations int64
	// Timeout is the deadline of every operation from when it is sent, with all its requests.
	Timeout time.Duration
	// Grace is the time after its deadline for a session to return (default 1 s). Then its worker is abandoned: the
	// operation counts as indeterminate or failed with reason timeout and in Report.Abandoned, and the worker sends
	// nothing more.
	Grace time.Duration
	// Interval is the width of the intervals.
	Interval time.Duration
	// PlainTimers makes workers wait with the runtime's timers, which are up to 1 ms late on Linux. Tests under
	// testing/synctest need it.
	PlainTimers bool
	// Observe, if not nil, is called once for each worker when it has its stream, and returns its observer.
	Observe func(worker int) Observer
	// Ready, if not nil, is called when all sessions are open. The run starts when it returns, so processes that share a
	// load can start together. An error ends the run before its first operation.
	Ready func(context.Context) error
	// Abort, when closed, ends the run at once: current operations are abandoned, and the counts so far are returned.
	// Workers close their sessions when their calls return, because only one goroutine may use a session.
	Abort <-chan struct{}
}

func (c Config) withDefaults() Config {
	c.Timeout, c.Interval = cmp.Or(c.Timeout, defaultTimeout), cmp.Or(c.Interval, DefaultInterval)
	c.Grace, c.DropAfter = cmp.Or(c.Grace, defaultGrace), cmp.Or(c.DropAfter, defaultDropAfter)
	if c.Duration == 0 && c.Operations == 0 {
		for _, s := range c.Stages {
			c.Duration += s.Duration
		}
	}
	return c
}

// Open reports whether this is an open loop.
func (c Config) Open() bool {
	return c.Rate != 0 || slices.ContainsFunc(c.Stages, func(s Stage) bool { return s.Rate != 0 })
}

// Scheduled reports whether operations have a due time.
func (c Config) Scheduled() bool { return c.Open() || c.Pace != 0 }

// users reports whether stages change the number of workers.
func (c Config) users() bool { return len(c.Stages) > 0 && !c.Open() }

// MaxWorkers is the number of sessions of this process.
func (c Config) MaxWorkers() int {
	n := c.Workers
	if c.users() {
		for _, s := range c.Stages {
			n = max(n, s.Workers)
		}
	}
	return int(c.Turns.Before(int64(n)))
}

func (c Config) check() error {
	if err := c.checkTimes(); err != nil {
		return err
	}
	switch n := c.MaxWorkers(); {
	case c.Workers < 0:
		return fmt.Errorf("workers: %d is negative", c.Workers)
	case n == 0:
		return errors.New("workers: at least one worker is needed")
	case n > maxWorkers:
		return fmt.Errorf("workers: %d is more than the limit of %d", n, maxWorkers)
	case c.Operations < 0:
		return fmt.Errorf("operations: %d is negative", c.Operations)
	case c.Duration == 0 && c.Operations == 0:
		return errors.New("the run has no end. Set a duration, a number of operations or stages")
	case c.Open() && c.Pace != 0:
		return errors.New("rate and pace exclude each other. A rate is for all workers together, a pace for each worker")
	case c.Times != nil && (c.Rate == 0 || len(c.Stages) > 0 || c.Operations > 0):
		return errors.New("a recording needs a rate, and neither stages nor a number of operations")
	case c.Late > Drop || c.Arrivals > Poisson:
		return fmt.Errorf("unknown late policy %d or arrivals %d", c.Late, c.Arrivals)
	}
	if err := checkRate("rate", c.Rate); err != nil {
		return err
	}
	if err := checkRate("pace", c.Pace); err != nil {
		return err
	}
	return c.checkStages()
}

func (c Config) checkTimes() error {
	for _, t := range []struct {
		name string
		d    time.Duration
	}{
		{"warm-up", c.Warmup}, {"duration", c.Duration}, {"timeout", c.Timeout}, {"interval", c.Interval},
		{"grace", c.Grace}, {"drop-after", c.DropAfter},
	} {
		if t.d < 0 {
			return fmt.Errorf("%s: %v is negative", t.name, t.d)
		}
		if t.d > maxSpan {
			return fmt.Errorf("%s: %v is longer than the limit of %v", t.name, t.d, maxSpan)
		}
	}
	if c.Interval < time.Millisecond {
		return fmt.Errorf("interval: %v is shorter than 1ms", c.Interval)
	}
	return nil
}

// maxSpan prevents overflow of sums of times.
const maxSpan = 10 * 365 * 24 * time.Hour

func checkRate(name string, r float64) error {
	if !(r >= 0 && r <= maxRate) { // catches NaN as well
		return fmt.Errorf("%s: %g is not between 0 and %g operations per second", name, r, float64(maxRate))
	}
	return nil
}

func (c Config) checkStages() error {
	open := c.Open()
	for i, s := range c.Stages {
		if err := checkRate("rate", s.Rate); err != nil {
			return fmt.Errorf("stage %d: %w", i+1, err)
		}
		switch {
		case s.Duration < 0 || s.Duration > maxSpan:
			return fmt.Errorf("stage %d: duration %v is not between 0 and %v", i+1, s.Duration, maxSpan)
		case s.Workers < 0 || s.Workers > maxWorkers:
			return fmt.Errorf("stage %d: %d workers are not between 0 and %d", i+1, s.Workers, maxWorkers)
		case open && s.Workers != 0:
			return fmt.Errorf("stage %d changes the workers, but the run has a rate. Stages change one of the two", i+1)
		case s.Duration == 0 && !s.Step:
			return fmt.Errorf("stage %d: a ramp needs a duration. Set step for an immediate change", i+1)
		}
	}
	if open && c.Warmup > 0 && c.startRate() == 0 {
		return errors.New("rate: the warm-up has no rate. Set the rate before the first stage")
	}
	if c.users() && c.Duration == 0 && c.Stages[len(c.Stages)-1].Workers == 0 {
		return errors.New("workers: the last stage has no workers, so the operations may never end. Set a duration too")
	}
	if c.users() && c.Warmup > 0 && c.Workers == 0 {
		return errors.New("workers: the warm-up has no workers. Set their number before the first stage")
	}
	return nil
}

// startRate is the rate during the warm-up and at the beginning of the first stage.
func (c Config) startRate() float64 {
	if c.Rate == 0 && len(c.Stages) > 0 && c.Stages[0].Step {
		return c.Stages[0].Rate
	}
	return c.Rate
}

// Check returns an error for an invalid configuration.
func (c Config) Check() error { return c.withDefaults().check() }
