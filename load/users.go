package load

import (
	"fmt"
	"math"
	"slices"
	"time"
)

// userStep is a change of the number of virtual users.
type userStep struct {
	at int64
	n  int
}

// userSteps plans the virtual users: a ramp from a to b over d starts (or ends) its j-th user at d·j/|b−a|.
func userSteps(cfg Config) []userStep {
	steps := []userStep{{at: 0, n: cfg.Workers}}
	if !cfg.users() {
		return own(cfg, steps)
	}
	at, n := int64(cfg.Warmup), cfg.Workers
	for _, s := range cfg.Stages {
		if s.Step {
			steps = append(steps, userStep{at: at, n: s.Workers})
		} else {
			steps = ramp(steps, at, int64(s.Duration), n, s.Workers)
		}
		at, n = at+int64(s.Duration), s.Workers
	}
	return own(cfg, steps)
}

// own returns the steps that change the virtual users of this process.
func own(cfg Config, steps []userStep) []userStep {
	for i := range steps {
		steps[i].n = int(cfg.Turns.Before(int64(steps[i].n)))
	}
	return slices.CompactFunc(steps, func(a, b userStep) bool { return a.n == b.n })
}

func ramp(steps []userStep, at, d int64, from, to int) []userStep {
	sign := 1
	if to < from {
		sign = -1
	}
	change := (to - from) * sign
	for j := 1; j <= change; j++ {
		share := float64(j) / float64(change)
		steps = append(steps, userStep{at: at + int64(math.Round(float64(d)*share)), n: from + j*sign})
	}
	return steps
}

// stageStart is the beginning of a stage, with its text.
type stageStart struct {
	at   int64
	text string
}

func stageStarts(cfg Config) []stageStart {
	var starts []stageStart
	at := int64(cfg.Warmup)
	for i, s := range cfg.Stages {
		how := "ramp to"
		if s.Step {
			how = "step to"
		}
		aim := fmt.Sprintf("%d workers", s.Workers)
		if cfg.Open() {
			aim = fmt.Sprintf("%g operations/s", s.Rate)
		}
		starts = append(starts, stageStart{at: at,
			text: fmt.Sprintf("stage %d of %d: %s %s in %v", i+1, len(cfg.Stages), how, aim, s.Duration)})
		at += int64(s.Duration)
	}
	return starts
}

// paceTicks is the schedule of one paced worker.
type paceTicks struct {
	start, tick int64
}

// ticksFor returns YCSB's tick for a rate per worker, in whole nanoseconds.
func ticksFor(rate float64) int64 {
	return max(1, int64(float64(time.Second)/rate))
}

// at returns when operation k of the worker is due.
func (p paceTicks) at(k int64) int64 { return p.start + k*p.tick }

// before returns the number of its operations that are due before t.
func (p paceTicks) before(t int64) int64 {
	if t <= p.start {
		return 0
	}
	return (t-p.start-1)/p.tick + 1
}
