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

// Time is the time of a search that needs no further trials.
func (p Pace) Time() time.Duration {
	return (1+Planned-plannedTrials)*p.Step + plannedTrials*p.Trial + (1+Planned)*p.Around
}
