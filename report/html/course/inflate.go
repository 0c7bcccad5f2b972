package course

import (
	"encoding/binary"
	"errors"
	"hash/adler32"
	"math/bits"
)

// A log of a day has hundreds of thousands of histograms of some hundred bytes each. A general reader of zlib streams
// spends most of its time on beginning each of them, so this one is made for short streams that are in memory as a
// whole. It reads what RFC 1950 and RFC 1951 describe; a test compares it with the general one.

var errStream = errors.New("its zlib stream is damaged")

// The bounds of RFC 1951.
const (
	maxCode    = 15 // bits
	maxLits    = 286
	maxDists   = 30
	endOfBlock = 256
)

// An entry of a table says what a code stands for: in bits 0 to 3 the length of the code, in bits 4 to 7 how many
// further bits belong to it, in bits 8 and 9 the kind, and above bit 16 the literal, the first length or the first
// distance. An entry of 0 is no code.
const (
	kindLiteral = 0 << 8
	kindCopy    = 1 << 8
	kindEnd     = 2 << 8
	kindNone    = 3 << 8 // has a code, but is not to be used
)

// quickBits is how many bits of a code are looked up at once; few codes of short streams are longer.
const quickBits = 10

// table finds the meaning of codes. The codes are in the order of their lengths, as RFC 1951, 3.2.2 gives them out.
type table struct {
	quick [1 << quickBits]uint32
	mask  uint64
	// count is how many codes there are of each length; sorted is the meanings in the order of the codes.
	count  [maxCode + 1]uint16
	sorted [288]uint32
}

// meanings of the three alphabets without the lengths of codes.
var litMeaning, distMeaning, lengthMeaning = meanings()

func meanings() (lit, dist, length [288]uint32) {
	for i := range uint32(288) {
		lit[i], dist[i], length[i] = i<<16|kindLiteral, kindNone, i<<16|kindLiteral
		if i >= endOfBlock {
			lit[i] = kindNone
		}
	}
	lit[endOfBlock] = kindEnd
	base := uint32(3)
	for i := range uint32(28) {
		extra := uint32(0)
		if i >= 8 {
			extra = i/4 - 1
		}
		lit[endOfBlock+1+i] = base<<16 | extra<<4 | kindCopy
		base += 1 << extra
	}
	lit[285] = 258<<16 | kindCopy
	base = 1
	for i := range uint32(maxDists) {
		extra := uint32(0)
		if i >= 4 {
			extra = i/2 - 1
		}
		dist[i] = base<<16 | extra<<4 | kindCopy
		base += 1 << extra
	}
	return lit, dist, length
}

// code is a symbol of an alphabet and the length of its code in the lowest four bits.
type code uint16

// fixedLit and fixedDist are the tables of blocks that bring none.
var fixedLit, fixedDist = fixedTables()

func fixedTables() (lit, dist *table) {
	lit, dist = &table{}, &table{}
	var lits, dists []code
	for i := range code(288) {
		length := code(8)
		switch {
		case i >= 144 && i < 256:
			length = 9
		case i >= 256 && i < 280:
			length = 7
		}
		lits = append(lits, i<<4|length)
	}
	for i := range code(32) {
		dists = append(dists, i<<4|5)
	}
	lit.build(lits, &litMeaning)
	dist.build(dists, &distMeaning)
	return lit, dist
}

// build makes the table of an alphabet from its codes, in the order of their symbols. It reports false where they are
// no whole set of codes; a single code of one bit and no code at all are allowed.
func (t *table) build(list []code, meaning *[288]uint32) bool {
	t.count = [maxCode + 1]uint16{}
	for _, c := range list {
		t.count[c&15]++
	}
	var place [maxCode + 2]uint16
	left, longest := 1, 0
	for n := 1; n <= maxCode; n++ {
		if left = left<<1 - int(t.count[n]); left < 0 {
			return false
		}
		if t.count[n] > 0 {
			longest = n
		}
		place[n+1] = place[n] + t.count[n]
	}
	if left > 0 && len(list) > 0 && (len(list) > 1 || longest > 1) {
		return false
	}
	for _, c := range list {
		p := &place[c&15]
		t.sorted[*p] = meaning[c>>4] | uint32(c&15)
		*p++
	}
	t.fill(min(longest, quickBits))
	return true
}

// fill makes the quick table of so many bits. Codes are counted from their highest bit on, but come from the stream
// in the opposite order, so that a table for codes of n bits, twice, is one for n+1 bits. What has no code stays 0.
func (t *table) fill(width int) {
	t.mask = 1<<width - 1
	size, place, at := 1, 0, 0
	t.quick[0] = 0
	for n := 1; n <= width; n++ {
		copy(t.quick[size:2*size], t.quick[:size])
		size *= 2
		for range t.count[n] {
			t.quick[place] = t.sorted[at]
			at++
			rest := place ^ (size - 1)
			if rest == 0 {
				return // there can be no further code
			}
			top := 1 << (bits.Len(uint(rest)) - 1)
			place = place&(top-1) | top
		}
	}
}

