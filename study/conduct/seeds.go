package conduct

import (
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/spec"
)

// seeded returns the run of a trial with the seed of its arrivals, where chance says when operations fall due and the
// specification names no seed. All configurations of a block have the same arrivals, so that comparisons within it are
// of like with like; each block, canary and trial of a procedure has others. With the same arrivals in all of them,
// an open loop that keeps up would do exactly the same number of operations in every trial, and intervals would say
// that nothing scatters. seed is that of the study.
func seeded(seed uint64, t record.Trial, asked spec.Run) spec.Run {
	if asked.Load.Seed == 0 && asked.Load.Random() {
		asked.Load.Seed = arrivalSeed(seed, t)
	}
	return asked
}

// arrivalSeed is made of the seed of the study and of the block of a trial, or of its number where it has none.
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
