package measure

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// shard has the open intervals of some of the recorders.
type shard struct {
	dims      Dims
	displaced *atomic.Int64
	rejected  *atomic.Int64

	mu       sync.Mutex
	timeline timeline
	closed   int64 // intervals that end here or before are closed
	latest   int64 // the latest End of a sample that was folded
	bins     []*bin
	spare    []*bin
	current  *bin // the bin used last, and the end of its interval
	until    int64
}

// fold adds samples to the intervals in which they ended. The caller holds the lock.
func (s *shard) fold(samples []Sample) {
	for i := range samples {
		e := &samples[i]
		b := s.current
		if b == nil || e.End < b.start || e.End >= s.until {
			b = s.binFor(e.End)
		}
		if int(e.Class) < len(s.dims.Classes) && int(e.Outcome) < len(s.dims.Outcomes) {
			s.latest = max(s.latest, e.End)
			b.add(e, &s.dims)
		} else {
			s.count(b, e)
		}
	}
}

// count handles the entries that are not samples.
func (s *shard) count(b *bin, e *Sample) {
	switch e.Class {
	case entryOffered:
		b.offered += e.Response
	case entryDropped:
		b.dropped += e.Response
	case entryLate:
		b.lateness.record(e.Response)
		if e.Response > int64(time.Millisecond) {
			b.lateOver++
		}
	default:
		s.rejected.Add(1)
	}
}

// binFor returns the bin of the interval that contains at. If that is already closed, the oldest open one counts the
// sample. The caller holds the lock.
func (s *shard) binFor(at int64) *bin {
	if at < s.closed {
		s.displaced.Add(1)
		at = s.closed
	}
	span := s.timeline.at(at)
	s.until = span.end
	for _, b := range s.bins {
		if b.start == span.start {
			s.current = b
			return b
		}
	}
	if n := len(s.spare); n > 0 {
		s.current, s.spare = s.spare[n-1], s.spare[:n-1]
	} else {
		s.current = newBin(s.dims)
	}
	s.current.start = span.start
	s.bins = append(s.bins, s.current)
	return s.current
}

// take closes the interval from start to end and returns its bins. There are several if a phase border was set after
// counts for a later time.
func (s *shard) take(start, end int64) []*bin {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed, s.current = end, nil
	var taken []*bin
	s.bins = slices.DeleteFunc(s.bins, func(b *bin) bool {
		if b.start < start || b.start >= end {
			return false
		}
		taken = append(taken, b)
		return true
	})
	return taken
}

// giveBack keeps an empty bin for a later interval.
func (s *shard) giveBack(b *bin) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.spare = append(s.spare, b)
}

// lastEnd returns the latest End that was folded, -1 if there was none.
func (s *shard) lastEnd() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.latest
}
