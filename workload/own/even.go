package own

import (
	"math/bits"

	"github.com/plimsoll-bench/plimsoll/workload"
)

// even are numbers from 0 to 1 that are spread evenly: of any 2^k in a row, each 2^k-th part of the range has one. They
// are a scrambled sequence of Sobol and Owen. Each use has a scrambling of its own, so that two uses are independent. A
// document has the numbers that belong to it; in operations, each use takes the next one.
type even struct {
	order    uint64 // in which the sequence is used
	seed     uint64
	slot     int
	second   bool // the second coordinate of places; both together are spread evenly over the area
	numbered bool
}

// even reads the key even of a generator. It is nil for random numbers.
func (o *options) even(s *scope) *even {
	if o.text("even") != "true" {
		return nil
	}
	if o.has("skew") {
		o.fail(o.keys["even"], "%s has even and skew. Use one of them", o.name.Value)
	}
	return o.c.even(s)
}

// even makes the numbers of one more use.
func (c *compiler) even(s *scope) *even {
	v := &even{slot: c.evens, numbered: s.coll != nil}
	c.evens++
	v.order = workload.Mix64(c.spec.Seed<<20 + uint64(c.evens))
	v.seed = workload.Mix64(v.order)
	return v
}

// place makes the numbers of two coordinates.
func (c *compiler) place(s *scope) (x, y *even) {
	x, y = c.even(s), c.even(s)
	y.order, y.second = x.order, true
	return x, y
}

func (v *even) next(e *env) float64 {
	if v == nil {
		return e.r.Float()
	}
	n, other := uint64(e.n), uint64(e.item)
	if !v.numbered {
		n, other = e.uses[v.slot], e.worker
		e.uses[v.slot]++
	}
	other *= 0x9e3779b97f4a7c15
	at := scramble(uint32(n), workload.Mix64(v.order+other))
	seed := workload.Mix64(v.seed + other)
	high := scramble(v.sequence(at), seed)
	low := workload.Mix64(seed+n) >> 43
	return float64(uint64(high)<<21|low) / (1 << 53)
}

// sequence is number n of a coordinate of the sequence of Sobol.
func (v *even) sequence(n uint32) (x uint32) {
	if !v.second {
		return bits.Reverse32(n)
	}
	for column := uint32(1 << 31); n > 0; n >>= 1 {
		if n&1 > 0 {
			x ^= column
		}
		column ^= column >> 1
	}
	return x
}

// scramble permutes numbers so that a bit depends on the bits above it only (Owen): parts of the range stay together.
func scramble(x uint32, seed uint64) uint32 {
	x = bits.Reverse32(x)
	for range 3 {
		seed = workload.Mix64(seed)
		x = (x + uint32(seed)) * (uint32(seed>>32) | 1)
		x ^= x * (uint32(seed>>16) &^ 1)
	}
	return bits.Reverse32(x)
}

// below returns a number from [0, n).
func (v *even) below(n int64, e *env) int64 { return min(int64(v.next(e)*float64(n)), n-1) }

// in returns a number of an interval.
func (v *even) in(x interval, e *env) float64 { return x.min + v.next(e)*(x.max-x.min) }
