package disk

// maxVersions limits the memory of versions to 32 MiB. In files with more blocks only each second, third … is tracked.
const maxVersions = 4 << 20

// versions has the sequence number of the last write of each block of the data file, so that a read of an older version
// is detected. Threads that write and read concurrently use separate blocks, so each entry belongs to one thread.
type versions struct {
	block, every int64
	first        uint64   // of the blocks that were not written again
	last         []uint64 // 0 for first
}

func newVersions(size, block int64, first uint64) *versions {
	blocks := size / block
	every := (blocks + maxVersions - 1) / maxVersions
	return &versions{block: block, every: every, first: first, last: make([]uint64, (blocks+every-1)/every)}
}

// write notes a write before it begins.
func (v *versions) write(at int64, sequence uint64) {
	if n := at / v.block; n%v.every == 0 {
		v.last[n/v.every] = sequence
	}
}

// of returns the sequence number that a block must have, 0 for any.
func (v *versions) of(at int64) uint64 {
	n := at / v.block
	switch {
	case n%v.every != 0:
		return 0
	case v.last[n/v.every] == 0:
		return v.first
	}
	return v.last[n/v.every]
}
