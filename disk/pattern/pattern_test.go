package pattern

import (
	"bytes"
	"compress/gzip"
	"errors"
	"testing"
)

func TestBlocks(t *testing.T) {
	for _, size := range []int64{512, 1024, 4096, 6144, 8192, 32768, 1 << 20} {
		p := NewPool(7, size)
		b := make([]byte, size)
		for i := range int64(20) {
			p.Fill(b, i*size, uint64(i+1))
			if err := p.Check(b, i*size); err != nil {
				t.Fatalf("%d: %v", size, err)
			}
			if got := endian.Uint64(b[16:]); got != uint64(i+1) {
				t.Errorf("sequence %d, want %d", got, i+1)
			}
			var m *Mismatch
			if err := p.Check(b, (i+1)*size); !errors.As(err, &m) {
				t.Errorf("%d: a block of another place was accepted", size)
			}
			if err := NewPool(8, size).Check(b, i*size); err == nil {
				t.Errorf("%d: a block of another probe was accepted", size)
			}
		}
		for at := range b {
			if at%97 != 0 && at != len(b)-1 {
				continue
			}
			b[at] ^= 1
			if p.Check(b, 19*size) == nil {
				t.Fatalf("%d: a changed byte %d was not noticed", size, at)
			}
			b[at] ^= 1
		}
	}
}

// What is written cannot be compressed, and no block is like another one.
func TestIncompressible(t *testing.T) {
	p := NewPool(1, 4096)
	var all, packed bytes.Buffer
	seen := map[string]bool{}
	b := make([]byte, 4096)
	for i := range 256 {
		p.Fill(b, 0, uint64(i+1)) // the same place over and over
		if seen[string(b[512:1024])] {
			t.Fatalf("a sector of block %d was there before", i)
		}
		seen[string(b[512:1024])] = true
		all.Write(b)
	}
	z := gzip.NewWriter(&packed)
	if _, err := z.Write(all.Bytes()); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	if packed.Len() < all.Len()*9/10 {
		t.Errorf("%d bytes became %d", all.Len(), packed.Len())
	}
}

func FuzzCheck(f *testing.F) {
	p := NewPool(1, 512)
	b := make([]byte, 1024)
	p.Fill(b, 512, 3)
	f.Add(b, int64(512))
	f.Add([]byte{}, int64(0))
	f.Fuzz(func(t *testing.T, b []byte, at int64) {
		_ = p.Check(b, at) // whatever it is, it must not panic
	})
}
