package conduct

import (
	"time"

	"github.com/plimsoll-bench/plimsoll/campaign"
	"github.com/plimsoll-bench/plimsoll/record"
)

// pace is the time that trials took, by configuration.
type pace struct {
	trials campaign.Pace
	fills  campaign.Pace // of those, the time that went into loading data
}

// learn adds a finished trial.
func (p *pace) learn(t record.Trial) {
	if t.Kind != record.TrialSearch {
		p.trials.Learn(t.Configuration, t.Seconds, 0)
	}
}

// expect returns the expected time of the next trial of a configuration, from previous ones or else from all others.
func (p *pace) expect(configuration string) (time.Duration, bool) {
	seconds, n := p.trials.Of(configuration)
	if n == 0 {
		return 0, false
	}
	return time.Duration(seconds / float64(n) * float64(time.Second)), true
}

// learnFill adds the time that a trial loaded data.
func (p *pace) learnFill(t record.Trial, seconds float64) {
	if t.Kind != record.TrialSearch && seconds > 0 {
		p.fills.Learn(t.Configuration, seconds, 0)
	}
}

// measured returns the time of a trial of a configuration in seconds without loading data, from previous ones, from all
// others, or else from its load.
func (p *pace) measured(configuration string, load time.Duration) float64 {
	seconds, n := p.trials.Of(configuration)
	if n == 0 {
		return load.Seconds()
	}
	if p.fills.Count(configuration) > 0 || p.trials.Count(configuration) == 0 {
		filled, _ := p.fills.Of(configuration)
		seconds -= filled
	}
	return max(0, seconds) / float64(n)
}

// fill returns the mean time in seconds to load data, for a configuration or "" for all.
func (p *pace) fill(configuration string) float64 {
	seconds, n := p.fills.Of(configuration)
	return seconds / float64(max(1, n))
}

// fillsAlways reports whether each trial of a configuration loaded its data.
func (p *pace) fillsAlways(configuration string) bool {
	fills := p.fills.Count(configuration)
	return fills > 1 && fills == p.trials.Count(configuration)
}

// filled returns the time in seconds that a run loaded data, 0 if it did not.
func filled(r *record.Run) float64 {
	if r == nil || r.Fill == nil || r.Fill.Inserted == 0 {
		return 0
	}
	return r.Fill.Seconds
}
