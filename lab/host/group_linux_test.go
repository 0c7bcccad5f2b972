package host

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/plimsoll-bench/plimsoll/internal/mountinfo"
	"github.com/plimsoll-bench/plimsoll/internal/notrun"
	"github.com/plimsoll-bench/plimsoll/internal/procid"
	"github.com/plimsoll-bench/plimsoll/lab/journal"
	"github.com/plimsoll-bench/plimsoll/lab/process"
	"github.com/plimsoll-bench/plimsoll/record"
)

// Mounts as they are on machines with version 1, version 2, and both.
func TestParseHierarchies(t *testing.T) {
	const fields = " rw,nosuid shared:9 - "
	for name, c := range map[string]struct {
		mountinfo string
		want      map[string]string
		unified   string
	}{
		"version 2": {"30 23 0:26 / /sys/fs/cgroup" + fields + "cgroup2 cgroup2 rw,nsdelegate\n", map[string]string{}, "/sys/fs/cgroup"},
		"both": {"33 30 0:27 / /sys/fs/cgroup/unified" + fields + "cgroup2 cgroup2 rw\n" +
			"35 30 0:30 / /sys/fs/cgroup/cpu,cpuacct" + fields + "cgroup cgroup rw,cpu,cpuacct\n" +
			"36 30 0:31 / /sys/fs/cgroup/memory" + fields + "cgroup cgroup rw,memory\n",
			map[string]string{"rw": "/sys/fs/cgroup/cpu,cpuacct", "cpu": "/sys/fs/cgroup/cpu,cpuacct", "cpuacct": "/sys/fs/cgroup/cpu,cpuacct", "memory": "/sys/fs/cgroup/memory"},
			"/sys/fs/cgroup/unified"},
		"others": {"22 1 8:1 / /" + fields + "ext4 /dev/sda1 rw\nnonsense\n\n1 2 - 3\n", map[string]string{}, ""},
	} {
		h := hierarchiesIn(mountinfo.Parse(c.mountinfo))
		if diff := cmp.Diff(c.want, h.v1); diff != "" || h.unified != c.unified {
			t.Errorf("%s: %s; version 2 at %q", name, diff, h.unified)
		}
	}
}

// What is missing is said.
func TestIncompleteHierarchies(t *testing.T) {
	for _, c := range []struct {
		h    hierarchies
		want string
	}{
		{hierarchies{}, "no controller cpu"},
		{hierarchies{unified: "/x", v2: []string{"cpu"}}, "no controller memory"},
		{hierarchies{v1: map[string]string{"cpu": "/a"}}, "no controller cpu"}, // nothing counts it
		{hierarchies{v1: map[string]string{"cpu": "/a", "cpuacct": "/a", "memory": "/b"}}, "no freezer"},
	} {
		if err := c.h.complete(); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v", c.h, err)
		}
	}
}

// version2 is a directory that looks like a mounted hierarchy of version 2 with one group in it, as the kernel's
// documentation (admin-guide/cgroup-v2) describes its files.
func version2(t *testing.T) (*group, string) {
	t.Helper()
	root := t.TempDir()
	g := &group{name: "plimsoll-test", where: hierarchies{unified: root, v2: []string{"cpuset", "cpu", "io", "memory", "pids"}}}
	dir := filepath.Join(root, g.name)
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	put(t, filepath.Join(root, "cgroup.subtree_control"), "memory pids\n")
	for _, name := range []string{"cpu.max", "memory.max", "memory.swap.max", "io.max", "cgroup.freeze"} {
		put(t, filepath.Join(dir, name), "")
	}
	put(t, filepath.Join(dir, "cgroup.events"), "populated 1\nfrozen 1\n")
	put(t, filepath.Join(dir, "cpu.stat"), "usage_usec 1500000\nuser_usec 1\nsystem_usec 1\nnr_periods 9\nnr_throttled 3\nthrottled_usec 250000\n")
	put(t, filepath.Join(dir, "memory.stat"), "anon 1000\nfile 5000\nshmem 200\n")
	put(t, filepath.Join(dir, "io.stat"), "8:0 rbytes=10 wbytes=20 rios=1 wios=2 dbytes=0 dios=0\n8:16 rbytes=1 wbytes=2 rios=3 wios=4\n7:9 \n")
	return g, dir
}

