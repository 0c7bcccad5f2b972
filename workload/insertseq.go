package workload

import (
	"sync"
	"sync/atomic"
)

// ackWindow is how many inserts may be unacknowledged at once. YCSB ends with an exception when there are
// more (an insert that hangs while the others go on); here the limit passes over the late one and waits
// for it one window later.
const ackWindow = 1 << 20

// ackCounter gives out key numbers for inserts and knows up to which one all of them have ended. It is
// shared by the streams of a workload and reproduces YCSB's AcknowledgedCounterGenerator: whoever finds
// the lock free moves the limit on, so the limit may lag behind, but nobody waits.
type ackCounter struct {
	issued atomic.Int64 // next number to give out
	limit  atomic.Int64 // highest number below which all have ended
	mu     sync.Mutex   // held while the limit moves
	ended  []atomic.Uint32
}

func newAckCounter(first int64) *ackCounter {
	c := &ackCounter{ended: make([]atomic.Uint32, ackWindow/32)}
	c.issued.Store(first)
	c.limit.Store(first - 1)
	return c
}

// next gives out the next key number.
func (c *ackCounter) next() int64 { return c.issued.Add(1) - 1 }

// last returns the highest key number up to which all inserts have ended.
func (c *ackCounter) last() int64 { return c.limit.Load() }

// acknowledge notes that the insert of number n has ended, whether it succeeded or not.
func (c *ackCounter) acknowledge(n int64) {
	slot, bit := slotOf(n)
	c.ended[slot].Or(bit)
	if !c.mu.TryLock() {
		return
	}
	defer c.mu.Unlock()
	limit := c.limit.Load()
	for i := 0; i < ackWindow; i++ {
		slot, bit := slotOf(limit + 1)
		if c.ended[slot].Load()&bit == 0 {
			break
		}
		c.ended[slot].And(^bit)
		limit++
	}
	c.limit.Store(limit)
}

func slotOf(n int64) (slot int, bit uint32) {
	i := n & (ackWindow - 1)
	return int(i / 32), 1 << (i % 32)
}

// recentWindow is how many of the newest inserts the corrected `latest` remembers.
const recentWindow = 1 << 16

// recentKeys remembers the keys whose inserts were acknowledged last, in the order of their
// acknowledgement. It is shared by the streams of a workload and takes no lock. Inserts that failed are
// never in it. Its memory is there from the first insert on, because most collections have none.
type recentKeys struct {
	count atomic.Int64
	ring  atomic.Pointer[[recentWindow]atomic.Int64]
}

// add notes an acknowledged insert.
func (k *recentKeys) add(key int64) {
	ring := k.ring.Load()
	if ring == nil {
		k.ring.CompareAndSwap(nil, new([recentWindow]atomic.Int64))
		ring = k.ring.Load()
	}
	i := k.count.Add(1) - 1
	ring[i%recentWindow].Store(key + 1)
}

// size returns how many keys are remembered.
func (k *recentKeys) size() int64 { return min(k.count.Load(), recentWindow) }

// newest returns the key that was added rank places before the newest. ok is false if it is being
// stored at this moment.
func (k *recentKeys) newest(rank int64) (key int64, ok bool) {
	i := k.count.Load() - 1 - rank
	if i < 0 {
		return 0, false
	}
	v := k.ring.Load()[i%recentWindow].Load()
	return v - 1, v > 0
}

// insertKeys gives out the key numbers of the corrected core's inserts: first + client, then in steps
// of the number of clients. Clients that share a data set and have different numbers never collide.
type insertKeys struct {
	first, client, clients int64
	issued                 atomic.Int64
}

func (k *insertKeys) next() int64 {
	return k.first + (k.issued.Add(1)-1)*k.clients + k.client
}

// runFirst is the first key number of a numbered run. Numbers of runs are moments in milliseconds, each
// of which has 2^22 key numbers: as nobody inserts four million documents per millisecond, a run that
// begins later begins above all numbers that earlier ones have used.
func runFirst(run uint64) int64 { return int64(min(run, 1<<40)) << 22 }
