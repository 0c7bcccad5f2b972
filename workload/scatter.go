package workload

import "math/bits"

// scatter is a seeded bijection of [0, n) onto itself. It gives every rank of a skewed distribution a
// key of its own, spread over the whole key space. Which keys are hot depends on the seed and on n
// only, never on the number of operations or of expected inserts.
//
// Numbers of just enough bits are mixed by steps that can each be undone (adding, multiplying by an odd
// number, xor with the upper half); results outside [0, n) are mixed again until they fall inside. As
// mixing is a bijection, so is that walk along its cycles, and it takes less than two steps on average.
type scatter struct {
	n     uint64
	mask  uint64
	shift uint
	keys  [3]uint64
}

func newScatter(n int64, seed uint64) scatter {
	width := uint(bits.Len64(uint64(n - 1)))
	s := scatter{n: uint64(n), mask: 1<<width - 1, shift: (width + 1) / 2}
	var r random
	r.seed(seed, forScatter, uint64(n))
	for i := range s.keys {
		s.keys[i] = r.uint64()
	}
	return s
}

// at returns the number at the given place, both in [0, n).
func (s *scatter) at(place int64) int64 {
	x := uint64(place)
	for {
		for _, k := range s.keys {
			x = (x + k) & s.mask
			x ^= x >> s.shift
			x = (x * (k | 1)) & s.mask
			x ^= x >> s.shift
		}
		if x < s.n {
			return int64(x)
		}
	}
}