func put(t *testing.T, file, text string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func get(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// What is written to the files of version 2, and read from them.
func TestVersion2(t *testing.T) {
	g, dir := version2(t)
	if err := g.where.complete(); err != nil {
		t.Fatal(err)
	}
	if got := get(t, filepath.Join(g.where.unified, "cgroup.subtree_control")); !strings.HasPrefix(got, "+io") { // the last that was missing
		t.Errorf("subtree_control got %q", got)
	}
	if old := g.old(); len(old) > 0 || g.unified() != dir {
		t.Errorf("directories %v and %s", old, g.unified())
	}
	if err := errors.Join(g.limitCores(1.5), g.limitMemory(1<<30), g.freeze(t.Context(), true)); err != nil {
		t.Fatal(err)
	}
	for file, want := range map[string]string{"cpu.max": "150000 100000", "memory.max": "1073741824", "memory.swap.max": "0", "cgroup.freeze": "1"} {
		if got := get(t, filepath.Join(dir, file)); got != want {
			t.Errorf("%s got %q, not %q", file, got, want)
		}
	}
	u := g.usage()
	want := record.LabUsage{CPUSeconds: 1.5, ThrottledSeconds: 0.25, Memory: 1200, ReadBytes: 11, WriteBytes: 22, Reads: 4,
		Writes: 6}
	if diff := cmp.Diff(want, u); diff != "" {
		t.Error(diff)
	}
	device, number := anyDevice(t)
	if device == "" {
		return
	}
	if err := g.limitIO(IOLimit{Device: device, ReadBytes: 1000, Writes: 50}); err != nil {
		t.Fatal(err)
	}
	if got, want := get(t, filepath.Join(dir, "io.max")), number+" rbps=1000 wbps=max riops=max wiops=50"; got != want {
		t.Errorf("io.max got %q, not %q", got, want)
	}
}

// anyDevice is a block device of this machine, if it has one.
func anyDevice(t *testing.T) (device, number string) {
	t.Helper()
	entries, _ := os.ReadDir("/sys/block")
	for _, e := range entries {
		if number, err := deviceNumber("/dev/" + e.Name()); err == nil {
			return "/dev/" + e.Name(), number
		}
	}
	notrun.Here(t, "this machine has no block device, so limits of devices are not tested")
	return "", ""
}

// Requests that went through a disk of a lab to a real one are not counted twice.
func TestIOIsCountedOnce(t *testing.T) {
	dir := t.TempDir()
	kinds.Store("1007:1", "loop")
	kinds.Store("1007:2", "loop")
	kinds.Store("1008:0", "disk")
	put(t, filepath.Join(dir, "blkio.throttle.io_service_bytes"), "1007:1 Read 100\n1007:1 Write 50\n1007:1 Total 150\n1007:2 Read 100\n1008:0 Read 150\n1008:0 Write 60\nTotal 460\n")
	put(t, filepath.Join(dir, "blkio.throttle.io_serviced"), "1007:1 Read 10\n1008:0 Write 6\nTotal 16\n")
	var u record.LabUsage
	addOldIO(&u, dir)
	if diff := cmp.Diff(record.LabUsage{ReadBytes: 200, WriteBytes: 60, Reads: 10, Writes: 6}, u); diff != "" {
		t.Error(diff)
	}
}

// On machines with version 1 alone the freezer stops and helps to kill.
func TestVersion1Alone(t *testing.T) {
	h, err := findHierarchies()
	if err != nil || h.v1["freezer"] == "" || h.v1["cpu"] == "" || os.Geteuid() != 0 {
		notrun.Here(t, "there is no freezer of version 1, or this is not root: %v", err)
		return
	}
	h.unified = ""
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	j, err := journal.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	g, err := h.makeGroup(j, groupPrefix+"version1-"+strconv.Itoa(os.Getpid()))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = RemoveGroups(context.Background(), g.dirs()) }() // it is there only after a failure
	p := freezeAndThaw(ctx, t, g)
	removeFrozen(ctx, t, g)
	if err := errors.Join(g.freeze(ctx, true), g.kill(ctx), g.remove(ctx)); err != nil {
		t.Fatal(err)
	}
	<-p.Done
	if left := j.Live(); len(left) > 0 || len(below(g.dirs())) > 0 {
		t.Errorf("left: %v, %v", left, below(g.dirs()))
	}
}

// freezeAndThaw starts a process with children in a group, stops them and lets them go on.
func freezeAndThaw(ctx context.Context, t *testing.T, g *group) *process.Process {
	t.Helper()
	file := filepath.Join(t.TempDir(), "count")
	p, err := process.Start(t.Context(), process.Spec{Role: "counter", Path: "/bin/sh", Place: process.Place{Groups: g.old()},
		Args: []string{"-c", "(while :; do echo x >>" + file + "; sleep 0.01; done) & sleep 600 & wait"}})
	if err != nil {
		t.Fatal(err)
	}
	grows := func() bool {
		before, _ := os.Stat(file)
		time.Sleep(100 * time.Millisecond)
		after, err := os.Stat(file)
		return err == nil && before != nil && after.Size() > before.Size()
	}
	if err := await(ctx, grows); err != nil {
		t.Fatal(err)
	}
	if err := g.freeze(ctx, true); err != nil {
		t.Fatal(err)
	}
	if grows() {
		t.Error("it goes on while it is frozen")
	}
	if err := g.freeze(ctx, false); err != nil {
		t.Fatal(err)
	}
	if err := await(ctx, grows); err != nil {
		t.Fatal(err)
	}
	return p
}

// removeFrozen makes sure that a process that does not die because it is frozen is thawed by its remover.
func removeFrozen(ctx context.Context, t *testing.T, g *group) {
	t.Helper()
	q, err := process.Start(t.Context(), process.Spec{Role: "sleeper", Path: "/bin/sleep", Args: []string{"600"},
		Place: process.Place{Groups: g.old()}})
	if err != nil {
		t.Fatal(err)
	}
	frozen := g.freeze(ctx, true)
	err = removeProcess(ctx, journal.Resource{Name: "sleeper", Details: map[string]string{"boot": procid.Self().Boot, "freezer": g.freezer(),
		"pid": strconv.Itoa(q.PID), "born": strconv.FormatUint(q.Born, 10)}})
	if err = errors.Join(frozen, err); err != nil {
		t.Fatal(err)
	}
	<-q.Done
}

// What is not a lab's is not removed, even if it has the name of something that was.
func TestRemoversCheck(t *testing.T) {
	ctx := t.Context()
	for _, r := range []journal.Resource{
		{Kind: kindGroup, Name: "user.slice", Details: map[string]string{"dirs": "/sys/fs/cgroup/user.slice"}},
		{Kind: kindGroup, Name: "plimsoll-a", Details: map[string]string{"dirs": "/sys/fs/cgroup/plimsoll-b"}},
		{Kind: kindNamespace, Name: "/run/netns/plimsoll-a"},
		{Kind: kindNamespace, Name: namespaceDir + "/other"},
	} {
		if err := Removers()[r.Kind](ctx, r); err == nil {
			t.Errorf("%+v was removed", r)
		}
	}
	if os.Geteuid() != 0 {
		notrun.Here(t, "links are not tested: only root can make them")
		return
	}
	var err error
	process.OnThread(func() { err = removeOneOfTwo(ctx) })
	if err != nil {
		t.Error(err)
	}
}

// removeOneOfTwo removes a link that was written down and then tries one of the same name, in a namespace of its own.
func removeOneOfTwo(ctx context.Context) error {
	if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
		return err
	}
	add := func() (string, error) {
		attrs := netlink.NewLinkAttrs()
		attrs.Name, attrs.HardwareAddr = "plm18-1", newMAC()
		l := netlink.NewVeth(attrs)
		l.PeerName = "peer"
		return attrs.HardwareAddr.String(), netlink.LinkAdd(l)
	}
	ours, err := add()
	if err != nil {
		return err
	}
	r := journal.Resource{Kind: kindLink, Name: "plm18-1", Details: map[string]string{"mac": ours}}
	if err := removeLink(ctx, r); err != nil {
		return err
	}
	if _, err := netlink.LinkByName(r.Name); err == nil {
		return errors.New("the link is still there")
	}
	if _, err := add(); err != nil { // somebody else's
		return err
	}
	if err := removeLink(ctx, r); err != nil {
		return err
	}
	if _, err := netlink.LinkByName(r.Name); err != nil {
		return fmt.Errorf("the link of somebody else was removed: %w", err)
	}
	return nil
}

