package simulate

import (
	"cmp"
	"time"
)

// clock performs events in the order of their times. Events of the same time are performed in the order in which they
// were added, so a simulation with the same seed always gives the same results.
type clock struct {
	now    time.Duration
	events []event // a heap: none is before the one at half of its index
	added  int
}

type event struct {
	at    time.Duration
	order int
	do    func()
}

func (e *event) before(f *event) bool { return e.at < f.at || e.at == f.at && e.order < f.order }

// after adds an event.
func (c *clock) after(d time.Duration, do func()) {
	c.added++
	c.events = append(c.events, event{c.now + max(d, 0), c.added, do})
	for i := len(c.events) - 1; i > 0; {
		up := (i - 1) / 2
		if !c.events[i].before(&c.events[up]) {
			return
		}
		c.events[i], c.events[up] = c.events[up], c.events[i]
		i = up
	}
}

// run performs events until done returns true or none is left.
func (c *clock) run(done func() bool) {
	for len(c.events) > 0 && !done() {
		e := c.pop()
		c.now = e.at
		e.do()
	}
}

func (c *clock) pop() event {
	first, last := c.events[0], len(c.events)-1
	c.events[0], c.events[last] = c.events[last], event{} // whose function may be large
	c.events = c.events[:last]
	for i := 0; ; {
		next := i
		for child := 2*i + 1; child <= 2*i+2 && child < last; child++ {
			if c.events[child].before(&c.events[next]) {
				next = child
			}
		}
		if next == i {
			return first
		}
		c.events[i], c.events[next] = c.events[next], c.events[i]
		i = next
	}
}

// station serves requests in the order of their arrival, as many at once as it has servers.
type station struct {
	clock   *clock
	servers int
	busy    int
	waiting []func()
	used    time.Duration // sum of the demands that were served
}

// serve occupies a server for the demand, when one is free.
func (s *station) serve(demand time.Duration, done func()) {
	if s.busy == s.servers {
		s.waiting = append(s.waiting, func() { s.occupy(demand, done) })
		return
	}
	s.busy++
	s.occupy(demand, done)
}

func (s *station) occupy(demand time.Duration, done func()) {
	s.used += demand
	s.clock.after(demand, func() {
		if len(s.waiting) == 0 {
			s.busy--
		} else {
			next := s.waiting[0]
			s.waiting = s.waiting[1:]
			next()
		}
		done()
	})
}

// journal syncs for all that wait. Who comes during a sync waits for the next one.
type journal struct {
	clock   *clock
	sync    func(commits int) time.Duration
	running bool
	waiting []func()
	before  int // commits of the sync before, 0 if there was a pause
	used    time.Duration
	syncs   int
}

func (j *journal) commit(done func()) {
	j.waiting = append(j.waiting, done)
	if !j.running {
		j.begin()
	}
}

// begin begins a sync with all that wait. Its time is that of the mean of its commits and those of the sync before:
// writers become two groups that take turns, and here nothing makes them equal, as late starts of syncs do on a
// machine.
func (j *journal) begin() {
	batch := j.waiting
	j.waiting, j.running = nil, true
	took := j.sync((len(batch) + cmp.Or(j.before, len(batch)) + 1) / 2)
	j.before = len(batch)
	j.used += took
	j.syncs++
	j.clock.after(took, func() {
		j.running = len(j.waiting) > 0
		if j.running {
			j.begin()
		} else {
			j.before = 0
		}
		for _, done := range batch {
			done()
		}
	})
}