// slow finds a code that is longer than quickBits, or returns 0.
func (t *table) slow(stream uint64) uint32 {
	word, first, at := 0, 0, 0
	for n := 1; n <= maxCode; n++ {
		word |= int(stream & 1)
		stream >>= 1
		count := int(t.count[n])
		if word < first+count {
			return t.sorted[at+word-first]
		}
		at += count
		first, word = (first+count)<<1, word<<1
	}
	return 0
}

// inflater unpacks one stream after the other without new memory for each.
type inflater struct {
	in   []byte
	at   int    // how much of in was taken
	held uint64 // the next bits, the first one lowest
	have int    // how many they are; bits above are 0

	out              []byte
	n                int // how much of out is filled
	lit, dist, names table
	codes            []code
}

// inflate unpacks a zlib stream into out, and returns how much it is. What does not fit into out is refused.
func (f *inflater) inflate(in, out []byte) (int, error) {
	if len(in) < 6 || in[0]&0x0f != 8 || in[0]>>4 > 7 || binary.BigEndian.Uint16(in)%31 != 0 || in[1]&0x20 != 0 {
		return 0, errStream
	}
	f.in, f.at, f.held, f.have, f.out, f.n = in, 2, 0, 0, out, 0
	for final := uint64(0); final == 0; {
		f.refill()
		final = f.take(1)
		ok := false
		switch f.take(2) {
		case 0:
			ok = f.stored()
		case 1:
			ok = f.block(fixedLit, fixedDist)
		case 2:
			ok = f.tables() && f.block(&f.lit, &f.dist)
		}
		if !ok || f.have < 0 {
			return 0, errStream
		}
	}
	f.at -= f.have / 8 // whole bytes that were taken in advance
	if f.at < 0 || len(in)-f.at < 4 || binary.BigEndian.Uint32(in[f.at:]) != adler32.Checksum(out[:f.n]) {
		return 0, errStream
	}
	return f.n, nil
}

// refill takes in bytes until there are 48 bits at least, which is more than any code with its length and distance.
// At the end of the stream there are fewer; whoever takes more has less than none.
func (f *inflater) refill() {
	if f.have < 48 {
		f.at, f.held, f.have = more(f.in, f.at, f.held, f.have)
	}
}

// more takes in whole bytes, eight at once where there are so many. Bits above those that count may then be there
// already, and are the same when they come again.
func more(in []byte, at int, held uint64, have int) (int, uint64, int) {
	if have < 0 {
		return at, held, have
	}
	if len(in)-at >= 8 {
		return at + (63-have)>>3, held | binary.LittleEndian.Uint64(in[at:])<<(have&63), have | 56
	}
	for have <= 56 && at < len(in) {
		held |= uint64(in[at]) << have
		at++
		have += 8
	}
	return at, held, have
}

func (f *inflater) take(n int) uint64 {
	x := f.held & (1<<n - 1)
	f.held >>= n
	f.have -= n
	return x
}

// stored copies a block that is not packed.
func (f *inflater) stored() bool {
	f.take(max(f.have, 0) & 7)
	f.refill()
	size, not := int(f.take(16)), int(f.take(16))
	if f.have < 0 || size^not != 0xffff {
		return false
	}
	f.at -= f.have / 8
	f.held, f.have = 0, 0
	if size > len(f.in)-f.at || size > len(f.out)-f.n {
		return false
	}
	f.n += copy(f.out[f.n:], f.in[f.at:f.at+size])
	f.at += size
	return true
}

// order is that of the lengths of the codes for lengths; see RFC 1951, 3.2.7.
var order = [19]uint8{16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15}

// tables reads the tables of a block.
func (f *inflater) tables() bool {
	lits, dists, names := int(f.take(5))+257, int(f.take(5))+1, int(f.take(4))+4
	if lits > maxLits || dists > maxDists {
		return false
	}
	var lengths [19]code
	for _, i := range order[:names] {
		f.refill()
		lengths[i] = code(f.take(3))
	}
	f.codes = f.codes[:0]
	for i, n := range lengths {
		if n > 0 {
			f.codes = append(f.codes, code(i)<<4|n)
		}
	}
	if f.have < 0 || !f.names.build(f.codes, &lengthMeaning) {
		return false
	}
	first, ok := f.lengths(lits, lits+dists)
	return ok && f.lit.build(f.codes[:first], &litMeaning) && f.dist.build(f.codes[first:], &distMeaning)
}

