package loop

import (
	"math"
	"math/bits"
	"sync/atomic"
	"time"
)

// Turns counts the turns of a loop by their length. A turn lasts from one query of the kernel for events to the next: a
// connection that becomes ready in it waits until its end.
//
// Bucket i has the lengths from 2^(i/2) ns on, times 1.5 for odd i: [turnEnd] is the end of a bucket.
type Turns [80]int64

// turnEnd returns the upper end of the lengths in bucket i.
func turnEnd(i int) time.Duration {
	i++
	return time.Duration(1) << (i / 2) * time.Duration(2+i%2) / 2
}

// Quantile returns the quantile q of the lengths as the upper end of its bucket, 0 without turns.
func (t *Turns) Quantile(q float64) time.Duration {
	var total, seen int64
	for _, n := range t {
		total += n
	}
	rank := max(1, int64(math.Ceil(q*float64(total))))
	for i, n := range t {
		if seen += n; seen >= rank {
			return turnEnd(i)
		}
	}
	return 0
}

func bucketOf(length int64) int {
	if length < 2 {
		return 0
	}
	top := bits.Len64(uint64(length)) - 1
	return min(2*top+int(length>>(top-1)&1), len(Turns{})-1)
}

// Use is what a loop did since its start.
type Use struct {
	Busy  time.Duration // not waiting for events, on a core or ready to run
	Turns Turns
}

// meter counts the use of a loop. Only the loop writes; other threads may read.
type meter struct {
	began int64 // of the current turn
	busy  atomic.Int64
	turns [len(Turns{})]atomic.Int64
}

// turn ends the current turn at the time asked, when the loop began to wait, and begins the next one.
func (m *meter) turn(asked, now int64) {
	length := max(0, asked-m.began)
	m.began = now
	m.busy.Store(m.busy.Load() + length)
	t := &m.turns[bucketOf(length)]
	t.Store(t.Load() + 1)
}

func (m *meter) use() Use {
	u := Use{Busy: time.Duration(m.busy.Load())}
	for i := range u.Turns {
		u.Turns[i] = m.turns[i].Load()
	}
	return u
}
