package faultfs

import (
	"bytes"
	"encoding/binary"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"
)

const recordSize = 512

// numbered is a record that says which one it is, all over.
func numbered(i int) []byte {
	b := make([]byte, recordSize)
	for at := 0; at < recordSize; at += 8 {
		binary.LittleEndian.PutUint64(b[at:], uint64(i)+1)
	}
	return b
}

// appendRecords writes records of a log in a file, each synced or none.
func appendRecords(t *testing.T, f *os.File, from, to int, sync bool) {
	t.Helper()
	for i := from; i < to; i++ {
		_, err := f.Write(numbered(i))
		must(t, err)
		if sync {
			must(t, fdatasync(f))
		}
	}
}

// recovered counts the records from the first one on that a file has.
func recovered(t *testing.T, name string) int {
	t.Helper()
	text, err := os.ReadFile(name)
	if os.IsNotExist(err) {
		return 0
	}
	must(t, err)
	n := 0
	for ; len(text) >= recordSize && bytes.Equal(text[:recordSize], numbered(n)); n++ {
		text = text[recordSize:]
	}
	return n
}

// What was synced survives a power cut below a real filesystem, what was not is gone; of a lying disk everything
// since the lie began is gone, and the filesystem recovers all the same.
func TestPowerCutBelowFilesystems(t *testing.T) {
	for _, c := range []struct {
		fs   string
		lie  bool
		want int
	}{{"ext4", false, 300}, {"xfs", false, 300}, {"ext4", true, 0}, {"xfs", true, 0}} {
		name := c.fs
		if c.lie {
			name += " lying"
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if !needRoot(t) {
				return
			}
			d := start(t)
			d.disk("a", 320<<20)
			l := d.attach("a")
			l.mkfs(t, c.fs)
			l.mountAs(t, c.fs)
			f, err := os.Create(filepath.Join(l.mount, "log"))
			must(t, err)
			must(t, f.Sync())
			d.power(t, l, c.fs, f, c.lie)
			if got := recovered(t, filepath.Join(l.mount, "log")); got != c.want {
				t.Errorf("%d records survived, want %d", got, c.want)
			}
			s := d.stats("a")
			if lies := s.Hits[Lie]; c.lie != (lies >= 300) || c.lie && s.Undone < 300 {
				t.Errorf("%d lies, %d writes undone", lies, s.Undone)
			}
			t.Logf("%d writes undone, %d bytes", s.Undone, s.UndoneBytes)
		})
	}
}

// power writes records, cuts the power and mounts again.
func (d *daemon) power(t *testing.T, l *loop, fs string, f *os.File, lie bool) {
	t.Helper()
	ctx := t.Context()
	if lie {
		d.set("a", Fault{Kind: Lie})
	}
	appendRecords(t, f, 0, 300, true)
	appendRecords(t, f, 300, 350, false)
	must(t, d.Cut(ctx, "a", PowerCut{}))
	f.Close()
	l.umount(t)
	l.detach(t)
	must(t, d.Restore(ctx, "a"))
	d.clear("a")
	*l = *d.attach("a")
	d.loops = d.loops[:len(d.loops)-1] // l is in the list already
	l.mountAs(t, fs)
}

// powerModel is a disk in memory with what it held at its last flush.
type powerModel struct {
	now, flushed []byte
}

// A power cut brings back exactly what was there at the last flush, for any sequence of writes, discards, sizes and
// flushes; with a share kept, each piece is either old or new.
func TestPowerCutIsExact(t *testing.T) {
	if !needRoot(t) {
		return
	}
	d := start(t)
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	for round := range 60 {
		name := "d" + string(rune('a'+round%26)) + string(rune('a'+round/26))
		d.disk(name, 256<<10)
		f, err := os.OpenFile(d.file(name), os.O_RDWR, 0)
		must(t, err)
		defer f.Close()
		m := powerModel{make([]byte, 256<<10), make([]byte, 256<<10)}
		for range 1 + r.IntN(40) {
			m.step(t, r, f)
		}
		p := PowerCut{Seed: r.Uint64(), Block: []int64{0, 512, 4096, 1536, 8192}[r.IntN(5)]}
		if round%2 == 1 {
			p.Keep = []float64{0.5, 1}[r.IntN(2)]
		}
		must(t, d.Cut(t.Context(), name, p))
		if _, err := f.ReadAt(make([]byte, 1), 0); err == nil || err == io.EOF {
			t.Fatal("a disk without power answers")
		}
		must(t, d.Restore(t.Context(), name))
		m.check(t, f, p)
		must(t, f.Close())
		must(t, d.Remove(t.Context(), name))
	}
}

