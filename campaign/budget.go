package campaign

import (
	"math"
	"time"
)

// Budget is the time of a campaign.
type Budget struct {
	Limit time.Duration // 0 for none
	Spent time.Duration // by earlier sessions, if they count
	Began time.Time     // of this session
}

// Left is the rest of the time. Pauses between sessions do not count.
func (b *Budget) Left(now time.Time) time.Duration { return b.Limit - b.Spent - now.Sub(b.Began) }

// Lasts reports whether there is time for a job that takes next.
func (b *Budget) Lasts(now time.Time, next time.Duration) bool {
	return b.Limit == 0 || next <= b.Left(now)
}

// Pace is the time that jobs took, by groups of jobs that are alike.
type Pace struct {
	groups  map[string]tally
	all     tally
	learned []learned
}

type tally struct {
	seconds float64
	n       int
}

type learned struct {
	group          string
	took, expected float64
}

// Learn adds a job of a group that took so many seconds. expected is what it was thought to take, 0 if unknown.
func (p *Pace) Learn(group string, took, expected float64) {
	if p.groups == nil {
		p.groups = map[string]tally{}
	}
	t := p.groups[group]
	p.groups[group] = tally{t.seconds + took, t.n + 1}
	p.all = tally{p.all.seconds + took, p.all.n + 1}
	p.learned = append(p.learned, learned{group, took, expected})
}

// Of returns the sum in seconds and the number of jobs of a group; of all jobs for one without any.
func (p *Pace) Of(group string) (seconds float64, n int) {
	t, ok := p.groups[group]
	if !ok {
		t = p.all
	}
	return t.seconds, t.n
}

// Count returns the number of jobs of a group.
func (p *Pace) Count(group string) int { return p.groups[group].n }

// The limits of what is learned from one job, and the weight of jobs of other groups.
const (
	slowest     = 10.0
	fastest     = 0.5
	otherWeight = 0.5
)

// Factor returns by how much jobs of a group take longer than expected. It is the weighted mean of the logarithms, so
// a single outlier does not decide. It begins at 1 with the weight of a job of prior seconds, because the first jobs
// may be odd.
func (p *Pace) Factor(group string, prior float64) float64 {
	sum, weights := 0.0, prior
	for _, l := range p.learned {
		if l.took <= 0 || l.expected <= 0 {
			continue
		}
		w := l.expected
		if l.group != group {
			w *= otherWeight
		}
		sum += w * math.Log(min(slowest, max(fastest, l.took/l.expected)))
		weights += w
	}
	if weights == 0 {
		return 1
	}
	return math.Exp(sum / weights)
}
