package faultfs

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/plimsoll-bench/plimsoll/internal/mountinfo"
)

// access are the three kinds of requests on a file, as something that can fail.
func access(f *os.File) map[string]func() error {
	return map[string]func() error{
		"read": func() error {
			_, err := f.ReadAt(make([]byte, 4096), 0)
			if err == io.EOF {
				return nil
			}
			return err
		},
		"write": func() error {
			_, err := f.WriteAt(make([]byte, 4096), 0)
			return err
		},
		"flush": f.Sync,
	}
}

func (d *daemon) open(t *testing.T, name string) *os.File {
	t.Helper()
	f, err := os.OpenFile(d.file(name), os.O_RDWR, 0)
	must(t, err)
	t.Cleanup(func() { f.Close() })
	return f
}

// Errors, a full disk and a dead one: each hits the requests that it is about and no others, is counted, and is
// gone when it is cleared.
func TestRefusals(t *testing.T) {
	if !needRoot(t) {
		return
	}
	d := start(t)
	d.disk("a", 1<<20)
	f := d.open(t, "a")
	for _, c := range []struct {
		fault Fault
		hits  []string
		errno syscall.Errno
	}{
		{Fault{Kind: Error}, []string{"read", "write", "flush"}, syscall.EIO},
		{Fault{Kind: Error, Ops: []string{"read"}}, []string{"read"}, syscall.EIO},
		{Fault{Kind: Error, Ops: []string{"write"}, Errno: "EROFS"}, []string{"write"}, syscall.EROFS},
		{Fault{Kind: Error, Ops: []string{"flush"}, Errno: "ETIMEDOUT"}, []string{"flush"}, syscall.ETIMEDOUT},
		{Fault{Kind: Error, From: 4096}, []string{"flush"}, syscall.EIO},
		{Fault{Kind: Error, To: 4096, Ops: []string{"read", "write"}}, []string{"read", "write"}, syscall.EIO},
		{Fault{Kind: Full}, []string{"write"}, syscall.ENOSPC},
		{Fault{Kind: Dead}, []string{"read", "write", "flush"}, syscall.EIO},
	} {
		before := d.stats("a").Hits[c.fault.Kind]
		d.set("a", c.fault)
		for name, do := range access(f) {
			want := syscall.Errno(0)
			if strings.Contains(strings.Join(c.hits, " "), name) {
				want = c.errno
			}
			if got := errnoOf(do()); got != want {
				t.Errorf("%+v: %s gives %v, want %v", c.fault, name, got, want)
			}
		}
		if got := d.stats("a").Hits[c.fault.Kind] - before; got != int64(len(c.hits)) {
			t.Errorf("%+v: %d hits are counted, want %d", c.fault, got, len(c.hits))
		}
		d.clear("a", c.fault.Kind)
		for name, do := range access(f) {
			if err := do(); err != nil {
				t.Errorf("%+v is cleared, and %s gives %v", c.fault, name, err)
			}
		}
	}
}

// The same seed hits the same requests, about as many as it should.
func TestProbability(t *testing.T) {
	if !needRoot(t) {
		return
	}
	d := start(t)
	d.disk("a", 1<<20)
	f := d.open(t, "a")
	pattern := func(seed uint64) (p string) {
		d.set("a", Fault{Kind: Error, Ops: []string{"read"}, Probability: 0.25, Seed: seed})
		for range 400 {
			p += map[bool]string{true: ".", false: "x"}[access(f)["read"]() == nil]
		}
		d.clear("a")
		return p
	}
	one, again, other := pattern(1), pattern(1), pattern(2)
	if one != again || one == other {
		t.Error("the choice does not follow the seed alone")
	}
	if n := strings.Count(one, "x"); n < 60 || n > 140 {
		t.Errorf("%d of 400 were hit with probability 0.25", n)
	}
}

