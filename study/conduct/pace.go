package conduct

import (
	"time"

	"github.com/plimsoll-bench/plimsoll/record"
)

// pace is how long trials took.
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

// of returns the tally of a configuration, or of all where nothing is known of that.
func (p *pace) of(configuration string) *tally {
	if t := p.configs[configuration]; t != nil {
		return t
	}
	return &p.all
}

// learn takes a finished trial into account.
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

// expect says how long the next trial of a configuration will take, judged by those before or else by all others.
func (p *pace) expect(configuration string) (time.Duration, bool) {
	t := p.of(configuration)
	if t.n == 0 {
		return 0, false
	}
	return time.Duration(t.seconds / float64(t.n) * float64(time.Second)), true
}

// learnFill takes into account how long a trial loaded data.
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

// measured is how many seconds a trial of a configuration takes besides loading data, judged by those before, by all
// others, or else by how long its load is.
func (p *pace) measured(configuration string, load time.Duration) float64 {
	t := p.of(configuration)
	if t.n == 0 {
		return load.Seconds()
	}
	return max(0, t.seconds-t.filled) / float64(t.n)
}

// fill is how many seconds loading data took where it was done, for a configuration or "" for all.
func (p *pace) fill(configuration string) float64 {
	t := p.of(configuration)
	return t.filled / float64(max(1, t.fills))
}

// fillsAlways reports whether each trial of a configuration loaded its data anew.
func (p *pace) fillsAlways(configuration string) bool {
	t := p.configs[configuration]
	return t != nil && t.fills > 1 && t.fills == t.n
}

// filled is how many seconds a run loaded data, 0 if they were there already.
func filled(r *record.Run) float64 {
	if r == nil || r.Fill == nil || r.Fill.Inserted == 0 {
		return 0
	}
	return r.Fill.Seconds
}
