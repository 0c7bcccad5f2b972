package load

import (
	"math"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/plimsoll-bench/plimsoll/workload"
)

// arrivals produces the due times of an open loop, the same for the same configuration.
type arrivals struct {
	curve   curve
	turns   workload.Turns
	rng     *rand.PCG      // nil: constant
	times   workload.Times // of a recording, otherwise nil
	read    int64          // number of times that were read
	limit   int64          // largest number
	n       int64          // number of produced ones
	sum     float64        // of the exponential distances until the last one (Poisson)
	segment int
}

func newArrivals(cfg Config, limit int64) *arrivals {
	a := &arrivals{curve: newCurve(cfg), turns: cfg.Turns, limit: limit}
	if cfg.Times != nil {
		a.times = cfg.Times()
	} else if cfg.Arrivals == Poisson {
		a.rng = rand.NewPCG(cfg.Seed, 0x9e3779b97f4a7c15)
	}
	return a
}

// next returns when the next operation is due, never if there is none.
func (a *arrivals) next() int64 {
	if a.n >= a.limit {
		return never
	}
	if a.times != nil {
		return a.recorded()
	}
	number := float64(a.turns.Nth(a.n))
	if a.rng != nil {
		a.sum += exponential(a.rng)
		number = a.sum / a.turns.Share() // a part of a Poisson process is a slower one
	}
	a.n++
	var due int64
	due, a.segment = a.curve.due(number, a.segment)
	return due
}

// recorded returns when the next operation of a recording is due that has a turn of this process.
func (a *arrivals) recorded() int64 {
	due, ok := time.Duration(0), true
	for turn := a.turns.Nth(a.n); a.read <= turn && ok; a.read++ {
		due, ok = a.times.Next()
	}
	a.n++
	if !ok {
		a.limit = a.n
		return never
	}
	return int64(due)
}

// exponential draws from the exponential distribution of mean 1 by inversion, which is the same on every machine and in
// every Go version, unlike the tables of package rand.
func exponential(rng *rand.PCG) float64 {
	u := float64(rng.Uint64()>>11) * (1.0 / (1 << 53)) // [0, 1)
	return -math.Log1p(-u)
}

// counter counts the operations that are due until a time, independently of the workers. It produces the arrivals a
// second time (some 20 ns each), so it need not keep those that the workers have not reached.
type counter struct {
	arrivals *arrivals
	due      int64    // of the first one that is not counted
	border   int64    // between the phases
	n        [2]int64 // by phase
}

func newCounter(a *arrivals, border int64) *counter {
	return &counter{arrivals: a, border: border, due: a.next()}
}

// before returns the number of operations that are due before t, by phase. t must not decrease.
func (c *counter) before(t int64) [2]int64 {
	for c.due < t {
		if c.due < c.border {
			c.n[warm]++
		} else {
			c.n[measured]++
		}
		c.due = c.arrivals.next()
	}
	return c.n
}

// blockSize is the number of due times that are produced at once.
const blockSize = 1024

// block holds the due times of the tickets [first, first+blockSize).
type block struct {
	first int64
	due   [blockSize]int64
	next  atomic.Pointer[block]
}

// schedule assigns the operations of an open loop to all workers: a ticket from an atomic counter, and its due time
// from a chain of blocks. A lock is needed only to make a block, once in 1024 operations.
type schedule struct {
	ticket atomic.Int64
	_      [56]byte // the counter has a separate cache line
	// current is at or before the block of every later ticket. Earlier blocks are garbage, because workers keep no
	// pointer into the chain during an operation.
	current atomic.Pointer[block]
	making  sync.Mutex
	source  *arrivals
}

func newSchedule(a *arrivals) *schedule {
	s := &schedule{source: a}
	s.current.Store(s.produce(0))
	return s
}

func (s *schedule) produce(first int64) *block {
	b := &block{first: first}
	for i := range b.due {
		b.due[i] = s.source.next()
	}
	return b
}

// draw returns the number of the next operation and when it is due, never after the last one.
func (s *schedule) draw() (number, due int64) {
	// The order is important: current never overtakes the ticket counter, so a block that was current before the ticket
	// was drawn is not after that ticket.
	b := s.current.Load()
	i := s.ticket.Add(1) - 1
	if i-b.first >= blockSize {
		b = s.advance(b, i)
	}
	return i, b.due[i-b.first]
}

// advance walks from b to the block of ticket i and makes it the current one.
func (s *schedule) advance(b *block, i int64) *block {
	for i-b.first >= blockSize {
		next := b.next.Load()
		if next == nil {
			next = s.extend(b)
		}
		b = next
	}
	for {
		now := s.current.Load()
		if now.first >= b.first || s.current.CompareAndSwap(now, b) {
			return b
		}
	}
}

func (s *schedule) extend(b *block) *block {
	s.making.Lock()
	defer s.making.Unlock()
	if next := b.next.Load(); next != nil {
		return next
	}
	next := s.produce(b.first + blockSize)
	b.next.Store(next)
	return next
}

// skip takes all tickets that were due before t and that no worker has taken, and returns how many of them were due
// before and after border. It is needed while every worker waits for a reply.
func (s *schedule) skip(t, border int64) (before, after int64) {
	for {
		b := s.current.Load()
		i := s.ticket.Load()
		if i-b.first >= blockSize {
			b = s.advance(b, i)
		}
		var early, late int64
		for _, due := range b.due[i-b.first:] {
			if due >= t {
				break
			}
			if due < border {
				early++
			} else {
				late++
			}
		}
		if early+late == 0 {
			return before, after
		}
		if s.ticket.CompareAndSwap(i, i+early+late) {
			before, after = before+early, after+late
		}
	}
}
