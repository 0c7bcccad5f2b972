package volume

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/plimsoll-bench/plimsoll/spec"
)

// One disk of a mirror after the other dies and is replaced while a server writes: each repair finds the room that it
// needs, no write fails, and when it is over the volume holds its size and no more.
func TestDisksAreReplacedUnderLoad(t *testing.T) {
	if !canMount(t) {
		return
	}
	ctx := context.Background()
	p := spec.Storage{Size: 1 << 30, Tolerate: 1}
	v := newBench(t, p).volume(t)
	l := startLoad(t, filepath.Join(v.Dir(), "data"), int(p.Size)/3)
	for i, d := range []string{"d2", "d1"} {
		l.goOn(t)
		must(t, v.FailDisk(ctx, d))
		l.goOn(t)
		text, err := v.Repair(ctx)
		if err != nil {
			t.Fatalf("repair %d: %v", i+1, err)
		}
		t.Log(text)
		if d := health(t, v, "healthy"); d.Capacity > int64(p.Size)*110/100 {
			t.Errorf("after repair %d %d bytes can be written to a volume of %d", i+1, d.Capacity, p.Size)
		}
	}
	l.finish(t)
	must(t, v.FailDisk(ctx, "d1"))
	dropCaches(t, v)
	l.check(t)
}

// page is how much the load writes at once, in bytes.
const page = 8 << 10

// load overwrites pages of a file in random order and syncs it, as a server does.
type load struct {
	path  string
	pages []uint64 // the step in which each page was written last
	steps atomic.Uint64
	stop  atomic.Bool
	ended chan struct{}
	err   error // why it ended, if it was not stopped
}

func startLoad(t *testing.T, path string, size int) *load {
	t.Helper()
	l := &load{path: path, pages: make([]uint64, size/page), ended: make(chan struct{})}
	f, err := os.Create(path)
	must(t, err)
	for i := range l.pages {
		must(t, l.write(f, i, 0))
	}
	must(t, f.Sync())
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	go func() {
		defer close(l.ended)
		defer f.Close()
		r := rand.New(rand.NewPCG(seed, 0))
		for step := uint64(1); !l.stop.Load() && l.err == nil; step++ {
			if l.err = l.write(f, r.IntN(len(l.pages)), step); l.err == nil && step%500 == 0 {
				l.err = f.Sync()
			}
			l.steps.Store(step)
		}
	}()
	t.Cleanup(l.end)
	return l
}

func (l *load) end() {
	l.stop.Store(true)
	<-l.ended
}

// goOn returns when a few thousand further pages were written.
func (l *load) goOn(t *testing.T) {
	t.Helper()
	first, deadline := l.steps.Load(), time.After(10*time.Minute)
	for l.steps.Load() < first+3000 {
		select {
		case <-l.ended:
			t.Fatalf("the load ended: %v", l.err)
		case <-deadline:
			t.Fatal("the load does not go on")
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// finish stops the load; it must not have seen an error.
func (l *load) finish(t *testing.T) {
	t.Helper()
	l.end()
	must(t, l.err)
}

// check reads back what was written.
func (l *load) check(t *testing.T) {
	t.Helper()
	data, err := os.ReadFile(l.path)
	must(t, err)
	for i, step := range l.pages {
		if !bytes.Equal(data[i*page:(i+1)*page], filled(i, step)) {
			t.Fatalf("page %d of %d is not what step %d wrote", i, len(l.pages), step)
		}
	}
}

// write writes a page that says which it is and when it was written.
func (l *load) write(f *os.File, i int, step uint64) error {
	if _, err := f.WriteAt(filled(i, step), int64(i)*page); err != nil {
		return fmt.Errorf("page %d, step %d: %w", i, step, err)
	}
	l.pages[i] = step
	return nil
}

func filled(i int, step uint64) []byte {
	b := make([]byte, page)
	for at := 0; at < page; at += 16 {
		binary.LittleEndian.PutUint64(b[at:], uint64(i))
		binary.LittleEndian.PutUint64(b[at+8:], step)
	}
	return b
}
