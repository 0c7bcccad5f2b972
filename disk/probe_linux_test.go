package disk

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/plimsoll-bench/plimsoll/disk/disktest"
	"github.com/plimsoll-bench/plimsoll/disk/files"
	"github.com/plimsoll-bench/plimsoll/internal/notrun"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/spec"
)

// quiet hears and says nothing, and calls a hook before each step.
type quiet struct{ step func(string) }

func (q quiet) Step(text string) {
	if q.step != nil {
		q.step(text)
	}
}
func (quiet) Second(record.ProbeSecond) {}
func (quiet) Note(string)               {}

// small is a specification that takes a second or two.
func small(dir string, profiles ...string) record.ProbeSpec {
	s := Defaults(dir)
	s.Profiles, s.Size, s.Segment, s.Duration, s.Threads = profiles, 8<<20, 4<<20, int64(200*time.Millisecond), 2
	s.Clients, s.Dirty, s.Period, s.Files = []int{1, 4}, 1<<20, int64(50*time.Millisecond), 3
	return s
}

// probeOf runs a probe and checks that nothing is left.
func probeOf(t *testing.T, s record.ProbeSpec, change func(*Options)) (*record.Probe, error) {
	t.Helper()
	w, err := record.CreateProbe("", &record.Probe{Specification: s,
		Head: record.Head{Environment: record.NewEnvironment(nil)}})
	if err != nil {
		t.Fatal(err)
	}
	o := Options{Writer: w, Progress: quiet{}}
	if change != nil {
		change(&o)
	}
	err = Run(t.Context(), o)
	left, globErr := filepath.Glob(filepath.Join(s.Directory, files.Prefix+"*"))
	if globErr != nil || len(left) > 0 {
		t.Errorf("left behind: %v %v", left, globErr)
	}
	return w.Probe, err
}

func gradeOf(p *record.Probe, grade string) record.ProbeDurability {
	for _, d := range p.Durability {
		if d.Grade == grade {
			return d
		}
	}
	return record.ProbeDurability{}
}

// keptPromise reports whether flushes were seen for each sync. On a busy machine those of other programs may hide them.
func keptPromise(a record.ProbeDurability) bool {
	return a.Verdict == record.Honest || a.Verdict == record.NotProvable && strings.Contains(a.Text, "other programs flush")
}

// On real filesystems every profile runs, each sync is seen as a flush of the loop device, and what was asked for is
// what was done.
func TestProfilesOnFilesystems(t *testing.T) {
	if !disktest.Able(t) {
		return
	}
	t.Parallel()
	for _, fs := range []string{"ext4", "xfs", "btrfs"} {
		t.Run(fs, func(t *testing.T) {
			t.Parallel()
			v := disktest.Make(t, fs, 400, "")
			s := small(v.Dir, Profiles()...)
			s.Operations = []string{Read, Write, Mixed}
			p, err := probeOf(t, s, nil)
			if err != nil {
				t.Fatal(err)
			}
			if got := p.Storage.Filesystem; got != fs {
				t.Errorf("filesystem %q", got)
			}
			if len(p.Storage.Devices) < 2 || p.Storage.Devices[0].Name != v.Device || p.Storage.Devices[0].Kind != "loop" {
				t.Errorf("devices %+v", p.Storage.Devices)
			}
			a := gradeOf(p, "A")
			if !keptPromise(a) || a.Flushes < a.Syncs {
				t.Errorf("grade A: %+v", a)
			}
			if steps := len(p.ProfileSteps(spec.ProbeRandom)); steps != 6 {
				t.Errorf("%d steps of random access", steps)
			}
			checkSteps(t, p, v.Device)
			if p.Journal == nil || p.Checkpoint == nil || p.Sustained == nil || len(p.Ramps) != 3 {
				t.Errorf("results are missing: %+v", p)
			}
			if p.Storage.Preallocated != "fallocate" {
				t.Errorf("preallocated by %q", p.Storage.Preallocated)
			}
		})
	}
}