// Requests of a disk that hangs wait, others go on; when it is cleared they all succeed. A client that is killed is
// not kept.
func TestHang(t *testing.T) {
	if !needRoot(t) {
		return
	}
	d := start(t)
	d.disk("a", 1<<20)
	d.disk("b", 1<<20)
	f, other := d.open(t, "a"), d.open(t, "b")
	for _, c := range []struct {
		op    string
		count int
	}{{"read", 40}, {"write", 40}, {"flush", 1}} { // the kernel lets one flush of a file go at a time
		d.hang(t, f, c.op, c.count, other)
	}
	d.set("a", Fault{Kind: Hang})
	dd := commandStart(t, "dd", "if="+d.file("a"), "of=/dev/null", "bs=4096", "count=1")
	eventually(t, "dd waits", func() bool { return d.stats("a").Waiting == 1 })
	must(t, dd.Process.Kill())
	_ = dd.Wait()
	eventually(t, "nobody waits", func() bool { return d.stats("a").Waiting == 0 })
	d.clear("a")
}

// hang makes requests of one kind hang and go on.
func (d *daemon) hang(t *testing.T, f *os.File, op string, count int, other *os.File) {
	t.Helper()
	before := d.stats("a").Hits[Hang]
	d.set("a", Fault{Kind: Hang, Ops: []string{op}})
	var all sync.WaitGroup
	var done atomic.Int64
	for range count {
		all.Go(func() {
			if err := access(f)[op](); err != nil {
				t.Errorf("%s after the hang: %v", op, err)
			}
			done.Add(1)
		})
	}
	eventually(t, "all wait", func() bool { return d.stats("a").Waiting == int64(count) })
	must(t, access(other)["write"]())
	must(t, access(other)["flush"]())
	if n := done.Load(); n != 0 {
		t.Errorf("%d requests did not wait", n)
	}
	d.clear("a", Hang)
	all.Wait()
	if s := d.stats("a"); s.Waiting != 0 || s.Hits[Hang]-before != int64(count) {
		t.Errorf("%d wait still, %d were hit, want %d", s.Waiting, s.Hits[Hang]-before, count)
	}
}

// A power cut ends the waiting of a disk that hangs or is slow, with errors.
func TestCutWakesWhatWaits(t *testing.T) {
	if !needRoot(t) {
		return
	}
	d := start(t)
	must(t, d.Create(t.Context(), "model", 1<<20, Device{ReadLatency: time.Hour}, nil))
	d.disk("slow", 1<<20)
	d.disk("hang", 1<<20)
	d.set("slow", Fault{Kind: Slow, Delay: time.Hour})
	d.set("hang", Fault{Kind: Hang})
	var all sync.WaitGroup
	for _, name := range []string{"slow", "hang", "model"} {
		f := d.open(t, name)
		all.Go(func() {
			if err := access(f)["read"](); errnoOf(err) != syscall.EIO {
				t.Errorf("%s: %v, want EIO", name, err)
			}
		})
		eventually(t, "it waits", func() bool { return d.stats(name).Waiting == 1 })
	}
	must(t, d.Cut(t.Context(), "", PowerCut{}))
	all.Wait()
}

// A fault with a limit heals by itself, and what waited for it goes on.
func TestLimit(t *testing.T) {
	if !needRoot(t) {
		return
	}
	d := start(t)
	d.disk("a", 1<<20)
	f := d.open(t, "a")
	d.set("a", Fault{Kind: Hang, Limit: 300 * time.Millisecond})
	must(t, access(f)["read"]())
	d.set("a", Fault{Kind: Error, Limit: 300 * time.Millisecond})
	eventually(t, "it works again", func() bool { return access(f)["write"]() == nil })
	if s := d.stats("a"); len(s.Faults) != 0 {
		t.Errorf("there are faults still: %+v", s.Faults)
	}
}

