package measure

import "math"

// timeline divides each phase into intervals of equal width from its start. The last one may be shorter.
type timeline struct {
	width   int64
	borders []border // ascending, the first one at 0
}

type border struct {
	start int64
	phase string
}

// span is one interval: start ≤ t < end.
type span struct {
	start, end int64
	phase      string
}

// at returns the interval that contains t; times before the run belong to its first interval.
func (l timeline) at(t int64) span {
	i := len(l.borders) - 1
	for i > 0 && l.borders[i].start > t {
		i--
	}
	b := l.borders[i]
	t = max(t, b.start)
	start := b.start + (t-b.start)/l.width*l.width
	end := start + l.width
	if end < start {
		end = math.MaxInt64
	}
	if i+1 < len(l.borders) {
		end = min(end, l.borders[i+1].start)
	}
	return span{start: start, end: end, phase: b.phase}
}

// with returns a timeline in which the phase begins at start. Borders at or after start are removed. The receiver is
// not changed.
func (l timeline) with(phase string, start int64) timeline {
	kept := make([]border, 0, len(l.borders)+1)
	for _, b := range l.borders {
		if b.start < start {
			kept = append(kept, b)
		}
	}
	return timeline{width: l.width, borders: append(kept, border{start: start, phase: phase})}
}