// checkSteps compares each step with what the loop device counted.
func checkSteps(t *testing.T, p *record.Probe, device string) {
	t.Helper()
	for _, s := range p.Steps {
		if s.Profile == spec.ProbeJournal && s.Clients > 1 && s.Operations == 0 && s.Flushes > 0 {
			continue // the disk was so slow that the first flush of all clients ended after the step
		}
		if s.Operations == 0 || s.Latency == nil || s.Seconds <= 0 {
			t.Errorf("%s %s did nothing", s.Profile, s.Operation)
			continue
		}
		if s.Bytes != s.Operations*s.Block {
			t.Errorf("%s %s: %d operations of %d are not %d bytes", s.Profile, s.Operation, s.Operations, s.Block, s.Bytes)
		}
		for _, d := range s.Devices {
			if d.Name != device || s.Operation != Read || s.Profile != spec.ProbeRandom {
				continue
			}
			if d.ReadBytes < s.Bytes { // each read passed the page cache of the filesystem above
				t.Errorf("%s read %d bytes, the probe %d", device, d.ReadBytes, s.Bytes)
			}
		}
		if s.Profile == spec.ProbeJournal && s.Flushes == 0 {
			t.Errorf("no flush with %d clients", s.Clients)
		}
	}
}

// Blocks that are no multiple of a page, the page cache, O_DSYNC and a mapping work as well.
func TestModes(t *testing.T) {
	if !disktest.Able(t) {
		return
	}
	v := disktest.Make(t, "ext4", 100, "")
	for _, c := range []struct {
		mode, sync string
		block      int64
	}{{files.Direct, SyncOpen, 512}, {files.Buffered, SyncData, 4096}, {files.Buffered, SyncNone, 6144},
		{files.Mapped, SyncData, 4096}, {files.Direct, SyncData, 32 << 10}} {
		t.Run(fmt.Sprint(c), func(t *testing.T) {
			s := small(v.Dir, spec.ProbeRandom)
			s.Mode, s.Sync, s.Block, s.Operations, s.SyncDelay = c.mode, c.sync, c.block, []string{Read, Mixed},
				int64(10*time.Millisecond)
			p, err := probeOf(t, s, nil)
			if err != nil {
				t.Fatal(err)
			}
			checkSteps(t, p, "")
			if c.mode == files.Buffered && !found(p, "fits-in-memory") {
				t.Errorf("a file in memory was not noticed: %+v", p.Validity)
			}
			if c.mode == files.Mapped && p.Steps[len(p.Steps)-1].Flushes == 0 {
				t.Error("the mapping was never synced")
			}
		})
	}
}

func found(p *record.Probe, id string) bool {
	for _, f := range p.Validity {
		if f.ID == id {
			return true
		}
	}
	return false
}

// A filesystem that is told not to flush is caught by counting flushes.
func TestSwallowedFlushesAreLying(t *testing.T) {
	if !disktest.Able(t) {
		return
	}
	v := disktest.Make(t, "ext4", 64, "barrier=0")
	p, err := probeOf(t, small(v.Dir, spec.ProbeJournal), nil)
	if err != nil {
		t.Fatal(err)
	}
	if a := gradeOf(p, "A"); a.Verdict != record.Lying || p.Verdict != record.Lying ||
		!strings.Contains(a.Text, "nobarrier") && !strings.Contains(a.Text, "barrier=0") {
		t.Errorf("%+v, overall %s, options %s", a, p.Verdict, p.Storage.Options)
	}
}

