package workload

import (
	"math/bits"
	"math/rand/v2"
)

// What a random source is used for. Sources with different purposes are independent, so that a change
// in one use (say, longer values) does not change another (say, the order of operations).
const (
	forStream  = 1 // operations of one worker
	forRecord  = 2 // contents of one record
	forScatter = 3 // the order in which ranks are spread over the keys
)

// random is a small, fast, seedable source of random numbers: PCG with 128 bits of state. It is not
// safe for concurrent use; every stream has its own.
type random struct {
	pcg rand.PCG
}

// seed makes r the source for one purpose and one number within it (a worker, a record).
func (r *random) seed(seed, purpose, number uint64) {
	h := mix64(seed + 0x9e3779b97f4a7c15)
	h = mix64(h ^ (purpose * 0xd1342543de82ef95))
	r.pcg.Seed(mix64(h^number), h+number)
}

// uint64 returns 64 random bits.
func (r *random) uint64() uint64 { return r.pcg.Uint64() }

// float returns a number in [0, 1) with 53 random bits.
func (r *random) float() float64 { return float64(r.pcg.Uint64()>>11) * 0x1p-53 }

// below returns a number in [0, n). n must be positive. Multiplying and taking the high half is
// uneven by at most n/2^64, which no run is long enough to show.
func (r *random) below(n int64) int64 {
	hi, _ := bits.Mul64(r.pcg.Uint64(), uint64(n))
	return int64(hi)
}

// mix64 is a bijection on 64 bits in which every input bit changes about half of the output bits (the
// finaliser of SplitMix64, by Steele, Lea and Flood 2014 with the constants of Stafford's variant 13).
func mix64(x uint64) uint64 {
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
