package search

import "time"

// Pace are the times of a search.
type Pace struct {
	// Step is the measured time of a step of the ramp, Trial that of a confirming trial. Around is the time of everything
	// else in a step.
	Step, Trial, Around time.Duration
}

// The shape of a search by time: a step to see where to begin, [Planned] steps, of which plannedTrials confirm, and
// time for further trials while the answer is undecided.
const (
	Planned       = 13
	plannedTrials = 7
	further       = 2

	shortestStep = 3 * time.Second
	longestStep  = 20 * time.Second
	trialSteps   = 3 // a confirming trial is as long, up to a minute, so that it sees what happens once a minute
)

// PaceWithin returns the times of a search that ends within a time. If that is short, there is none for further trials.
func PaceWithin(within, around time.Duration) Pace {
	const steps, trials = 1 + Planned - plannedTrials, plannedTrials + further
	step := (within - (steps+trials)*around) / (steps + trialSteps*trials)
	step = min(step.Round(time.Second), longestStep)
	if step >= shortestStep {
		return Pace{step, trialSteps * step, around}
	}
	trial := (within - (steps+plannedTrials)*around - steps*shortestStep) / plannedTrials
	return Pace{shortestStep, min(max(trial.Truncate(time.Second), shortestStep), trialSteps*shortestStep), around}
}

// leastShare is the share of the time that a search uses at least, so that its plan is right although nobody knows
// before how much the target scatters. More trials make the answer more precise.
const leastShare = 2.0 / 3

// Least is how many steps a search within a time makes at least.
func (p Pace) Least(within time.Duration) int {
	each := p.Trial + p.Around
	further := time.Duration(leastShare*float64(within)) - p.time(Planned)
	return Planned + int(max(0, (further+each-1)/max(1, each)))
}

// Time is the planned time of a search that ends within a time: between that of one whose answer is soon sure, and all
// there is.
func (p Pace) Time(within time.Duration) time.Duration {
	return (min(within, p.time(p.Least(within))) + within) / 2
}

// time is the time of a search with so many steps besides the closed loop.
func (p Pace) time(steps int) time.Duration {
	trials := steps - Planned + plannedTrials
	return (1+Planned-plannedTrials)*p.Step + time.Duration(trials)*p.Trial + time.Duration(1+steps)*p.Around
}