// Memory is refused, and labelled where it is forced.
func TestMemory(t *testing.T) {
	if !disktest.Able(t) {
		return
	}
	dir := t.TempDir()
	if err := unix.Mount("plimsoll-test", dir, "tmpfs", 0, "size=64m"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(dir, 0); err != nil {
			t.Error(err)
		}
	})
	s := small(dir, spec.ProbeJournal)
	_, err := probeOf(t, s, nil)
	var refused *files.RefusedError
	if !errors.As(err, &refused) || !refused.Forced {
		t.Fatalf("memory was not refused: %v", err)
	}
	s.Forced, s.Mode = true, files.Buffered
	p, err := probeOf(t, s, nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(p.Storage.Memory) != 1 || !found(p, "memory-filesystem") || p.Verdict != record.NotProvable {
		t.Errorf("verdict %s, findings %+v", p.Verdict, p.Validity)
	}
}

// A full filesystem is an error that says what to do, before and during a probe, and nothing is left.
func TestFull(t *testing.T) {
	if !disktest.Able(t) {
		return
	}
	v := disktest.Make(t, "ext4", 64, "")
	s := small(v.Dir, spec.ProbeRandom)
	s.Size = 1 << 30
	_, err := probeOf(t, s, nil)
	var full *files.FullError
	if !errors.As(err, &full) {
		t.Errorf("before: %v", err)
	}
	s = small(v.Dir, spec.ProbeJournal)
	filler := filepath.Join(v.Dir, "filler")
	p, err := probeOf(t, s, func(o *Options) {
		o.Progress = quiet{func(text string) {
			if !strings.HasPrefix(text, "counting") {
				return
			}
			if f, err := os.Create(filler); err == nil { // the room is gone after it was found
				var st unix.Statfs_t
				if unix.Statfs(v.Dir, &st) == nil {
					_ = unix.Fallocate(int(f.Fd()), 0, 0, int64(st.Bavail)*st.Bsize-64<<10)
				}
				f.Close()
			}
		}}
	})
	if !errors.As(err, &full) {
		t.Errorf("during: %v, %+v", err, p.Steps)
	}
}

// An interrupt ends the step, keeps what was measured and removes the files.
func TestInterrupt(t *testing.T) {
	s := small(t.TempDir(), spec.ProbeRandom, spec.ProbeJournal)
	s.Duration, s.Mode, s.Sync = int64(time.Hour), files.Buffered, SyncNone
	dir := filepath.Join(t.TempDir(), "record")
	w, err := record.CreateProbe(dir, &record.Probe{Specification: s})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	if err := Run(ctx, Options{Writer: w, Progress: interrupting{cancel}}); err != nil {
		t.Fatal(err)
	}
	if err := w.Finish(record.Interrupted, "", time.Now()); err != nil {
		t.Fatal(err)
	}
	p, err := record.OpenProbe(dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(p.Steps) != 1 || !p.Steps[0].Interrupted || p.Steps[0].Operations == 0 || !found(p, "interrupted-step") {
		t.Errorf("%+v", p)
	}
	seconds, err := record.ProbeTimeline(dir)
	if err != nil || len(seconds) == 0 {
		t.Errorf("timeline %v, %v", seconds, err)
	}
}

// interrupting ends the probe after its first second.
type interrupting struct{ cancel func() }

func (interrupting) Step(string)                 {}
func (i interrupting) Second(record.ProbeSecond) { i.cancel() }
func (interrupting) Note(string)                 {}

// A control group with few writes per second is noticed, and the storage is recognised as slow.
func TestThrottledDeviceIsSlow(t *testing.T) {
	if !disktest.Able(t) {
		return
	}
	v := disktest.Make(t, "ext4", 64, "")
	join, ok := throttle(t, v.Loops[0], 40)
	if !ok {
		return
	}
	s := small(v.Dir, spec.ProbeJournal)
	s.Clients, s.Duration = []int{1}, int64(2*time.Second)
	p, err := probeOf(t, s, func(o *Options) { o.Progress = quiet{func(string) { join() }} })
	if err != nil {
		t.Fatal(err)
	}
	if p.Class == nil || !strings.Contains(p.Class.Name, "slower than a single disk") && !strings.Contains(p.Class.Name, "7.2k") {
		t.Errorf("class %+v, flush %+v", p.Class, p.Journal.Flush)
	}
	if !found(p, "io-limit") {
		t.Errorf("the limit was not noticed: %+v", p.Validity)
	}
}

// throttle makes a control group with so many writes per second to a device, which join moves this process into. The
// process is moved back when the test ends.
func throttle(t *testing.T, device string, writes int) (join func(), ok bool) {
	root := "/sys/fs/cgroup/blkio"
	if _, err := os.Stat(filepath.Join(root, "blkio.throttle.write_iops_device")); err != nil {
		notrun.Here(t, "there is no blkio controller of version 1 here")
		return nil, false
	}
	var st unix.Stat_t
	if err := unix.Stat(device, &st); err != nil {
		t.Fatal(err)
	}
	group := filepath.Join(root, fmt.Sprintf("plimsoll-disk-test-%d", os.Getpid()))
	if err := os.Mkdir(group, 0o755); err != nil {
		t.Fatal(err)
	}
	put := func(name, text string) {
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Error(err)
		}
	}
	pid := fmt.Sprint(os.Getpid())
	before := root
	t.Cleanup(func() {
		put(filepath.Join(before, "cgroup.procs"), pid)
		if err := os.Remove(group); err != nil {
			t.Error(err)
		}
	})
	put(filepath.Join(group, "blkio.throttle.write_iops_device"), fmt.Sprintf("%d:%d %d", unix.Major(st.Rdev), unix.Minor(st.Rdev), writes))
	return func() { put(filepath.Join(group, "cgroup.procs"), pid) }, true
}

