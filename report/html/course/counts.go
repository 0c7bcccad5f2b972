package course

import (
	"math"

	"github.com/plimsoll-bench/plimsoll/measure"
)

// The geometry of the histograms of package measure: HdrHistogram with three digits from 1 ns to an hour.
// 2·10³ values are told apart in the lowest bucket, rounded up to a power of two; every further bucket has half of
// that, each twice as wide as in the bucket before.
const (
	subBits = 11
	half    = 1 << (subBits - 1)
	// slots is enough for 2⁴² ns, the power of two above an hour.
	slots = (42 - subBits + 2) * half
)

// Counts is how often times fell into each slot of the geometry.
type Counts struct {
	n         []int64
	low, high int // the used slots are low ≤ i < high
	total     int64
}

func newCounts() *Counts { return &Counts{n: make([]int64, slots), low: slots} }

// add counts n times in a slot. It reports false for a slot that does not exist.
func (c *Counts) add(slot int, n int64) bool {
	if slot >= slots || n < 0 || c.total > math.MaxInt64-n {
		return false
	}
	c.n[slot] += n
	c.total += n
	c.low, c.high = min(c.low, slot), max(c.high, slot+1)
	return true
}

// reset forgets everything; it costs what is used.
func (c *Counts) reset() {
	if c.low < c.high {
		clear(c.n[c.low:c.high])
	}
	c.low, c.high, c.total = slots, 0, 0
}

// merge adds other counts. It reports false, and adds none, where they would be too many.
func (c *Counts) merge(from *Counts) bool {
	switch {
	case from.total == 0:
		return true
	case c.total > math.MaxInt64-from.total:
		return false
	}
	to := c.n[from.low:from.high]
	for i, n := range from.n[from.low:from.high] {
		to[i] += n
	}
	c.total += from.total
	c.low, c.high = min(c.low, from.low), max(c.high, from.high)
	return true
}

// Total is how many times there are.
func (c *Counts) Total() int64 {
	if c == nil {
		return 0
	}
	return c.total
}

// slotRange returns the lowest and the highest value of a slot in nanoseconds.
func slotRange(i int) (low, high int64) {
	bucket := i>>(subBits-1) - 1
	sub := int64(i&(half-1)) + half
	if bucket < 0 {
		return int64(i), int64(i)
	}
	low = sub << bucket
	return low, low + 1<<bucket - 1
}

// Quantile is [measure.Histogram.Quantile] where the largest value is known: the upper end of the slot that has the
// value of rank ⌈q·n⌉.
func (c *Counts) Quantile(q float64, largest int64) int64 {
	if c.Total() == 0 {
		return 0
	}
	x := q * float64(c.total)
	rank := max(1, int64(math.Ceil(x-x*1e-15)))
	seen := int64(0)
	for i := c.low; i < c.high; i++ {
		if seen += c.n[i]; seen >= rank {
			_, high := slotRange(i)
			return min(high, largest)
		}
	}
	return largest
}

// Each calls f with the upper end of every used slot in nanoseconds and how many values lie at or below it.
func (c *Counts) Each(f func(ns, atOrBelow int64)) {
	if c == nil {
		return
	}
	seen := int64(0)
	for i := c.low; i < c.high; i++ {
		if c.n[i] > 0 {
			seen += c.n[i]
			_, high := slotRange(i)
			f(high, seen)
		}
	}
}

// bandOfSlot is the band of the middle of each slot.
var bandOfSlot = func() []uint8 {
	list := make([]uint8, slots)
	for i := range list {
		low, high := slotRange(i)
		list[i] = uint8(min(bandOf(low+(high-low)/2), bandCount-1))
	}
	return list
}()

func (c *Counts) bands() []int64 {
	list := make([]int64, bandCount)
	for i := c.low; i < c.high; i++ {
		list[bandOfSlot[i]] += c.n[i]
	}
	return list
}

// Histogram returns the counts as a histogram that can be merged with others. Its extremes are as good as slots.
func (c *Counts) Histogram() *measure.Histogram {
	h := measure.NewHistogram()
	if c == nil {
		return h
	}
	for i := c.low; i < c.high; i++ {
		low, _ := slotRange(i)
		h.RecordN(low, c.n[i])
	}
	return h
}
