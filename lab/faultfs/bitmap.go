package faultfs

import "math/bits"

// blockSize is the unit of the saved contents, in bytes.
const blockSize = 4096

// chunkBits is the number of blocks in one chunk of a bitmap: 128 MiB of disk in 4 KiB of memory.
const chunkBits = 1 << 15

// bitmap is a set of block numbers. Its memory depends on its members, not on the size of the disk.
type bitmap map[int64]*[chunkBits / 64]uint64

func (b bitmap) has(block int64) bool {
	c := b[block/chunkBits]
	return c != nil && c[block%chunkBits/64]&(1<<(block%64)) != 0
}

func (b bitmap) set(block int64) {
	c := b[block/chunkBits]
	if c == nil {
		c = new([chunkBits / 64]uint64)
		b[block/chunkBits] = c
	}
	c[block%chunkBits/64] |= 1 << (block % 64)
}

func (b bitmap) unset(block int64) {
	if c := b[block/chunkBits]; c != nil {
		c[block%chunkBits/64] &^= 1 << (block % 64)
	}
}

// next returns the first member in [from, end), and whether there is one.
func (b bitmap) next(from, end int64) (int64, bool) {
	for from < end {
		c := b[from/chunkBits]
		if c == nil {
			from = (from/chunkBits + 1) * chunkBits
			continue
		}
		word := c[from%chunkBits/64] >> (from % 64)
		if word == 0 {
			from = (from/64 + 1) * 64
			continue
		}
		from += int64(bits.TrailingZeros64(word))
		return from, from < end
	}
	return 0, false
}

// unsetAll removes the members in [from, end).
func (b bitmap) unsetAll(from, end int64) {
	for block, ok := b.next(from, end); ok; block, ok = b.next(block+1, end) {
		b.unset(block)
	}
}
