package volume

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/plimsoll-bench/plimsoll/internal/notrun"
	"github.com/plimsoll-bench/plimsoll/lab/journal"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/spec"
)

// canMount says whether this machine can make volumes of disks, and why not. In CI it must.
func canMount(t *testing.T) bool {
	t.Helper()
	if notrun.Left(t, "on volumes") {
		return false
	}
	f := Detect()
	if f.Root && f.Loop && f.Btrfs.OK() && f.XFS.OK() && f.Ext4.OK() {
		return true
	}
	if os.Getenv("CI") != "" || os.Getenv("PLIMSOLL_REQUIRE_ENGINE") != "" {
		t.Fatalf("this machine cannot make volumes: %+v", f)
	}
	notrun.Here(t, "volumes need root, loop devices, btrfs, xfs and ext4 with their tools: %+v", f)
	return false
}

// bench is a lab of one test.
type bench struct {
	*Maker
	dir     string
	journal *journal.Journal
}

var labs int

// newBench plans a policy and prepares its maker. Whatever is left at the end is an error, and removed.
func newBench(t *testing.T, p spec.Storage) *bench {
	t.Helper()
	labs++
	dir := t.TempDir()
	b := &bench{dir: dir, journal: openJournal(t, dir)}
	b.Maker = newMaker(t, fmt.Sprintf("t%d-%d", os.Getpid(), labs), dir, b.journal, p)
	t.Cleanup(func() {
		ctx := context.Background()
		if err := b.Close(ctx); err != nil {
			t.Errorf("close: %v", err)
		}
		if left := b.journal.Live(); len(left) > 0 {
			t.Errorf("left in the journal: %v", left)
		}
		if err := b.journal.Clean(ctx, Removers()); err != nil {
			t.Errorf("clean: %v", err)
		}
		nothingLeft(t, dir)
	})
	return b
}

func openJournal(t *testing.T, dir string) *journal.Journal {
	t.Helper()
	j, err := journal.Open(dir)
	must(t, err)
	t.Cleanup(func() { j.Close() })
	return j
}

func newMaker(t *testing.T, lab, dir string, j *journal.Journal, p spec.Storage) *Maker {
	t.Helper()
	l, err := Plan(p, Detect())
	must(t, err)
	self, err := os.Executable()
	must(t, err)
	m, err := NewMaker(MakerOptions{Lab: lab, Dir: dir, Journal: j, Policy: p, Layout: l, Faultfs: []string{self, "faultfs"}})
	must(t, err)
	return m
}

func (b *bench) volume(t *testing.T, hosts ...string) Volume {
	t.Helper()
	if len(hosts) == 0 {
		hosts = []string{"h1", "h2", "h3", "h4"}
	}
	v, err := b.Make(context.Background(), "v1", "m1", hosts)
	must(t, err)
	return v
}

// nothingLeft looks for mounts, loop devices and files below a directory.
func nothingLeft(t *testing.T, dir string) {
	t.Helper()
	if strings.Contains(content("/proc/self/mountinfo"), dir) {
		t.Errorf("a mount is left below %s", dir)
	}
	files, _ := filepath.Glob("/sys/block/loop*/loop/backing_file")
	for _, f := range files {
		if strings.Contains(content(f), dir) {
			t.Errorf("a loop device is left: %s is %s", f, content(f))
		}
	}
	entries, err := os.ReadDir(dir)
	must(t, err)
	for _, e := range entries {
		if e.Name() != journal.FileName {
			t.Errorf("left: %s", e.Name())
		}
	}
}

// fill writes a file with random content, syncs it and returns its sum.
func fill(t *testing.T, path string, size int, seed uint64) [32]byte {
	t.Helper()
	data := noise(size, seed)
	f, err := os.Create(path)
	must(t, err)
	_, err = f.Write(data)
	must(t, err)
	must(t, f.Sync())
	must(t, f.Close())
	return sha256.Sum256(data)
}

