package simulate

import (
	"container/heap"
	"time"
)

// clock performs events in the order of their times. Events of the same time are performed in the order in which they
// were added, so a simulation with the same seed always gives the same results.
type clock struct {
	now    time.Duration
	events events
	added  int
}

type event struct {
	at    time.Duration
	order int
	do    func()
}

// after adds an event.
func (c *clock) after(d time.Duration, do func()) {
	c.added++
	heap.Push(&c.events, event{c.now + max(d, 0), c.added, do})
}

// run performs events until done returns true or none is left.
func (c *clock) run(done func() bool) {
	for len(c.events) > 0 && !done() {
		e := heap.Pop(&c.events).(event)
		c.now = e.at
		e.do()
	}
}

type events []event

func (e events) Len() int      { return len(e) }
func (e events) Swap(i, j int) { e[i], e[j] = e[j], e[i] }
func (e *events) Push(x any)   { *e = append(*e, x.(event)) }
func (e events) Less(i, j int) bool {
	return e[i].at < e[j].at || e[i].at == e[j].at && e[i].order < e[j].order
}

func (e *events) Pop() any {
	last := (*e)[len(*e)-1]
	(*e)[len(*e)-1] = event{} // the function may be large
	*e = (*e)[:len(*e)-1]
	return last
}

// station serves requests in the order of their arrival, as many at once as it has servers.
type station struct {
	clock   *clock
	servers int
	busy    int
	waiting []request
	used    time.Duration // sum of the demands that were served
}

type request struct {
	demand time.Duration
	done   func()
}

func (s *station) serve(demand time.Duration, done func()) {
	if s.busy == s.servers {
		s.waiting = append(s.waiting, request{demand, done})
		return
	}
	s.busy++
	s.begin(request{demand, done})
}

func (s *station) begin(r request) {
	s.used += r.demand
	s.clock.after(r.demand, func() {
		if len(s.waiting) > 0 {
			next := s.waiting[0]
			s.waiting = s.waiting[1:]
			s.begin(next)
		} else {
			s.busy--
		}
		r.done()
	})
}

// journal syncs for all that wait. Who comes during a sync waits for the next one.
type journal struct {
	clock   *clock
	sync    func(commits int) time.Duration
	running bool
	waiting []func()
	used    time.Duration
	syncs   int
}

func (j *journal) commit(done func()) {
	j.waiting = append(j.waiting, done)
	if !j.running {
		j.begin()
	}
}

func (j *journal) begin() {
	batch := j.waiting
	j.waiting, j.running = nil, true
	took := j.sync(len(batch))
	j.used += took
	j.syncs++
	j.clock.after(took, func() {
		j.running = len(j.waiting) > 0
		if j.running {
			j.begin()
		}
		for _, done := range batch {
			done()
		}
	})
}