// What a killed probe left is removed by the next one, and nothing else is.
func TestSweep(t *testing.T) {
	dir := t.TempDir()
	mine := filepath.Join(dir, files.Prefix+"dead")
	if err := os.Mkdir(mine, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string]string{
		mine + "/owner": "test files of plimsoll disk; a later probe in this directory removes them\n", mine + "/data": "x", mine + "/journal-0000000001": "x",
	} {
		if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	keep := []string{"plimsoll-probe-other/precious", "plimsoll-probe-mine/data", "other/data"}
	for _, name := range keep {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "plimsoll-probe-mine/owner"), []byte("somebody else's file\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	alive, _, err := files.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer alive.Remove()
	if _, err := os.Stat(mine); !errors.Is(err, os.ErrNotExist) {
		t.Error("the files of a dead probe are still there")
	}
	if removed := files.Sweep(dir); len(removed) > 0 {
		t.Errorf("removed %v", removed)
	}
	for _, name := range keep {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			t.Errorf("%s is gone", name)
		}
	}
	if _, err := os.Stat(alive.Path("")); err != nil {
		t.Error("the files of a living probe are gone")
	}
}

// Directories of databases and devices are refused.
func TestRefuse(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "WiredTiger.wt"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{dir, "/dev/null", filepath.Join(dir, "nothing"), filepath.Join(dir, "WiredTiger.wt")} {
		var refused *files.RefusedError
		if err := files.Refuse(path); !errors.As(err, &refused) {
			t.Errorf("%s: %v", path, err)
		} else if refused.Forced != (path == dir) {
			t.Errorf("%s: force is %v", path, refused.Forced)
		}
	}
	for _, part := range []string{"WiredTigerLog.0000000042", "collection-7--123.wt"} { // of a journal, and of one database
		inside := filepath.Join(t.TempDir(), "with [brackets]")
		if err := errors.Join(os.Mkdir(inside, 0o755), os.WriteFile(filepath.Join(inside, part), nil, 0o600)); err != nil {
			t.Fatal(err)
		}
		var refused *files.RefusedError
		if err := files.Refuse(inside); !errors.As(err, &refused) || !refused.Forced ||
			!strings.Contains(refused.Text, part) {
			t.Errorf("%s: %v", part, err)
		}
	}
}