// Networks that addresses and routes of the machine use are left out.
func TestUsedNetworks(t *testing.T) {
	if os.Geteuid() != 0 {
		notrun.Here(t, "only root can add routes")
		return
	}
	process.OnThread(func() {
		if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
			t.Error(err)
			return
		}
		attrs := netlink.NewLinkAttrs()
		attrs.Name = "vpn"
		l := netlink.NewVeth(attrs)
		l.PeerName = "peer"
		addr, _ := netlink.ParseAddr("198.18.7.9/32")
		vpn, _ := netlink.ParseIPNet("198.19.0.0/16")
		far, _ := netlink.ParseIPNet("128.0.0.0/1")
		if err := netlink.LinkAdd(l); err != nil {
			t.Error(err)
			return
		}
		err := errors.Join(netlink.LinkSetUp(l), netlink.AddrAdd(l, addr),
			netlink.RouteAdd(&netlink.Route{LinkIndex: l.Index, Dst: vpn, Table: 77}),
			netlink.RouteAdd(&netlink.Route{LinkIndex: l.Index, Dst: far}))
		if err != nil {
			t.Error(err)
			return
		}
		used, err := usedNetworks()
		if err != nil {
			t.Error(err)
		}
		var taken []int
		for i := range networks {
			if overlaps(used, networkAt(i)) {
				taken = append(taken, i)
			}
		}
		want := []int{7}
		for i := 256; i < 512; i++ {
			want = append(want, i)
		}
		if !slices.Equal(taken, want) {
			t.Errorf("taken: %v", taken)
		}
	})
}
