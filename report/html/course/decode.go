package course

import (
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"github.com/plimsoll-bench/plimsoll/measure"
)

// The layout of an HdrHistogram in its compressed V2 form: cookie, length, and as a zlib stream a header of 40
// bytes (cookie, length of the counts, index offset, digits, lowest, highest, conversion) with the counts behind
// it. A count is a ZigZag LEB128 number of at most nine bytes; a negative one skips so many empty slots.
const (
	cookieCompressed = 0x1c849304
	cookieV2         = 0x1c849303
	cookieMask       = ^uint32(0xf0)
	headerSize       = 40
)

var errEncoding = errors.New("this is no histogram of plimsoll in the compressed V2 form")

// maxEncoded bounds what a histogram may unpack to: nine bytes for every slot.
const maxEncoded = headerSize + 9*slots

// decoder decodes histograms one after the other without new memory for each.
type decoder struct {
	packed []byte
	plain  []byte
	inflater
}

// Decode reads the counts of a histogram of package measure in its encoded form.
func Decode(text string) (*Counts, error) {
	c := newCounts()
	if err := new(decoder).decode([]byte(text), c); err != nil {
		return nil, err
	}
	return c, nil
}

// decode adds the counts of an encoded histogram. Of one that is refused nothing is added.
func (d *decoder) decode(payload []byte, to *Counts) error {
	n, err := d.unpack(payload)
	if err != nil {
		return err
	}
	p := d.plain[:n]
	u32, u64 := binary.BigEndian.Uint32, binary.BigEndian.Uint64
	size := int(u32(p[4:]))
	if u32(p)&cookieMask != cookieV2 || u32(p[8:]) != 0 || u32(p[12:]) != measure.SignificantDigits ||
		int64(u64(p[16:])) != measure.LowestValue || int64(u64(p[24:])) != measure.HighestValue || size < 0 || headerSize+size > len(p) {
		return errEncoding
	}
	if !to.decode(p[headerSize : headerSize+size]) {
		return errEncoding
	}
	return nil
}

// unpack decodes base64 and zlib into d.plain and returns how much it is.
func (d *decoder) unpack(payload []byte) (int, error) {
	if need := base64.StdEncoding.DecodedLen(len(payload)); cap(d.packed) < need {
		d.packed = make([]byte, need)
	}
	n, err := base64.StdEncoding.Decode(d.packed[:cap(d.packed)], payload)
	if err != nil {
		return 0, fmt.Errorf("%w: %w", errEncoding, err)
	}
	if n < 8 || binary.BigEndian.Uint32(d.packed)&cookieMask != cookieCompressed {
		return 0, errEncoding
	}
	if d.plain == nil {
		d.plain = make([]byte, maxEncoded)
	}
	n, err = d.inflate(d.packed[8:n], d.plain)
	if err != nil {
		return 0, fmt.Errorf("%w: %w", errEncoding, err)
	}
	if n < headerSize {
		return 0, errEncoding
	}
	return n, nil
}

// decode adds the counts of a histogram in their encoded form. Nearly all numbers have one byte, and whether it is a count
// or a gap is as good as random, so these are added without asking. Where it is damaged, what was added is taken away.
func (c *Counts) decode(p []byte) bool {
	const small = 64 // no number of one byte is larger
	n, slot, total := c.n, 0, c.total
	most := math.MaxInt64 - small*int64(len(p))
	low, found := 0, false
	for i := 0; i < len(p); {
		v, size := int64(p[i]>>1)^-int64(p[i]&1), 1
		if p[i] >= 0x80 {
			v, size = zigzag(p[i:])
			if size == 0 || v < -slots || v > 0 && total > most-v {
				c.takeAway(p[:i])
				return false
			}
		}
		if !found && v > 0 {
			low, found = slot, true
		}
		if uint(slot) >= uint(len(n)) {
			c.takeAway(p[:i])
			return false
		}
		gap := v >> 63 // all bits are set in that of a gap, or none
		n[slot] += v &^ gap
		total += v &^ gap
		slot += int(1&^gap) - int(v&gap)
		i += size
	}
	if found {
		c.total = total
		c.low, c.high = min(c.low, low), max(c.high, min(slot, slots))
	}
	return true
}

// takeAway undoes what [Counts.decode] did with the beginning of an encoded form.
func (c *Counts) takeAway(p []byte) {
	slot := 0
	for i := 0; i < len(p); {
		v, size := zigzag(p[i:])
		i += size
		if v < 0 {
			slot -= int(v)
			continue
		}
		if v > 0 {
			c.n[slot] -= v
		}
		slot++
	}
}

// zigzag reads a number of HdrHistogram's LEB128: seven bits a byte, but eight in the ninth.
func zigzag(p []byte) (v int64, n int) {
	var u uint64
	for i, b := range p {
		if i == 8 {
			u |= uint64(b) << 56
			return int64(u>>1) ^ -int64(u&1), 9
		}
		u |= uint64(b&0x7f) << (7 * i)
		if b < 0x80 {
			return int64(u>>1) ^ -int64(u&1), i + 1
		}
	}
	return 0, 0
}