func (m *powerModel) step(t *testing.T, r *rand.Rand, f *os.File) {
	t.Helper()
	size := len(m.now)
	off := r.IntN(size)
	n := min(1+r.IntN(20<<10), size-off)
	switch r.IntN(8) {
	case 0:
		must(t, f.Sync())
		m.flushed = bytes.Clone(m.now)
	case 1:
		must(t, punchHole(f, int64(off), int64(n)))
		clear(m.now[off : off+n])
	case 2:
		if r.IntN(3) == 0 {
			to := 64<<10 + r.IntN(300<<10)
			must(t, f.Truncate(int64(to)))
			m.now = append(bytes.Clone(m.now[:min(size, to)]), make([]byte, max(0, to-size))...)
		}
	default:
		b := make([]byte, n)
		for i := range b {
			b[i] = byte(r.Uint32())
		}
		_, err := f.WriteAt(b, int64(off))
		must(t, err)
		copy(m.now[off:], b)
	}
}

func (m *powerModel) check(t *testing.T, f *os.File, p PowerCut) {
	t.Helper()
	got, err := os.ReadFile(f.Name())
	must(t, err)
	if len(got) != len(m.flushed) {
		t.Fatalf("%d bytes after the cut, %d at the last flush", len(got), len(m.flushed))
	}
	if p.Keep == 0 && !bytes.Equal(got, m.flushed) {
		t.Fatalf("not what was there at the last flush (%+v)", p)
	}
	now := append(bytes.Clone(m.now), make([]byte, len(got))...) // what survives of being cut off is zeros
	for at := 0; at < len(got); at += 512 {
		piece := got[at:min(len(got), at+512)]
		kept := bytes.Equal(piece, now[at:at+len(piece)])
		if !kept && (p.Keep == 1 || !bytes.Equal(piece, m.flushed[at:at+len(piece)])) {
			t.Fatalf("the piece at %d is neither old nor new (%+v)", at, p)
		}
	}
}

// All disks lose power at the same moment, each loses other pieces, and the same seed loses the same ones again.
func TestPowerCutOfAll(t *testing.T) {
	if !needRoot(t) {
		return
	}
	d := start(t)
	ctx := t.Context()
	data := bytes.Repeat([]byte("x"), 1<<20)
	lost := func() string {
		got := ""
		for _, name := range []string{"a", "b"} {
			d.disk(name, 1<<20)
			d.put(name, string(data))
		}
		must(t, d.Cut(ctx, "", PowerCut{Keep: 0.5, Seed: 7}))
		must(t, d.Restore(ctx, ""))
		for _, name := range []string{"a", "b"} {
			b, err := os.ReadFile(d.file(name))
			must(t, err)
			s := d.stats(name)
			if s.KeptBytes == 0 || s.UndoneBytes == 0 || s.KeptBytes+s.UndoneBytes != 1<<20 {
				t.Errorf("kept %d, undone %d", s.KeptBytes, s.UndoneBytes)
			}
			got += string(b)
			must(t, d.Remove(ctx, name))
		}
		return got
	}
	first := lost()
	if first[:1<<20] == first[1<<20:] {
		t.Error("two disks lost the same pieces")
	}
	if lost() != first {
		t.Error("the same seed lost other pieces")
	}
}

// A device that protects its cache loses nothing, unless it lies.
func TestProtectedDevice(t *testing.T) {
	if !needRoot(t) {
		return
	}
	d := start(t)
	ctx := t.Context()
	must(t, d.Create(ctx, "a", 1<<20, Device{Protected: true, WriteLatency: time.Microsecond}, nil))
	cut := func() string {
		t.Helper()
		must(t, d.Cut(ctx, "a", PowerCut{}))
		must(t, d.Restore(ctx, "a"))
		b, err := os.ReadFile(d.file("a"))
		must(t, err)
		return string(b[:min(5, len(b))])
	}
	d.put("a", "first")
	if got := cut(); got != "first" {
		t.Errorf("a protected write became %q", got)
	}
	d.set("a", Fault{Kind: Lie})
	d.put("a", "other")
	if got := cut(); got != "first" {
		t.Errorf("after a lie there is %q", got)
	}
}