func noise(size int, seed uint64) []byte {
	data := make([]byte, size)
	r := rand.NewChaCha8([32]byte{byte(seed), byte(seed >> 8)})
	_, _ = r.Read(data)
	return data
}

// verify reads a file from the disks, not from memory.
func verify(t *testing.T, path string, want [32]byte) {
	t.Helper()
	data, err := os.ReadFile(path)
	must(t, err)
	if sha256.Sum256(data) != want {
		t.Errorf("%s has other content than was written", path)
	}
}

// writer appends records and syncs each until it is stopped.
type writer struct {
	path     string
	stop     chan struct{}
	ended    chan struct{}
	once     sync.Once
	done     chan error
	progress chan int
	count    int
}

const recordSize = 512

func startWriter(t *testing.T, path string) *writer {
	t.Helper()
	w := &writer{path: path, stop: make(chan struct{}), ended: make(chan struct{}), done: make(chan error, 1),
		progress: make(chan int, 1)}
	f, err := os.Create(path)
	must(t, err)
	t.Cleanup(w.end)
	go func() {
		defer close(w.ended)
		defer f.Close()
		for {
			select {
			case <-w.stop:
				w.done <- nil
				return
			default:
			}
			_, err := f.Write(bytes.Repeat(fmt.Appendf(nil, "%08d", w.count), recordSize/8))
			if err == nil {
				err = f.Sync()
			}
			if err != nil {
				w.done <- fmt.Errorf("record %d: %w", w.count, err)
				return
			}
			w.count++
			select {
			case <-w.progress:
			default:
			}
			w.progress <- w.count
		}
	}()
	return w
}

// waitFor returns when n further records are durable.
func (w *writer) waitFor(t *testing.T, n int) {
	t.Helper()
	deadline := time.After(10 * time.Minute)
	first := -1
	for {
		select {
		case err := <-w.done:
			t.Fatalf("the writer ended: %v", err)
		case at := <-w.progress:
			if first < 0 {
				first = at
			}
			if at >= first+n {
				return
			}
		case <-deadline:
			t.Fatal("the writer does not go on")
		}
	}
}

// finish stops the writer; it must not have seen an error.
func (w *writer) finish(t *testing.T) {
	t.Helper()
	w.end()
	must(t, <-w.done)
}

// end stops the writer and waits until its file is closed.
func (w *writer) end() {
	w.once.Do(func() { close(w.stop) })
	<-w.ended
}

// check reads back what was acknowledged.
func (w *writer) check(t *testing.T) {
	t.Helper()
	data, err := os.ReadFile(w.path)
	must(t, err)
	if len(data) < w.count*recordSize {
		t.Fatalf("%d bytes are left of %d acknowledged records", len(data), w.count)
	}
	for i := range w.count {
		want := bytes.Repeat(fmt.Appendf(nil, "%08d", i), recordSize/8)
		if !bytes.Equal(data[i*recordSize:(i+1)*recordSize], want) {
			t.Fatalf("record %d of %d is not what was written", i, w.count)
		}
	}
}

func health(t *testing.T, v Volume, want string) record.LabVolume {
	t.Helper()
	d := v.Describe(context.Background(), true)
	if d.Health != want {
		t.Errorf("the volume is %s (%s), want %s", d.Health, d.Detail, want)
	}
	return d
}

func states(d record.LabVolume) string {
	var out []string
	for _, x := range d.Disks {
		out = append(out, x.Name+" "+x.State)
	}
	return strings.Join(out, ", ")
}

func sumErrors(d record.LabVolume) (n int64) {
	for _, x := range d.Disks {
		n += x.Errors
	}
	return n
}

// dropCaches makes the volume's filesystem read from its disks again.
func dropCaches(t *testing.T, v Volume) {
	t.Helper()
	must(t, v.Remount(context.Background()))
}

func hostsOf(d record.LabVolume) []string {
	var out []string
	for _, x := range d.Disks {
		out = append(out, x.Host)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// aligned is a buffer that direct I/O takes.
func aligned(size int) []byte {
	b, err := unix.Mmap(-1, 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		panic(err)
	}
	return b
}