// A torn write is reported as done, and only whole sectors at its beginning are on the disk.
func TestTorn(t *testing.T) {
	if !needRoot(t) {
		return
	}
	d := start(t)
	d.disk("a", 1<<20)
	f := d.open(t, "a")
	d.set("a", Fault{Kind: Torn, Seed: 5})
	lengths := map[int]bool{}
	for i := range 50 {
		_, err := f.WriteAt(bytes.Repeat([]byte{1}, 4096), int64(i)*4096)
		must(t, err)
		got := make([]byte, 4096)
		_, err = f.ReadAt(got, int64(i)*4096)
		must(t, err)
		n := bytes.Count(got, []byte{1})
		if n%512 != 0 || n == 4096 || !bytes.Equal(got[:n], bytes.Repeat([]byte{1}, n)) {
			t.Errorf("%d bytes are written", n)
		}
		lengths[n] = true
	}
	if len(lengths) < 4 || d.stats("a").Hits[Torn] != 50 {
		t.Errorf("%d lengths, %d hits", len(lengths), d.stats("a").Hits[Torn])
	}
}

// Corruption of reads is the same each time and leaves what is stored; corruption of writes stays. Only the chosen
// blocks are hit.
func TestCorrupt(t *testing.T) {
	if !needRoot(t) {
		return
	}
	d := start(t)
	d.disk("a", 1<<20)
	f := d.open(t, "a")
	bad := func() (blocks string) {
		got := make([]byte, 1<<20)
		_, err := f.ReadAt(got, 0)
		must(t, err)
		for at := 0; at < len(got); at += 4096 {
			blocks += map[bool]string{true: ".", false: "x"}[bytes.Count(got[at:at+4096], []byte{0}) == 4096]
		}
		return blocks
	}
	d.set("a", Fault{Kind: Corrupt, Probability: 0.3, Seed: 9, From: 64 << 10, To: 512 << 10})
	first := bad()
	if n := strings.Count(first, "x"); n < 10 || n > 60 || strings.Contains(first[:16]+first[128:], "x") || bad() != first {
		t.Errorf("blocks hit: %s", first)
	}
	d.clear("a")
	if strings.Contains(bad(), "x") {
		t.Error("corrupt reads changed the disk")
	}
	d.set("a", Fault{Kind: Corrupt, Ops: []string{"write"}, To: 4096})
	_, err := f.WriteAt(make([]byte, 8192), 0)
	must(t, err)
	d.clear("a")
	if got := bad(); !regexp.MustCompile(`^x\.+$`).MatchString(got) {
		t.Errorf("a corrupt write shows as %s", got)
	}
}

// An application above a mirror does not notice that one disk of it fails, and a scrub repairs that disk.
func TestMirrorHidesErrors(t *testing.T) {
	if !needRoot(t) {
		return
	}
	d := start(t)
	d.disk("a", 160<<20)
	d.disk("b", 160<<20)
	l, second := d.attach("a"), d.attach("b")
	format := mountinfo.WithoutMounts([]string{"mkfs.btrfs", "-q", "-f", "-m", "raid1", "-d", "raid1", l.device, second.device})
	command(t, format[0], format[1:]...)
	command(t, "btrfs", "device", "scan", l.device, second.device)
	l.mountAs(t, "btrfs")
	f, err := os.Create(filepath.Join(l.mount, "log"))
	must(t, err)
	defer f.Close()
	appendRecords(t, f, 0, 50, true)
	d.set("b", Fault{Kind: Error})
	appendRecords(t, f, 50, 200, true)
	must(t, unix.Syncfs(int(f.Fd()))) // a scrub looks at what was committed
	if d.stats("b").Hits[Error] < 150 {
		t.Errorf("only %d requests were hit", d.stats("b").Hits[Error])
	}
	stats := command(t, "btrfs", "device", "stats", l.mount)
	if !regexp.MustCompile(`(?m)^\[` + second.device + `\]\.(write|flush)_io_errs +[1-9]`).MatchString(stats) {
		t.Errorf("btrfs counted no errors of %s:\n%s", second.device, stats)
	}
	d.clear("b")
	scrub := command(t, "btrfs", "scrub", "start", "-B", l.mount)
	if !strings.Contains(scrub, "Corrected") || !regexp.MustCompile(`Uncorrectable: +0`).MatchString(scrub) {
		t.Errorf("scrub:\n%s", scrub)
	}
	if got := recovered(t, f.Name()); got != 200 {
		t.Errorf("%d of 200 records are there", got)
	}
	if again := command(t, "btrfs", "scrub", "start", "-B", l.mount); !strings.Contains(again, "no errors found") {
		t.Errorf("the second scrub:\n%s", again)
	}
}

