package workload

import (
	"math"
	"strconv"
)

// keyPrefix begins every key of the YCSB data set.
const keyPrefix = "user"

// hashKey is YCSB's fnvhash64: FNV-1a with 64 bits over the eight octets of n, least significant
// first, made non-negative as Java's Math.abs does.
func hashKey(n int64) int64 {
	h := uint64(0xcbf29ce484222325)
	v := uint64(n)
	for range 8 {
		h = (h ^ v&0xff) * 1099511628211
		// Java shifts the signed value, so that negative numbers fill up with ones.
		v = uint64(int64(v) >> 8)
	}
	if s := int64(h); s >= 0 || s == math.MinInt64 {
		return s
	}
	return -int64(h)
}

// keyForm says how a key number becomes a key.
type keyForm struct {
	ordered bool // the number itself rather than its hash
	padding int  // least number of digits
}

// append appends the key of number n: "user" and the number or its hash in decimal, padded with zeros.
func (k keyForm) append(dst []byte, n int64) []byte {
	dst = append(dst, keyPrefix...)
	if !k.ordered {
		n = hashKey(n)
	}
	start := len(dst)
	dst = strconv.AppendInt(dst, n, 10)
	if missing := k.padding - (len(dst) - start); missing > 0 {
		dst = padLeft(dst, start, missing)
	}
	return dst
}

// padLeft inserts n zeros at start.
func padLeft(dst []byte, start, n int) []byte {
	for range n {
		dst = append(dst, '0')
	}
	copy(dst[start+n:], dst[start:len(dst)-n])
	for i := range n {
		dst[start+i] = '0'
	}
	return dst
}
