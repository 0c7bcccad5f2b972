package serve

import (
	"slices"
	"sync"
	"time"

	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/report"
)

// The bounds of the past usage of a lab: some minutes, unless nobody has looked for a while.
const (
	mostMoments = 300
	momentEvery = time.Second
	pastAtMost  = time.Minute
	mostPasts   = 100
)

// labPasts is the past usage of the hosts of labs, for pages that are opened later.
type labPasts struct {
	mu sync.Mutex
	of map[string][]report.LabMoment
}

// add keeps a moment of a lab and returns all that are kept of it.
func (p *labPasts) add(name string, usage []record.LabUsage, at time.Time) []report.LabMoment {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.of == nil || len(p.of) > mostPasts {
		p.of = map[string][]report.LabMoment{}
	}
	past := p.of[name]
	if n := len(past); n > 0 {
		switch since := at.Sub(past[n-1].At); {
		case since > pastAtMost:
			past = nil // a line over a gap would be no more than its ends
		case since < momentEvery:
			return copies(past)
		}
	}
	past = append(past, report.LabMoment{At: at, Usage: usage})
	p.of[name] = slices.Clone(past[max(0, len(past)-mostMoments):])
	return copies(p.of[name])
}

// copies returns moments that the caller may change: a page removes what must not be shown.
func copies(past []report.LabMoment) []report.LabMoment {
	list := make([]report.LabMoment, len(past))
	for i, m := range past {
		list[i] = report.LabMoment{At: m.At, Usage: slices.Clone(m.Usage)}
	}
	return list
}
