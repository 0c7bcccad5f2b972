package faultfs

import (
	"bytes"
	"errors"
	"hash/crc32"
	"io"
	"math/rand/v2"
	"os"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"
)

// A disk behaves as a plain file of the machine does: the same random operations give the same results.
func TestDiskIsAFile(t *testing.T) {
	if !needRoot(t) {
		return
	}
	d := start(t)
	d.disk("a", 1<<20)
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	plain, err := os.CreateTemp(t.TempDir(), "")
	must(t, err)
	defer plain.Close()
	must(t, plain.Truncate(1<<20))
	for _, flags := range []int{0, syscall.O_DIRECT} {
		f, err := os.OpenFile(d.file("a"), os.O_RDWR|flags, 0)
		must(t, err)
		align := int64(1)
		if flags != 0 {
			align = 512
		}
		for i := range 400 {
			twice(t, r, f, plain, align)
			if i%50 == 49 {
				same(t, f, plain)
			}
			if t.Failed() {
				t.Fatalf("after operation %d", i)
			}
		}
		must(t, f.Close())
	}
}

// twice does one random operation to both files and compares what it returned.
func twice(t *testing.T, r *rand.Rand, a, b *os.File, align int64) {
	t.Helper()
	off, n := r.Int64N(1200<<10)/align*align, (1+r.Int64N(100<<10)+align-1)/align*align
	data, choice := buffer1[:n], r.Uint64()
	do := func(f *os.File) (result []any) {
		switch choice % 10 {
		case 0, 1, 2, 3:
			for i := range data {
				data[i] = byte(choice>>(8*(i%8))) + byte(i/512)
			}
			n, err := f.WriteAt(data, off)
			return []any{"write", n, errnoOf(err)}
		case 4, 5:
			n, err := f.ReadAt(data, off)
			return []any{"read", n, crc32.ChecksumIEEE(data[:n]), err == io.EOF}
		case 6:
			return []any{"truncate", errnoOf(f.Truncate(off))}
		case 7:
			return []any{"punch", errnoOf(unix.Fallocate(int(f.Fd()), punch|keepSize, off, n))}
		case 8:
			mode := uint32(0)
			if choice&(1<<40) != 0 {
				mode = zero
			}
			if choice&(1<<41) != 0 {
				mode |= keepSize
			}
			return []any{"fallocate", mode, errnoOf(unix.Fallocate(int(f.Fd()), mode, off, n))}
		}
		return []any{"sync", errnoOf(f.Sync())}
	}
	if diff := cmp.Diff(do(b), do(a)); diff != "" {
		t.Errorf("at %d, %d bytes (- a plain file, + the disk): %s", off, n, diff)
	}
}

// Memory that direct I/O takes.
var buffer1, buffer2 = aligned(2 << 20), aligned(2 << 20)

func aligned(n int) []byte {
	b, err := unix.Mmap(-1, 0, n, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		panic(err)
	}
	return b
}

func same(t *testing.T, f, plain *os.File) {
	t.Helper()
	size := func(f *os.File) int64 {
		info, err := f.Stat()
		must(t, err)
		return info.Size()
	}
	if got, want := size(f), size(plain); got != want {
		t.Fatalf("the disk has %d bytes, the file %d", got, want)
	}
	a, b := buffer1, buffer2
	n, err := f.ReadAt(a, 0)
	if err != io.EOF {
		must(t, err)
	}
	m, err := plain.ReadAt(b, 0)
	if err != io.EOF {
		must(t, err)
	}
	if n != m || !bytes.Equal(a[:n], b[:m]) {
		t.Fatalf("the contents differ (%d and %d bytes)", n, m)
	}
	for _, whence := range []int{unix.SEEK_DATA, unix.SEEK_HOLE} {
		at, err := unix.Seek(int(f.Fd()), 0, whence)
		if err != nil && !errors.Is(err, unix.ENXIO) || at > int64(n) {
			t.Errorf("seek %d: %d, %v", whence, at, err)
		}
	}
}

// Writers of different parts do not disturb each other, whatever is flushed meanwhile.
func TestConcurrentWriters(t *testing.T) {
	if !needRoot(t) {
		return
	}
	d := start(t)
	d.disk("a", 8<<20)
	var all sync.WaitGroup
	for w := range 8 {
		all.Go(func() {
			f, err := os.OpenFile(d.file("a"), os.O_RDWR, 0)
			if err != nil {
				t.Error(err)
				return
			}
			defer f.Close()
			r := rand.New(rand.NewPCG(uint64(w), 1))
			want := make([]byte, 1<<20)
			for range 200 {
				off, n := r.IntN(1<<20-9000), 1+r.IntN(9000)
				for i := range n {
					want[off+i] = byte(r.Uint32())
				}
				if _, err := f.WriteAt(want[off:off+n], int64(w<<20+off)); err != nil {
					t.Error(err)
				}
				if r.IntN(20) == 0 {
					if err := f.Sync(); err != nil {
						t.Error(err)
					}
				}
			}
			got := make([]byte, 1<<20)
			if _, err := f.ReadAt(got, int64(w<<20)); err != nil || !bytes.Equal(got, want) {
				t.Errorf("writer %d reads something else than it wrote (%v)", w, err)
			}
		})
	}
	all.Wait()
	if s := d.stats("a"); s.Writes < 1600 || s.Flushes == 0 {
		t.Errorf("not every request reached the disk: %+v", s)
	}
}