// lengths reads the lengths of the codes of both alphabets, of which the first has so many symbols. It returns how many
// of the codes are of the first. The state is kept in variables, and stored at the end.
func (f *inflater) lengths(lits, all int) (first int, ok bool) {
	codes, in, at, held, have := f.codes[:0], f.in, f.at, f.held, f.have
	first, last := -1, code(0)
	for i := 0; i < all; {
		if have < 48 {
			at, held, have = more(in, at, held, have)
		}
		e := f.names.quick[held&f.names.mask%(1<<quickBits)]
		held >>= e & 15
		have -= int(e & 15)
		if e == 0 || have < 0 {
			return 0, false
		}
		name := code(e >> 16)
		if name < 16 {
			if first < 0 && i >= lits {
				first = len(codes)
			}
			if last = name; name > 0 {
				codes = append(codes, alphabet(i, lits)<<4|name)
			}
			i++
			continue
		}
		r := repeats[name-16]
		times := r.least + int(held&(1<<r.bits-1))
		held >>= r.bits
		have -= int(r.bits)
		if name > 16 {
			last = 0
		}
		end := i + times
		if end > all || i == 0 && name == 16 {
			return 0, false
		}
		if last == 0 {
			if first < 0 && end >= lits {
				first = len(codes)
			}
			i = end
			continue
		}
		for ; i < end; i++ {
			if first < 0 && i >= lits {
				first = len(codes)
			}
			codes = append(codes, alphabet(i, lits)<<4|last)
		}
	}
	if first < 0 {
		first = len(codes)
	}
	f.codes, f.at, f.held, f.have = codes, at, held, have
	return first, have >= 0
}

// repeats is what the lengths 16, 17 and 18 mean: so many times at least, and how many bits say how many more.
var repeats = [3]struct {
	least int
	bits  uint8
}{{3, 2}, {3, 3}, {11, 7}}

// alphabet is the symbol at a place of the list of lengths, in which the first alphabet has so many.
func alphabet(i, lits int) code {
	if i >= lits {
		i -= lits
	}
	return code(i)
}

// block unpacks a block. The state is kept in variables, and stored at the end.
func (f *inflater) block(lit, dist *table) bool {
	in, at, held, have, out, n := f.in, f.at, f.held, f.have, f.out, f.n
	for {
		if have < 48 {
			at, held, have = more(in, at, held, have)
		}
		e := lit.quick[held&lit.mask%(1<<quickBits)]
		for e != 0 && e&kindNone == kindLiteral && n < len(out) && have >= 2*maxCode {
			out[n] = byte(e >> 16)
			n++
			held >>= e & 15
			have -= int(e & 15)
			e = lit.quick[held&lit.mask%(1<<quickBits)]
		}
		if e == 0 {
			e = lit.slow(held)
		}
		held >>= e & 15
		have -= int(e & 15)
		if e == 0 || have < 0 {
			return false
		}
		switch e & kindNone {
		case kindLiteral:
			if n == len(out) {
				return false
			}
			out[n] = byte(e >> 16)
			n++
		case kindCopy:
			if have < 48 {
				at, held, have = more(in, at, held, have)
			}
			extra := e >> 4 & 15
			length := int(e>>16) + int(held&(1<<extra-1))
			held >>= extra
			d := dist.find(held)
			held >>= d & 15
			further := d >> 4 & 15
			distance := int(d>>16) + int(held&(1<<further-1))
			held >>= further
			have -= int(extra + d&15 + further)
			if d == 0 || d&kindNone != kindCopy || have < 0 || distance > n || length > len(out)-n {
				return false
			}
			repeat(out, n, distance, length)
			n += length
		default:
			f.at, f.held, f.have, f.n = at, held, have, n
			return e&kindNone == kindEnd
		}
	}
}

func (t *table) find(stream uint64) uint32 {
	if e := t.quick[stream&t.mask%(1<<quickBits)]; e != 0 {
		return e
	}
	return t.slow(stream)
}

// repeat writes again what was written so far before the first n bytes. Most of it is short.
func repeat(out []byte, n, distance, length int) {
	if distance >= 8 && length <= 16 && n+16 <= len(out) {
		binary.LittleEndian.PutUint64(out[n:], binary.LittleEndian.Uint64(out[n-distance:]))
		if length > 8 {
			binary.LittleEndian.PutUint64(out[n+8:], binary.LittleEndian.Uint64(out[n-distance+8:]))
		}
		return
	}
	from, to, end := n-distance, n, n+length
	if distance >= length {
		copy(out[to:end], out[from:])
		return
	}
	for to < end { // it repeats what it writes
		to += copy(out[to:end], out[from:to])
	}
}
