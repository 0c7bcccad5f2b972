// Package pattern makes and checks the data of a probe. The data are incompressible, different in every block, and have
// a header in each piece that identifies the block. So compression and deduplication do not make devices and
// filesystems look faster, and wrong blocks are detected.
package pattern

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"math/rand/v2"
)

// HeaderBytes is the length of a header: magic, offset, sequence, position in the pool, length, checksum.
const HeaderBytes = 40

// pieceBytes is the interval of headers in a block: 4 KiB, or less if blocks are shorter or not aligned to that.
const pieceBytes = 4096

// sectorBytes is the smallest block of a device. Each has a unique start.
const sectorBytes = 512

// poolBytes is the size of the random data. Blocks are parts of it, so that a check is a comparison.
const poolBytes = 1 << 20

var (
	magic  = [8]byte{'P', 'L', 'I', 'M', 'S', 'O', 'L', '1'}
	table  = crc32.MakeTable(crc32.Castagnoli)
	endian = binary.LittleEndian
)

// Pool is the random data of one probe. It is immutable and may be used by several threads.
type Pool struct {
	data  []byte
	seed  uint64
	piece int
}

// NewPool makes the data of a seed for blocks of a length that begin at its multiples.
func NewPool(seed uint64, block int64) *Pool {
	var key [32]byte
	endian.PutUint64(key[:], seed)
	piece := int64(pieceBytes)
	for rest := max(block, 1); rest != 0; { // their greatest common divisor
		piece, rest = rest, piece%rest
	}
	p := &Pool{data: make([]byte, poolBytes), seed: seed, piece: int(piece)}
	_, _ = rand.NewChaCha8(key).Read(p.data) // never fails
	return p
}

// Fill makes a block for an offset of a file. sequence must differ between all written blocks.
func (p *Pool) Fill(block []byte, offset int64, sequence uint64) {
	for i := 0; i < len(block); i += p.piece {
		p.fillPiece(block[i:min(i+p.piece, len(block))], offset+int64(i), sequence)
	}
}

// fillPiece fills one piece from a pseudo-random position in the pool with a granularity of eight bytes, so that
// adjacent pieces are not adjacent there and equal sectors are rare.
func (p *Pool) fillPiece(b []byte, offset int64, sequence uint64) {
	place := mix(sequence^uint64(offset)) % ((poolBytes - pieceBytes) / 8) * 8
	copy(b, p.data[place:])
	if len(b) < HeaderBytes {
		return
	}
	copy(b, magic[:])
	endian.PutUint64(b[8:], uint64(offset))
	endian.PutUint64(b[16:], sequence)
	endian.PutUint32(b[24:], uint32(place))
	endian.PutUint32(b[28:], uint32(len(b)))
	endian.PutUint32(b[32:], uint32(p.seed))
	endian.PutUint32(b[36:], crc32.Checksum(b[:36], table))
	for at := sectorBytes; at+8 <= len(b); at += sectorBytes {
		endian.PutUint64(b[at:], stamp(sequence, offset+int64(at)))
	}
}

// stamp is the unique start of a sector without a header.
func stamp(sequence uint64, offset int64) uint64 { return mix(sequence) ^ uint64(offset)<<1 }

// mix hashes numbers (the finalizer of SplitMix64).
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// Mismatch is the error for a block that differs from the written one.
type Mismatch struct {
	Offset int64
	What   string
}

func (m *Mismatch) Error() string {
	return fmt.Sprintf("the data at offset %d differ from the written data: %s", m.Offset, m.What)
}

// Check compares all bytes of a block with the data written at an offset.
func (p *Pool) Check(block []byte, offset int64) error { return p.check(block, offset, true) }

// CheckHeaders compares only the headers of a block, which needs few memory accesses.
func (p *Pool) CheckHeaders(block []byte, offset int64) error { return p.check(block, offset, false) }

func (p *Pool) check(block []byte, offset int64, content bool) error {
	for i := 0; i < len(block); i += p.piece {
		if what := p.checkPiece(block[i:min(i+p.piece, len(block))], offset+int64(i), content); what != "" {
			return &Mismatch{offset + int64(i), what}
		}
	}
	return nil
}

func (p *Pool) checkPiece(b []byte, offset int64, content bool) string {
	if len(b) < HeaderBytes {
		return ""
	}
	place := endian.Uint32(b[24:])
	switch {
	case !bytes.Equal(b[:8], magic[:]):
		if bytes.Count(b, []byte{0}) == len(b) {
			return "there are only zeros"
		}
		return "it has no header of plimsoll"
	case crc32.Checksum(b[:36], table) != endian.Uint32(b[36:]):
		return "its header is damaged"
	case endian.Uint32(b[32:]) != uint32(p.seed):
		return "it was written by another probe"
	case endian.Uint64(b[8:]) != uint64(offset):
		return fmt.Sprintf("it is the block of offset %d", endian.Uint64(b[8:]))
	case int(endian.Uint32(b[28:])) != len(b) || int(place) > poolBytes-pieceBytes:
		return "its header is of another length"
	case content && !p.same(b, int(place), offset):
		return "its content is damaged"
	}
	return ""
}

// same compares all bytes of a piece.
func (p *Pool) same(b []byte, place int, offset int64) bool {
	sequence, from := endian.Uint64(b[16:]), HeaderBytes
	for at := sectorBytes; at+8 <= len(b); at += sectorBytes {
		if endian.Uint64(b[at:]) != stamp(sequence, offset+int64(at)) ||
			!bytes.Equal(b[from:at], p.data[place+from:place+at]) {
			return false
		}
		from = at + 8
	}
	return bytes.Equal(b[from:], p.data[place+from:place+len(b)])
}
