package spec

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"
)

const (
	defaultJitter = Duration(10 * time.Second) // a period of heartbeats, of election timeouts and of Patroni's loop
	maxJitter     = Duration(time.Hour)
	jitterStep    = time.Millisecond
	jitterStream  = 0x726f756e64730001 // of the random numbers of this seed that are for delays
)

func (s *Drill) jitterDefault() {
	if s.Jitter == nil && s.Repeat > 1 && !s.External {
		jitter := defaultJitter
		s.Jitter = &jitter
	}
}

func (s *Drill) checkJitter() error {
	switch {
	case s.Jitter == nil:
		return nil
	case *s.Jitter > maxJitter:
		return fmt.Errorf("jitter: %v is more than %v", *s.Jitter, maxJitter)
	case *s.Jitter > 0 && s.External:
		return errors.New("jitter: the drill does not inject an external fault. Remove jitter, or remove external")
	}
	return notNegative("jitter", *s.Jitter)
}

// Delays are the random delays of the rounds. They are uniform between 0 and Jitter, in milliseconds, and depend on the
// seed of the workload only.
func (s *Drill) Delays() []time.Duration {
	list := make([]time.Duration, s.Repeat)
	if s.Jitter == nil {
		return list
	}
	r := rand.New(rand.NewPCG(s.Run.Workload.Seed, jitterStream))
	for i := range list {
		list[i] = time.Duration(r.Int64N(int64(s.Jitter.Std()/jitterStep)+1)) * jitterStep
	}
	return list
}

// Delay is the sum of the delays of all rounds.
func (s *Drill) Delay() (sum time.Duration) {
	for _, delay := range s.Delays() {
		sum += delay
	}
	return sum
}

// Round is the specification of round n, from 1: its faults are later by a random delay, so that the rounds do not
// strike at one phase of something periodic in the server. The load holds its first rate or its first workers for the
// delay, so that its stages keep their distance from the faults, and all rounds have the same time after their faults.
func (s *Drill) Round(n int) (Drill, time.Duration) {
	d := *s
	delay := s.Delays()[n-1]
	if delay == 0 {
		return d, 0
	}
	d.Faults = slices.Clone(s.Faults)
	for i := range d.Faults {
		at, _ := s.Moment(d.Faults[i]) // Validate has found the moment of each
		d.Faults[i].At, d.Faults[i].AtWorkers = Duration(at+delay), 0
	}
	l := &d.Run.Load
	if l.Duration > 0 {
		l.Duration += Duration(delay)
	}
	if len(l.Stages) > 0 {
		l.Stages = slices.Insert(slices.Clone(l.Stages), 0, l.hold(Duration(delay)))
	}
	return d, delay
}

// hold is a stage that holds what the load begins with.
func (l *Load) hold(d Duration) Stage {
	first := l.Stages[0]
	switch {
	case !l.Open():
		return Stage{Duration: d, Workers: l.Workers}
	case l.Rate == 0 && first.Step: // its rate is that of the warm-up, too
		return Stage{Duration: d, Rate: first.Rate, Step: true}
	}
	return Stage{Duration: d, Rate: l.Rate}
}
