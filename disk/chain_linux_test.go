package disk

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/plimsoll-bench/plimsoll/disk/disktest"
	"github.com/plimsoll-bench/plimsoll/disk/files"
	"github.com/plimsoll-bench/plimsoll/internal/notrun"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/spec"
)

// mount mounts a filesystem at a new directory until the test ends.
func mount(t *testing.T, kind, source, options string, flags uintptr) string {
	t.Helper()
	dir := t.TempDir()
	if err := unix.Mount(source, dir, kind, flags, options); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Unmount(dir, unix.MNT_DETACH) })
	return dir
}

// overlay mounts an overlay whose writes go to a directory.
func overlay(t *testing.T, dir string) string {
	t.Helper()
	options := []string{"lowerdir=" + t.TempDir()}
	for _, name := range []string{"upper", "work"} {
		path := filepath.Join(dir, name)
		if err := os.Mkdir(path, 0o755); err != nil {
			t.Fatal(err)
		}
		options = append(options, name+"dir="+path)
	}
	return mount(t, "overlay", "overlay", strings.Join(options, ","), 0)
}

// zram makes a filesystem on compressed memory; ok is false if the kernel has none.
func zram(t *testing.T) (dir string, ok bool) {
	t.Helper()
	number, err := os.ReadFile("/sys/class/zram-control/hot_add")
	if err != nil {
		notrun.Here(t, "zram: %v", err)
		return "", false
	}
	n := strings.TrimSpace(string(number))
	t.Cleanup(func() {
		_ = os.WriteFile("/sys/block/zram"+n+"/reset", []byte("1"), 0o200)
		if err := os.WriteFile("/sys/class/zram-control/hot_remove", []byte(n), 0o200); err != nil {
			t.Error(err)
		}
	})
	if err := os.WriteFile("/sys/block/zram"+n+"/disksize", []byte("100M"), 0o200); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("mkfs.ext4", "-q", "-F", "/dev/zram"+n).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	dir = t.TempDir()
	if err := unix.Mount("/dev/zram"+n, dir, "ext4", 0, ""); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(dir, 0); err != nil {
			t.Error(err)
		}
	})
	return dir, true
}

// Memory at any depth below the directory is refused. Where it is forced, it is never honest and meets no objective.
func TestMemoryBelow(t *testing.T) {
	if !disktest.Able(t) {
		return
	}
	memory := func(t *testing.T) string { return mount(t, "tmpfs", "plimsoll-test", "size=100m", 0) }
	for name, c := range map[string]struct {
		make func(t *testing.T) (string, bool)
		want string
	}{
		"a file of a loop device": {func(t *testing.T) (string, bool) {
			return disktest.Make(t, "ext4", 64, "", filepath.Join(memory(t), "image")).Dir, true
		}, "tmpfs below loop"},
		"a bind mount of it": {func(t *testing.T) (string, bool) {
			v := disktest.Make(t, "ext4", 64, "", filepath.Join(memory(t), "image"))
			return mount(t, "", v.Dir, "", unix.MS_BIND), true
		}, "tmpfs below loop"},
		"a file below a hidden mount": {func(t *testing.T) (string, bool) {
			dir := memory(t)
			v := disktest.Make(t, "ext4", 64, "", filepath.Join(dir, "image"))
			over := disktest.Make(t, "ext4", 64, "") // the path of the file leads to a disk now
			if err := unix.Mount(over.Dir, dir, "", unix.MS_BIND, ""); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = unix.Unmount(dir, unix.MNT_DETACH) })
			return v.Dir, true
		}, "tmpfs below loop"},
		"the upper directory of an overlay": {func(t *testing.T) (string, bool) {
			return overlay(t, memory(t)), true
		}, "tmpfs below overlay"},
		"a loop device in an overlay": {func(t *testing.T) (string, bool) {
			return disktest.Make(t, "ext4", 64, "", filepath.Join(overlay(t, memory(t)), "image")).Dir, true
		}, "tmpfs below overlay below loop"},
		"zram": {zram, "zram"},
	} {
		t.Run(name, func(t *testing.T) {
			dir, ok := c.make(t)
			if !ok {
				return
			}
			s := small(dir, spec.ProbeJournal)
			s.Objectives = []string{"flush.p99<10s"}
			_, err := probeOf(t, s, nil)
			var refused *files.RefusedError
			if !errors.As(err, &refused) || !refused.Forced || !strings.Contains(refused.Text, c.want) {
				t.Errorf("not refused: %v", err)
			}
			s.Forced, s.Fallback = true, true
			p, err := probeOf(t, s, nil)
			if err != nil {
				t.Fatal(err)
			}
			if p.Verdict != record.NotProvable || !found(p, "memory-filesystem") || p.Conclude() != record.Incredible ||
				!p.Objectives[0].Unknown || strings.Contains(p.Class.Text, "suitable") {
				t.Errorf("verdict %s, findings %+v, objectives %+v, class %+v", p.Verdict, p.Validity, p.Objectives, p.Class)
			}
		})
	}
}

