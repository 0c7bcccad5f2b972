package workload

import (
	"encoding/binary"
	"slices"
	"strconv"
)

// appendYCSBValue appends n bytes as YCSB's RandomByteIterator makes them: six from each random 32-bit
// number, byte k = ((b >> 5k) & mask) + 32 with the masks 31, 63, 95, 31, 63, 95. The mask 95 leaves a
// gap, so those bytes are 32–63 or 96–127.
func appendYCSBValue(dst []byte, n int, r *random) []byte {
	start := len(dst)
	dst = slices.Grow(dst, n+8)[:start+n+8] // whole words may be written past the end
	out := dst[start:]
	for i := 0; i < n; i += 12 {
		u := r.uint64()
		binary.LittleEndian.PutUint64(out[i:], sixBytes(uint32(u)))
		if i+6 < n {
			binary.LittleEndian.PutUint64(out[i+6:], sixBytes(uint32(u>>32)))
		}
	}
	return dst[:start+n]
}

// sixBytes returns the six bytes that YCSB makes from b, the first in the lowest bits.
func sixBytes(b uint32) uint64 {
	u := uint64(b)
	masked := u&31 | (u>>5&63)<<8 | (u>>10&95)<<16 | (u>>15&31)<<24 | (u>>20&63)<<32 | (u>>25&95)<<40
	return masked + 0x0000202020202020 // no byte overflows: the greatest is 95 + 32
}

// appendRandomValue appends n bytes of which the last share·n are the same and the others random, so
// that a compressor can take away about that share and no more.
func appendRandomValue(dst []byte, n int, share float64, r *random) []byte {
	start := len(dst)
	dst = slices.Grow(dst, n+8)[:start+n+8]
	out := dst[start:]
	noise := n - int(share*float64(n))
	for i := 0; i < noise; i += 8 {
		binary.LittleEndian.PutUint64(out[i:], r.uint64())
	}
	clear(out[noise:n])
	return dst[:start+n]
}

// appendIntegrityValue appends the value that YCSB expects with dataintegrity=true: "key:field", then
// ":" and the Java hash of everything so far, again and again until n bytes are reached, cut to n.
func appendIntegrityValue[T string | []byte](dst []byte, key []byte, field T, n int) []byte {
	start := len(dst)
	dst = append(dst, key...)
	dst = append(dst, ':')
	dst = append(dst, field...)
	var h int32
	hashed := start
	for len(dst)-start < n {
		dst = append(dst, ':')
		for _, c := range dst[hashed:] {
			h = 31*h + int32(c)
		}
		hashed = len(dst)
		dst = strconv.AppendInt(dst, int64(h), 10)
	}
	return dst[:start+n]
}
