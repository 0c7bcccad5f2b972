package conduct

import (
	"time"

	"github.com/plimsoll-bench/plimsoll/record"
)

// pace is the time that trials took.
type pace struct {
	configs map[string]*tally
	all     tally
}

type tally struct {
	seconds float64
	n       int
	filled  float64 // of the seconds, those that went into loading data
	fills   int     // trials that did so
}

func newPace() pace { return pace{configs: map[string]*tally{}} }

// of returns the tally of a configuration, or of all if it has none.
func (p *pace) of(configuration string) *tally {
	if t := p.configs[configuration]; t != nil {
		return t
	}
	return &p.all
}

// learn adds a finished trial.
func (p *pace) learn(t record.Trial) {
	if t.Kind == record.TrialSearch {
		return
	}
	if p.configs[t.Configuration] == nil {
		p.configs[t.Configuration] = &tally{}
	}
	for _, tally := range []*tally{p.configs[t.Configuration], &p.all} {
		tally.seconds += t.Seconds
		tally.n++
	}
}

// expect returns the expected time of the next trial of a configuration, from previous ones or else from all others.
func (p *pace) expect(configuration string) (time.Duration, bool) {
	t := p.of(configuration)
	if t.n == 0 {
		return 0, false
	}
	return time.Duration(t.seconds / float64(t.n) * float64(time.Second)), true
}

// learnFill adds the time that a trial loaded data.
func (p *pace) learnFill(t record.Trial, seconds float64) {
	one := p.configs[t.Configuration]
	if one == nil || t.Kind == record.TrialSearch || seconds <= 0 {
		return
	}
	for _, tally := range []*tally{one, &p.all} {
		tally.filled += seconds
		tally.fills++
	}
}

// measured returns the time of a trial of a configuration in seconds without loading data, from previous ones, from all
// others, or else from its load.
func (p *pace) measured(configuration string, load time.Duration) float64 {
	t := p.of(configuration)
	if t.n == 0 {
		return load.Seconds()
	}
	return max(0, t.seconds-t.filled) / float64(t.n)
}

// fill returns the mean time in seconds to load data, for a configuration or "" for all.
func (p *pace) fill(configuration string) float64 {
	t := p.of(configuration)
	return t.filled / float64(max(1, t.fills))
}

// fillsAlways reports whether each trial of a configuration loaded its data.
func (p *pace) fillsAlways(configuration string) bool {
	t := p.configs[configuration]
	return t != nil && t.fills > 1 && t.fills == t.n
}

// filled returns the time in seconds that a run loaded data, 0 if it did not.
func filled(r *record.Run) float64 {
	if r == nil || r.Fill == nil || r.Fill.Inserted == 0 {
		return 0
	}
	return r.Fill.Seconds
}
