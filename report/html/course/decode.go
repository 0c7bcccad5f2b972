package course

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/zlib"

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
	source bytes.Reader
	stream io.ReadCloser
	plain  []byte
}

// decode adds the counts of an encoded histogram to each of the given ones.
func (d *decoder) decode(payload []byte, to ...*Counts) error {
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
	return addCounts(p[headerSize:headerSize+size], to)
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
	d.source.Reset(d.packed[8:n])
	if d.stream == nil {
		d.plain = make([]byte, maxEncoded)
		d.stream, err = zlib.NewReader(&d.source)
	} else {
		err = d.stream.(zlib.Resetter).Reset(&d.source, nil)
	}
	if err != nil {
		return 0, fmt.Errorf("%w: %w", errEncoding, err)
	}
	n, err = io.ReadFull(d.stream, d.plain)
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) || n < headerSize {
		return 0, errEncoding
	}
	return n, nil
}

func addCounts(p []byte, to []*Counts) error {
	slot := 0
	for len(p) > 0 {
		v, n := zigzag(p)
		if n == 0 {
			return errEncoding
		}
		p = p[n:]
		if v < 0 {
			if v < -slots {
				return errEncoding
			}
			slot += int(-v)
			continue
		}
		if v > 0 {
			for _, c := range to {
				if !c.add(slot, v) {
					return errEncoding
				}
			}
		}
		slot++
	}
	return nil
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
