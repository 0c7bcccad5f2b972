package conduct

import (
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/spec"
)

// seeded returns the run of a trial with the seed of its arrivals, if they are random and the specification has no
// seed. All configurations of a block have the same arrivals, which makes them comparable. Each block, canary and trial
// of a procedure has others: with the same arrivals in all, an open loop that keeps up would do exactly the same number
// of operations in every trial, so intervals would have no width. seed is that of the study.
func seeded(seed uint64, t record.Trial, asked spec.Run) spec.Run {
	if asked.Load.Seed == 0 && asked.Load.Random() {
		asked.Load.Seed = arrivalSeed(seed, t)
	}
	return asked
}

// arrivalSeed returns the seed for the block of a trial, or for its number if it has none.
func arrivalSeed(seed uint64, t record.Trial) uint64 {
	const kind = 1 << 32 // apart from all blocks and numbers
	of := uint64(t.Block)
	switch {
	case t.Kind == record.TrialSearch:
		of = 2*kind + uint64(t.Number)
	case t.Block == 0:
		of = kind + uint64(t.Number)
	}
	// 53 bits survive in programs that read JSON with floats.
	return max(1, scatter(scatter(seed)^of)>>11)
}

// scatter is the finalizer of splitmix64 (Steele, Lea and Flood, 2014), a bijection: near numbers become unlike ones.
func scatter(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
