package fleet

import (
	"cmp"
	"slices"
	"time"
)

const (
	// pingsAtStart is how many times the clock of an agent is asked for before the load. Each takes one round trip.
	pingsAtStart = 10
	// pingEvery is how often it is asked for during the load, in seconds.
	pingEvery = 10
	// pingsKept is how many answers count. Older ones would hide the drift of a clock.
	pingsKept = 10
	// maxClock is the largest uncertainty of a clock, and the largest change of its difference, that is no finding. It is
	// a hundredth of an interval.
	maxClock = 10 * time.Millisecond
)

// clock is the clock of an agent, seen from the coordinator. The agent answered a ping between the sending and the
// arrival of the answer. So its difference is known to half a round trip, and best by the shortest one (Cristian,
// 1989).
type clock struct {
	sent    map[int64]time.Time
	answers []answer
	first   *answer       // the difference at the start of the load
	worst   time.Duration // largest change since then
}

type answer struct {
	offset time.Duration // how much the agent's clock is ahead
	trip   time.Duration
}

func (c *clock) ping(id int64, now time.Time) {
	if c.sent == nil {
		c.sent = map[int64]time.Time{}
	}
	c.sent[id] = now
}

// pong notes an answer that arrived now. It reports whether a ping was under way with its number.
func (c *clock) pong(p pong, now time.Time) bool {
	sent, ok := c.sent[p.Ping]
	if !ok {
		return false
	}
	delete(c.sent, p.Ping)
	trip := now.Sub(sent)
	middle := sent.Round(0).Add(trip / 2) // without the monotonic clock, which another machine does not have
	c.answers = append(c.answers, answer{offset: time.Unix(0, p.At).Sub(middle), trip: trip})
	if len(c.answers) > pingsKept {
		c.answers = c.answers[1:]
	}
	if c.first != nil {
		best := c.best()
		if changed := (best.offset - c.first.offset).Abs() - best.trip/2 - c.first.trip/2; changed > c.worst {
			c.worst = changed
		}
	}
	return true
}

// best is the answer of the shortest round trip.
func (c *clock) best() answer {
	if len(c.answers) == 0 {
		return answer{}
	}
	return slices.MinFunc(c.answers, func(a, b answer) int { return cmp.Compare(a.trip, b.trip) })
}

// settle fixes the difference at the start of the load.
func (c *clock) settle() {
	best := c.best()
	c.first = &best
}

// offset is how much the agent's clock was ahead at the start, and uncertainty by how much that may be wrong.
func (c *clock) offset() (offset, uncertainty time.Duration) {
	if c.first == nil {
		return 0, 0
	}
	return c.first.offset, c.first.trip / 2
}
