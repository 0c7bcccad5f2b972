package pattern

import (
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
)

func TestBlocks(t *testing.T) {
	for _, size := range []int64{512, 1024, 4096, 6144, 8192, 32768, 1 << 20} {
		p := NewPool(7, size)
		b := make([]byte, size)
		for i := range int64(20) {
			p.Fill(b, i*size, uint64(i+1))
			if err := errors.Join(p.Check(b, i*size, 0), p.Check(b, i*size, uint64(i+1)),
				p.CheckHeaders(b, i*size, uint64(i+1))); err != nil {
				t.Fatalf("%d: %v", size, err)
			}
			for what, err := range map[string]error{
				"the block of offset":        p.CheckHeaders(b, (i+1)*size, 0),
				"written by another probe":   NewPool(8, size).CheckHeaders(b, i*size, 0),
				"an earlier version of this": p.CheckHeaders(b, i*size, uint64(i+2)),
				"there are only zeros":       p.CheckHeaders(make([]byte, size), 0, 0),
			} {
				var m *Mismatch
				if !errors.As(err, &m) || !strings.Contains(m.What, what) {
					t.Errorf("%d: %v, want %s", size, err, what)
				}
			}
		}
		for at := range b {
			if at%97 != 0 && at != len(b)-1 {
				continue
			}
			b[at] ^= 1
			if p.Check(b, 19*size, 0) == nil {
				t.Fatalf("%d: a changed byte %d was not noticed", size, at)
			}
			b[at] ^= 1
		}
	}
}

// A block of which only the first sectors were written is detected by its headers.
func TestTornBlock(t *testing.T) {
	for _, size := range []int{1024, 4096, 32768} {
		p := NewPool(3, int64(size))
		old, now := make([]byte, size), make([]byte, size)
		p.Fill(old, 0, 1)
		for cut := 512; cut < size; cut += 512 {
			p.Fill(now, 0, 2)
			copy(now[cut:], old[cut:])
			if p.CheckHeaders(now, 0, 2) == nil {
				t.Errorf("%d: a tear at %d was not noticed", size, cut)
			}
		}
	}
}

// removed returns the share of data that zstd removes with a window.
func removed(t *testing.T, data []byte, window int) float64 {
	t.Helper()
	z, err := zstd.NewWriter(nil, zstd.WithWindowSize(window), zstd.WithEncoderLevel(zstd.SpeedBetterCompression),
		zstd.WithEncoderConcurrency(1))
	if err != nil {
		t.Fatal(err)
	}
	return 1 - float64(len(z.EncodeAll(data, nil)))/float64(len(data))
}

// No compressor finds anything in what is written: not in one file, not when the same place is written again, and not
// in files of several probes together.
func TestIncompressible(t *testing.T) {
	const total = 18 << 20
	writes := map[string]func(block, n int) (seed uint64, at int64, sequence uint64){
		"a file":                 func(block, n int) (uint64, int64, uint64) { return 1, int64(block * n), 1 },
		"the same place":         func(_, n int) (uint64, int64, uint64) { return 1, 0, uint64(n + 1) },
		"two files of one probe": func(block, n int) (uint64, int64, uint64) { return 1, int64(block * (n / 2)), uint64(n%2 + 1) },
		"two probes":             func(block, n int) (uint64, int64, uint64) { return uint64(n%2 + 1), int64(block * (n / 2)), 1 },
	}
	for name, write := range writes {
		for _, block := range []int{512, 4096} {
			pools := map[uint64]*Pool{1: NewPool(1, int64(block)), 2: NewPool(2, int64(block))}
			data := make([]byte, total)
			for n := range total / block {
				seed, at, sequence := write(block, n)
				pools[seed].Fill(data[n*block:(n+1)*block], at, sequence)
			}
			for _, window := range []int{128 << 10, 16 << 20} {
				t.Run(fmt.Sprint(name, ", blocks of ", block, ", window of ", window), func(t *testing.T) {
					if r := removed(t, data, window); r > 0.002 {
						t.Errorf("zstd removed %.2f %%", 100*r)
					}
				})
			}
		}
	}
}

// The test of compression finds what it looks for: data of a repeated mebibyte.
func TestRepetitionIsSeenByTheLongWindow(t *testing.T) {
	p := NewPool(1, 4096)
	data := make([]byte, 4<<20)
	for at := 0; at < len(data); at += 4096 {
		p.Fill(data[at:at+4096], int64(at%(1<<20)), 1)
	}
	if short, long := removed(t, data, 128<<10), removed(t, data, 16<<20); short > 0.01 || long < 0.7 {
		t.Errorf("removed %.3f with the short window, %.3f with the long one", short, long)
	}
}

// No two sectors of a probe begin alike, which would let storage that compares starts find candidates.
func TestSectorsAreUnique(t *testing.T) {
	p := NewPool(1, 4096)
	seen := map[uint64]bool{}
	b := make([]byte, 4096)
	for i := range 2048 {
		p.Fill(b, int64(i%2)*4096, uint64(i/2+1))
		for at := 0; at < len(b); at += sectorBytes {
			start := binary.LittleEndian.Uint64(b[at:])
			if seen[start] {
				t.Fatalf("a sector of block %d begins like an earlier one", i)
			}
			seen[start] = true
		}
	}
}

func FuzzCheck(f *testing.F) {
	p := NewPool(1, 512)
	b := make([]byte, 1024)
	p.Fill(b, 512, 3)
	f.Add(b, int64(512))
	f.Add([]byte{}, int64(0))
	f.Fuzz(func(t *testing.T, b []byte, at int64) {
		_ = p.Check(b, at, 0) // whatever it is, it must not panic
	})
}

// Fill is as fast as a copy out of memory, or the probe would be slower than a fast device.
func BenchmarkFill(b *testing.B) {
	p := NewPool(1, 4096)
	block := make([]byte, 4096)
	b.SetBytes(4096)
	sequence := uint64(0)
	for b.Loop() {
		sequence++
		p.Fill(block, int64(sequence%1000)*4096, sequence)
	}
}
