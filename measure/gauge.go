package measure

import (
	"slices"
	"sync"
	"time"
)

// flight adds up the time in which operations are in flight: from the marks of their begins and ends, not from the
// samples, which are counted on another way. Marks may come in any order.
type flight struct {
	mu           sync.Mutex
	busy         int64 // operations in flight
	starts, done int64 // the sum of their begins, and of the lengths of those that ended; nanoseconds
}

func (f *flight) begin(at int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.busy++
	f.starts += at
}

func (f *flight) end(start, end int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.busy--
	f.starts -= start
	f.done += end - start
}

// until returns the operations in flight, and the time of all operations until now.
func (f *flight) until(now int64) (busy, total int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.busy, f.done + f.busy*now - f.starts
}

// join adds the operations of a recorder that is closed.
func (f *flight) join(o *flight) {
	o.mu.Lock()
	busy, starts, done := o.busy, o.starts, o.done
	o.mu.Unlock()
	f.mu.Lock()
	defer f.mu.Unlock()
	f.busy += busy
	f.starts += starts
	f.done += done
}

// gauge has the readings of the time of all operations in flight, for the check with Little's law. A mean between two
// readings is exact, whenever they are made. Counts at single moments are not: timers of the client fire when it wakes
// up for an operation, so these moments are not independent of the operations.
type gauge struct {
	mu       sync.Mutex
	readings []reading // ascending
}

type reading struct{ at, total int64 }

// add keeps a reading. Marks that are made late, of a worker or a reader that did not run for a while, can make a
// reading smaller than the one before, or than zero. But time in flight never shrinks: the reading before stands, and a
// later one has the difference.
func (g *gauge) add(at, total int64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	before := reading{at: -1}
	if n := len(g.readings); n > 0 {
		before = g.readings[n-1]
	}
	if at > before.at {
		g.readings = append(g.readings, reading{at, max(total, before.total)})
	}
}

// take returns the mean number of operations in flight from start to end, as far as there are readings, and the number
// of readings. It removes those that no later interval needs.
func (g *gauge) take(start, end int64) (mean float64, n int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.readings) == 0 {
		return 0, 0
	}
	last := g.readings[len(g.readings)-1].at
	for _, r := range g.readings {
		if r.at > start && r.at <= end {
			n++
		}
	}
	if until := min(end, last); n > 0 {
		mean = (g.total(until) - g.total(start)) / float64(until-start)
	}
	if i := slices.IndexFunc(g.readings, func(r reading) bool { return r.at >= end }); i > 1 {
		g.readings = slices.Delete(g.readings, 0, i-1)
	}
	return mean, n
}

// total returns the time of all operations until a moment: on the line between two readings. Before the first one,
// nothing was in flight.
func (g *gauge) total(at int64) float64 {
	before := reading{}
	for _, r := range g.readings {
		if r.at >= at {
			if r.at == before.at {
				return float64(r.total)
			}
			return float64(before.total) + float64(r.total-before.total)*float64(at-before.at)/float64(r.at-before.at)
		}
		before = r
	}
	return float64(before.total)
}

// Gauge reads the time that operations have been in flight between [Recorder.Begin] and [Recorder.End] until now, and
// returns their present number. Call it often: an interval without a reading does not know its operations in flight.
func (c *Collector) Gauge(now time.Duration) int {
	c.mu.Lock()
	busy, total := c.closed.until(int64(now))
	for _, r := range c.recorders {
		b, t := r.flight.until(int64(now))
		busy, total = busy+b, total+t
	}
	c.mu.Unlock()
	c.gauge.add(int64(now), total)
	return int(busy)
}
