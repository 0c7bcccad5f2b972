// Package pattern makes and checks the data of a probe. No compressor and no deduplicating storage finds anything in
// them: bytes are random, and no piece is like another one of the same probe or of another seed. Each piece has a
// header that identifies its place and its version, so wrong, torn and outdated blocks are detected.
package pattern

import (
	"bytes"
	"crypto/subtle"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
)

// headerBytes is the length of a header: nonce, offset, sequence, seed and checksum. All but the nonce are masked with
// hashes of it, because plain numbers could be compressed.
const headerBytes = 40

// pieceBytes is the interval of headers in a block: 4 KiB, or less if blocks are shorter or not aligned to that.
const pieceBytes = 4096

// sectorBytes is the smallest block of a device. Each has a unique start, by which a torn piece is recognised.
const sectorBytes = 512

const (
	// places is the number of places, 8 bytes apart, where a piece begins in each half of the random data.
	places = 1 << 16
	// halfBytes is the size of one half. Both halves stay in the cache of a processor.
	halfBytes = places*8 + pieceBytes
)

var endian = binary.LittleEndian

// Pool is the random data of one probe. It is immutable and may be used by several threads.
//
// A piece is the exclusive or of two parts of it, one of each half. Two pieces have a common string only if the
// distance of their parts is the same in both halves: about once in four million pairs of pieces, or 4 KiB in 16 MiB.
type Pool struct {
	one, two []byte
	seed     uint64
	piece    int
}

// NewPool makes the data of a seed for blocks of a length that begin at its multiples.
func NewPool(seed uint64, block int64) *Pool {
	var key [32]byte
	endian.PutUint64(key[:], seed)
	piece := int64(pieceBytes)
	for rest := max(block, 1); rest != 0; { // their greatest common divisor
		piece, rest = rest, piece%rest
	}
	data := make([]byte, 2*halfBytes)
	_, _ = rand.NewChaCha8(key).Read(data) // never fails
	return &Pool{one: data[:halfBytes], two: data[halfBytes:], seed: seed, piece: int(piece)}
}

// Fill makes a block for an offset of a file. sequence must differ between all writes of a probe, and grow with time
// for the same block.
func (p *Pool) Fill(block []byte, offset int64, sequence uint64) {
	for i := 0; i < len(block); i += p.piece {
		p.fillPiece(block[i:min(i+p.piece, len(block))], offset+int64(i), sequence)
	}
}

func (p *Pool) fillPiece(b []byte, offset int64, sequence uint64) {
	nonce := mix(mix(sequence^p.seed) ^ uint64(offset))
	one, two := nonce%places*8, nonce/places%places*8
	subtle.XORBytes(b, p.one[one:one+uint64(len(b))], p.two[two:two+uint64(len(b))])
	if len(b) < headerBytes {
		return
	}
	endian.PutUint64(b, nonce)
	endian.PutUint64(b[8:], uint64(offset)^mix(nonce+1))
	endian.PutUint64(b[16:], sequence^mix(nonce+2))
	endian.PutUint64(b[24:], p.seed^mix(nonce+3))
	endian.PutUint64(b[32:], checksum(nonce, uint64(offset), sequence, p.seed, len(b)))
	for at := sectorBytes; at+8 <= len(b); at += sectorBytes {
		endian.PutUint64(b[at:], stamp(nonce, at))
	}
}

// checksum is that of a header.
func checksum(nonce, offset, sequence, seed uint64, length int) uint64 {
	return mix(nonce ^ mix(offset^mix(sequence^mix(seed^uint64(length)))))
}

// stamp is the start of a sector without a header.
func stamp(nonce uint64, at int) uint64 { return mix(nonce ^ uint64(at)<<32) }

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

// Check compares all bytes of a block with the data written at an offset. sequence is that of the last write, 0 for
// any.
func (p *Pool) Check(block []byte, offset int64, sequence uint64) error {
	return p.check(block, offset, sequence, true)
}

// CheckHeaders compares only the header of each piece and the start of each sector of a block, which needs few memory
// accesses.
func (p *Pool) CheckHeaders(block []byte, offset int64, sequence uint64) error {
	return p.check(block, offset, sequence, false)
}

func (p *Pool) check(block []byte, offset int64, sequence uint64, content bool) error {
	for i := 0; i < len(block); i += p.piece {
		if what := p.checkPiece(block[i:min(i+p.piece, len(block))], offset+int64(i), sequence, content); what != "" {
			return &Mismatch{offset + int64(i), what}
		}
	}
	return nil
}

func (p *Pool) checkPiece(b []byte, offset int64, want uint64, content bool) string {
	if len(b) < headerBytes {
		return ""
	}
	nonce := endian.Uint64(b)
	at, sequence := endian.Uint64(b[8:])^mix(nonce+1), endian.Uint64(b[16:])^mix(nonce+2)
	seed := endian.Uint64(b[24:]) ^ mix(nonce+3)
	switch {
	case endian.Uint64(b[32:]) != checksum(nonce, at, sequence, seed, len(b)):
		if bytes.Count(b, []byte{0}) == len(b) {
			return "there are only zeros"
		}
		return "it has no intact header of plimsoll"
	case seed != p.seed:
		return "it was written by another probe"
	case at != uint64(offset):
		return fmt.Sprintf("it is the block of offset %d", at)
	case want != 0 && sequence != want:
		return "it is an earlier version of this block: a later write was lost"
	case content && !p.same(b, offset, sequence), !content && !sectors(b, nonce):
		return "its content is damaged"
	}
	return ""
}

// sectors reports whether each sector without a header has its stamp.
func sectors(b []byte, nonce uint64) bool {
	for at := sectorBytes; at+8 <= len(b); at += sectorBytes {
		if endian.Uint64(b[at:]) != stamp(nonce, at) {
			return false
		}
	}
	return true
}

// same compares all bytes of a piece.
func (p *Pool) same(b []byte, offset int64, sequence uint64) bool {
	var want [pieceBytes]byte
	p.fillPiece(want[:len(b)], offset, sequence)
	return bytes.Equal(b, want[:len(b)])
}