// A filesystem with checksums sees corruption, as errors instead of wrong data.
func TestChecksumsSeeCorruption(t *testing.T) {
	if !needRoot(t) {
		return
	}
	d := start(t)
	d.disk("a", 160<<20)
	l := d.attach("a")
	l.mkfs(t, "btrfs", "-m", "single", "-d", "single")
	l.mountAs(t, "btrfs")
	name := filepath.Join(l.mount, "data")
	must(t, os.WriteFile(name, bytes.Repeat([]byte("data"), 1<<20), 0o600))
	l.umount(t)
	l.mountAs(t, "btrfs")
	d.set("a", Fault{Kind: Corrupt, Probability: 0.5, Seed: 1, From: 0})
	_, err := os.ReadFile(name)
	if errnoOf(err) != syscall.EIO || d.stats("a").Hits[Corrupt] == 0 {
		t.Errorf("reading gives %v, %d hits", err, d.stats("a").Hits[Corrupt])
	}
	d.clear("a")
	l.umount(t)
	l.mountAs(t, "btrfs")
	if got, err := os.ReadFile(name); err != nil || len(got) != 4<<20 {
		t.Errorf("after the fault: %d bytes, %v", len(got), err)
	}
}

// A failed flush reaches the application that synced, through ext4 and XFS.
func TestFlushErrorReachesApplication(t *testing.T) {
	for _, fs := range []string{"ext4", "xfs"} {
		t.Run(fs, func(t *testing.T) {
			t.Parallel()
			if !needRoot(t) {
				return
			}
			d := start(t)
			d.disk("a", 320<<20)
			l := d.attach("a")
			l.mkfs(t, fs)
			l.mountAs(t, fs)
			f, err := os.Create(filepath.Join(l.mount, "log"))
			must(t, err)
			defer f.Close()
			appendRecords(t, f, 0, 10, true)
			d.set("a", Fault{Kind: Error, Ops: []string{"flush"}})
			_, err = f.Write(numbered(10))
			must(t, err)
			if err := fdatasync(f); errnoOf(err) != syscall.EIO {
				t.Errorf("the sync gives %v", err)
			}
			if d.stats("a").Hits[Error] == 0 {
				t.Error("no flush was hit")
			}
			d.clear("a")
			must(t, f.Close())
			l.umount(t)
			l.mountAs(t, fs)
			if got := recovered(t, f.Name()); got < 10 {
				t.Errorf("%d records are there after the repair, 10 were synced", got)
			}
		})
	}
}

// Many requests of one loop device are at the disk at the same time.
func TestRequestsAreParallel(t *testing.T) {
	if !needRoot(t) {
		return
	}
	d := start(t)
	d.disk("a", 16<<20)
	l := d.attach("a")
	d.set("a", Fault{Kind: Hang, Ops: []string{"read"}})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var all sync.WaitGroup
	for i := range 32 {
		all.Go(func() {
			f, err := os.OpenFile(l.device, os.O_RDONLY|syscall.O_DIRECT, 0)
			if err != nil {
				t.Error(err)
				return
			}
			defer f.Close()
			b := aligned(4096)
			if _, err := f.ReadAt(b, int64(i)*65536); err != nil && !errors.Is(ctx.Err(), context.Canceled) {
				t.Error(err)
			}
		})
	}
	eventually(t, "32 reads wait at once", func() bool { return d.stats("a").Waiting >= 32 })
	d.clear("a")
	all.Wait()
}