// The filesystem of a loop device's file is not mounted any more, so nobody knows what it is.
func TestUnseenIsNotHonest(t *testing.T) {
	if !disktest.Able(t) {
		return
	}
	dir := mount(t, "tmpfs", "plimsoll-test", "size=100m", 0)
	v := disktest.Make(t, "ext4", 64, "", filepath.Join(dir, "image"))
	if err := unix.Unmount(dir, unix.MNT_DETACH); err != nil {
		t.Fatal(err)
	}
	p, err := probeOf(t, small(v.Dir, spec.ProbeJournal), nil)
	if err != nil {
		t.Fatal(err)
	}
	if p.Verdict != record.NotProvable || !found(p, "not-checked") || len(p.Storage.Unseen) != 1 {
		t.Errorf("verdict %s, findings %+v, unseen %v", p.Verdict, p.Validity, p.Storage.Unseen)
	}
}

// reads probes reads with O_DIRECT.
func reads(t *testing.T, dir string) *record.Probe {
	t.Helper()
	s := small(dir, spec.ProbeRandom)
	s.Operations = []string{Read}
	p, err := probeOf(t, s, nil)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// A loop device without direct I/O answers reads from memory; the counters of the disk below it show that. With direct
// I/O, and with a filesystem that compresses, nothing is accused.
func TestReadsThatReachNoDisk(t *testing.T) {
	if !disktest.Able(t) {
		return
	}
	v := disktest.Make(t, "ext4", 100, "")
	if disk := v.Disk(t); disk == "" {
		notrun.Here(t, "the disk of the temporary directory is not shown here")
		return
	}
	if p := reads(t, v.Dir); found(p, "not-on-device") || found(p, "loop-cache") {
		t.Errorf("honest: %+v", p.Validity)
	}
	if p := reads(t, disktest.Make(t, "btrfs", 400, "compress=zstd").Dir); found(p, "not-on-device") || !found(p, "compression") {
		t.Errorf("compressing: %+v", p.Validity)
	}
	if p := reads(t, overlay(t, v.Dir)); found(p, "not-on-device") {
		t.Errorf("overlay: %+v", p.Validity)
	}
	v.Cached(t)
	if p := reads(t, v.Dir); !found(p, "not-on-device") || !found(p, "loop-cache") || p.Conclude() != record.Incredible {
		t.Errorf("loop device without direct I/O: %+v", p.Validity)
	}
}

// Flushes are counted through an overlay and a loop device down to the disk, and a filesystem in between that does not
// flush is seen, although the one above it does.
func TestFlushesOfTheWholeChain(t *testing.T) {
	if !disktest.Able(t) {
		return
	}
	for _, options := range []string{"", "barrier=0"} {
		below := disktest.Make(t, "ext4", 200, options)
		v := disktest.Make(t, "ext4", 100, "", filepath.Join(below.Dir, "image"))
		p, err := probeOf(t, small(overlay(t, v.Dir), spec.ProbeJournal), nil)
		if err != nil {
			t.Fatal(err)
		}
		a := gradeOf(p, "A")
		if options == "" && !keptPromise(a) || options != "" && (a.Verdict != record.Lying || !strings.Contains(a.Text, "nobarrier")) {
			t.Errorf("%q: %+v", options, a)
		}
		if len(p.Storage.Devices) < 3 || len(p.Storage.Below) < 3 || p.Storage.Devices[0].Name != v.Device {
			t.Errorf("%q: %+v", options, p.Storage)
		}
	}
}
