// Package javahash computes the hashes of Java's collections, whose order YCSB shows.
package javahash

import "unicode/utf16"

// String is String.hashCode: Σ c[i]·31^(n-1-i) over the UTF-16 units of s, in 32 bits.
func String(s string) int32 {
	var h int32
	for _, c := range utf16.Encode([]rune(s)) {
		h = 31*h + int32(c)
	}
	return h
}

// Spread is the hash of s in a HashMap. Its lowest bits are the slot in a table, whose size is a power of two.
func Spread(s string) uint32 {
	h := uint32(String(s))
	return h ^ h>>16
}
