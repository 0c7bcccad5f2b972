package host

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/plimsoll-bench/plimsoll/internal/mountinfo"
	"github.com/plimsoll-bench/plimsoll/internal/wait"
	"github.com/plimsoll-bench/plimsoll/lab/journal"
)

// This package writes the files of control groups itself. The library containerd/cgroups supports either version 1 or
// version 2, but a machine may have both: then the controllers are those of version 1, and only version 2 can freeze
// and kill a group in one step. The library also requires the mount points of distributions.

// kindGroup is a control group, in one or several hierarchies.
const kindGroup = "cgroup"

// hierarchies are the mounted hierarchies of control groups.
type hierarchies struct {
	v1      map[string]string // mount point by controller of version 1
	unified string            // mount point of version 2, empty if there is none
	v2      []string          // controllers of version 2
}

// The controllers of version 1 by the equivalent one of version 2.
var oldNames = map[string][]string{"cpu": {"cpu", "cpuacct"}, "memory": {"memory"}, "io": {"blkio"}, "freezer": {"freezer"}}

// findHierarchies finds the mounted hierarchies. The error says what is missing for an isolated host.
func findHierarchies() (hierarchies, error) {
	mounts, err := mountinfo.Self()
	if err != nil {
		return hierarchies{}, err
	}
	h := hierarchiesIn(mounts)
	if h.unified != "" {
		if _, err := os.Stat(filepath.Join(h.unified, "cgroup.controllers")); err != nil {
			h.unified = ""
		}
	}
	if h.unified != "" {
		text, err := os.ReadFile(filepath.Join(h.unified, "cgroup.controllers"))
		if err != nil {
			return h, err
		}
		h.v2 = strings.Fields(string(text))
	}
	if h.v1["freezer"] != "" && !h.needs() && !kernelIs(5, 14) {
		h.unified = "" // only the service manager uses it; it cannot kill before Linux 5.14, and version 1 has everything
	}
	return h, h.complete()
}

// needs says whether version 2 has a controller that isolated hosts use.
func (h hierarchies) needs() bool {
	return slices.ContainsFunc([]string{"cpu", "memory", "io"}, func(c string) bool {
		return slices.Contains(h.v2, c)
	})
}

// kernelIs says whether the kernel has at least a version.
func kernelIs(major, minor int) bool {
	var name unix.Utsname
	var a, b int
	if err := unix.Uname(&name); err != nil {
		return false
	}
	if n, _ := fmt.Sscanf(unix.ByteSliceToString(name.Release[:]), "%d.%d", &a, &b); n != 2 {
		return false
	}
	return a > major || a == major && b >= minor
}

// hierarchiesIn finds the mounts of control groups.
func hierarchiesIn(mounts []mountinfo.Mount) hierarchies {
	h := hierarchies{v1: map[string]string{}}
	for _, m := range mounts {
		switch m.Type {
		case "cgroup2":
			h.unified = cmp.Or(h.unified, m.Point)
		case "cgroup":
			for option := range strings.SplitSeq(m.Super, ",") {
				h.v1[option] = cmp.Or(h.v1[option], m.Point)
			}
		}
	}
	return h
}

// complete returns an error if something is missing for an isolated host.
func (h hierarchies) complete() error {
	for _, controller := range []string{"cpu", "memory"} {
		if !h.has(controller) {
			return fmt.Errorf("the control groups of this machine have no controller %s "+
				"(neither in cgroup.controllers of version 2 nor in a mounted hierarchy of version 1)", controller)
		}
	}
	if h.unified == "" && h.v1["freezer"] == "" {
		return errors.New("no control groups of version 2 and no freezer of version 1 are mounted")
	}
	for _, dir := range (&group{where: h}).dirs() {
		if err := unix.Access(dir, unix.W_OK); err != nil {
			return fmt.Errorf("cannot create control groups in %s: %w. A container must be privileged", dir, err)
		}
	}
	return h.delegate()
}

// has says whether a controller, named as in version 2, can be used.
func (h hierarchies) has(controller string) bool {
	for _, old := range oldNames[controller] {
		if h.v1[old] == "" {
			return slices.Contains(h.v2, controller)
		}
	}
	return true
}

// delegate enables the controllers of version 2 in groups below the root.
func (h hierarchies) delegate() error {
	file := filepath.Join(h.unified, "cgroup.subtree_control")
	for _, c := range []string{"cpu", "memory", "io"} {
		if !slices.Contains(h.v2, c) {
			continue
		}
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		if slices.Contains(strings.Fields(string(text)), c) {
			continue
		}
		if err := writeFile(file, "+"+c); err != nil {
			return fmt.Errorf("cannot enable the controller %s in control groups: %w. "+
				"A container must have the machine's cgroup namespace", c, err)
		}
	}
	return nil
}

// group is a control group in one or several hierarchies.
type group struct {
	name    string
	where   hierarchies
	journal *journal.Journal
	id      int
}

func (h hierarchies) makeGroup(j *journal.Journal, name string) (*group, error) {
	g := &group{name: name, where: h, journal: j}
	var err error
	if g.id, err = j.Add(kindGroup, name, map[string]string{"dirs": strings.Join(g.dirs(), "\n")}); err != nil {
		return nil, err
	}
	for _, dir := range g.dirs() {
		if err := os.Mkdir(dir, 0o755); err != nil {
			return nil, errors.Join(fmt.Errorf("cannot create the control group: %w", err), g.remove(context.Background()))
		}
	}
	return g, nil
}

// old are the group's directories in version 1.
func (g *group) old() []string {
	used := map[string]bool{}
	for _, controller := range []string{"cpu", "memory", "io"} {
		for _, name := range oldNames[controller] {
			if mount := g.where.v1[name]; mount != "" {
				used[filepath.Join(mount, g.name)] = true
			}
		}
	}
	if f := g.freezer(); f != "" {
		used[f] = true
	}
	return slices.Sorted(maps.Keys(used))
}

// freezer is the group's directory in the freezer of version 1; empty if version 2 freezes.
func (g *group) freezer() string {
	if g.where.unified != "" {
		return ""
	}
	return filepath.Join(g.where.v1["freezer"], g.name)
}

// unified is the group's directory in version 2; empty if there is none.
func (g *group) unified() string {
	if g.where.unified == "" {
		return ""
	}
	return filepath.Join(g.where.unified, g.name)
}

func (g *group) dirs() []string {
	if u := g.unified(); u != "" {
		return append(g.old(), u)
	}
	return g.old()
}

// file is the file of a controller of version 1 if there is one, otherwise of version 2.
func (g *group) file(controller, oldName, newName string) (path string, v2 bool) {
	if mount := g.where.v1[controller]; mount != "" {
		return filepath.Join(mount, g.name, oldName), false
	}
	return filepath.Join(g.unified(), newName), true
}

func writeFile(path, text string) error { return os.WriteFile(path, []byte(text), 0) }

// period is the period of the limit of cores, in microseconds.
const period = 100_000

// limitCores limits the cores of the group; 0 is no limit.
func (g *group) limitCores(cores float64) error {
	quota := strconv.Itoa(max(1000, int(cores*period))) // the kernel refuses less
	path, v2 := g.file("cpu", "cpu.cfs_quota_us", "cpu.max")
	if cores == 0 {
		quota = map[bool]string{true: "max", false: "-1"}[v2]
	}
	if v2 {
		return writeFile(path, quota+" "+strconv.Itoa(period))
	}
	return errors.Join(writeFile(filepath.Join(filepath.Dir(path), "cpu.cfs_period_us"), strconv.Itoa(period)),
		writeFile(path, quota))
}

// limitMemory limits the memory of the group, and disables swap.
func (g *group) limitMemory(bytes int64) error {
	path, v2 := g.file("memory", "memory.limit_in_bytes", "memory.max")
	swap, none := "memory.swappiness", "0"
	if v2 {
		swap = "memory.swap.max"
	}
	err := writeFile(filepath.Join(filepath.Dir(path), swap), none)
	if errors.Is(err, fs.ErrNotExist) { // the kernel has no swap
		err = nil
	}
	return errors.Join(err, writeFile(path, strconv.FormatInt(bytes, 10)))
}

// limitIO limits the group's I/O to a device; zero values are unlimited.
func (g *group) limitIO(l IOLimit) error {
	if !g.where.has("io") {
		return fmt.Errorf("%w: the control groups of this machine have no controller io (blkio in version 1)", ErrUnsupported)
	}
	number, err := deviceNumber(l.Device)
	if err != nil {
		return err
	}
	path, v2 := g.file("blkio", "blkio.throttle.", "io.max")
	if v2 {
		most := func(n int64) string {
			if n == 0 {
				return "max"
			}
			return strconv.FormatInt(n, 10)
		}
		return writeFile(path, fmt.Sprintf("%s rbps=%s wbps=%s riops=%s wiops=%s", number,
			most(l.ReadBytes), most(l.WriteBytes), most(l.Reads), most(l.Writes)))
	}
	for name, n := range map[string]int64{"read_bps": l.ReadBytes, "write_bps": l.WriteBytes,
		"read_iops": l.Reads, "write_iops": l.Writes} {
		if err := writeFile(path+name+"_device", fmt.Sprintf("%s %d", number, n)); err != nil {
			return err
		}
	}
	return nil
}

// deviceNumber is the name of a block device in control groups.
func deviceNumber(device string) (string, error) {
	var st unix.Stat_t
	if err := unix.Stat(device, &st); err != nil {
		return "", fmt.Errorf("cannot limit %s: %w", device, err)
	}
	if st.Mode&unix.S_IFMT != unix.S_IFBLK {
		return "", fmt.Errorf("cannot limit %s: it is not a block device", device)
	}
	return fmt.Sprintf("%d:%d", unix.Major(st.Rdev), unix.Minor(st.Rdev)), nil
}

// freeze freezes or thaws all processes of the group, and returns when that is done.
func (g *group) freeze(ctx context.Context, stop bool) error {
	if u := g.unified(); u != "" {
		on := map[bool]string{true: "1", false: "0"}[stop]
		if err := writeFile(filepath.Join(u, "cgroup.freeze"), on); !errors.Is(err, fs.ErrNotExist) {
			return errors.Join(err, await(ctx, func() bool {
				return hasLine(filepath.Join(u, "cgroup.events"), "frozen "+on)
			}))
		}
		return fmt.Errorf("%w: this kernel cannot freeze control groups of version 2 (Linux 5.2 and later can)", ErrUnsupported)
	}
	return freezeOld(ctx, g.freezer(), stop)
}

func freezeOld(ctx context.Context, dir string, stop bool) error {
	state := map[bool]string{true: "FROZEN", false: "THAWED"}[stop]
	file := filepath.Join(dir, "freezer.state")
	var err error
	waited := await(ctx, func() bool {
		err = writeFile(file, state) // repeated, because a process that was being forked may have escaped
		return err != nil || hasLine(file, state)
	})
	return errors.Join(err, waited)
}

// thaw thaws a group of version 1, so that its processes can die. The group may not exist any more.
func thaw(dir string) { _ = writeFile(filepath.Join(dir, "freezer.state"), "THAWED") }

func hasLine(file, line string) bool {
	text, err := os.ReadFile(file)
	return err == nil && slices.Contains(strings.Split(string(text), "\n"), line)
}

// await polls until a condition is true, because the kernel has no notification for it.
func await(ctx context.Context, is func() bool) error {
	for pause := 200 * time.Microsecond; !is(); pause = min(2*pause, 10*time.Millisecond) {
		if err := wait.Sleep(ctx, pause); err != nil {
			return err
		}
	}
	return nil
}

// kill kills all processes of the group and returns when they have ended.
func (g *group) kill(ctx context.Context) error { return endGroup(ctx, g.dirs()) }

// remove kills all processes of the group and removes it.
func (g *group) remove(ctx context.Context) error {
	if err := RemoveGroups(ctx, g.dirs()); err != nil {
		return fmt.Errorf("cannot remove the control group %s: %w", g.name, err)
	}
	return g.journal.Gone(g.id)
}

func removeGroup(ctx context.Context, r journal.Resource) error {
	dirs := strings.Fields(r.Details["dirs"])
	for _, dir := range dirs {
		if filepath.Base(dir) != r.Name || !strings.HasPrefix(r.Name, groupPrefix) {
			return fmt.Errorf("%s is not a control group of a lab", dir)
		}
	}
	ctx, cancel := context.WithTimeout(ctx, removeTime)
	defer cancel()
	return RemoveGroups(ctx, dirs)
}

// endGroup kills all processes in the directories of a group, which need not exist.
func endGroup(ctx context.Context, dirs []string) error {
	all := below(dirs)
	var left []int
	err := await(ctx, func() bool {
		for _, dir := range all {
			if writeFile(filepath.Join(dir, "cgroup.kill"), "1") == nil {
				continue
			}
			// Frozen processes do not die before they are thawed, and running ones may fork.
			freezes := freezeOld(ctx, dir, true) == nil || writeFile(filepath.Join(dir, "cgroup.freeze"), "1") == nil
			for _, pid := range members(dir) {
				_ = syscall.Kill(pid, syscall.SIGKILL) // it may have ended
			}
			if freezes {
				_ = freezeOld(ctx, dir, false) // the group is of either version
				_ = writeFile(filepath.Join(dir, "cgroup.freeze"), "0")
			}
		}
		left = nil
		for _, dir := range all {
			left = append(left, members(dir)...)
		}
		return len(left) == 0
	})
	if err != nil {
		return fmt.Errorf("processes %v were killed but have not ended: %w", left, err)
	}
	return nil
}

// below are the directories and all directories in them, the innermost first.
func below(dirs []string) []string {
	var all []string
	for _, dir := range dirs {
		_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err == nil && d.IsDir() {
				all = append(all, path)
			}
			return nil // a directory may have been removed meanwhile
		})
	}
	slices.SortFunc(all, func(a, b string) int { return strings.Count(b, "/") - strings.Count(a, "/") })
	return all
}

// members are the processes in a group, except this one: a thread of it may be there while it starts a child.
func members(dir string) []int {
	text, err := os.ReadFile(filepath.Join(dir, "cgroup.procs"))
	if err != nil {
		return nil
	}
	var pids []int
	for _, f := range strings.Fields(string(text)) {
		if pid, err := strconv.Atoi(f); err == nil && pid > 0 && pid != os.Getpid() {
			pids = append(pids, pid)
		}
	}
	return pids
}

// RemoveGroups kills all processes in control groups, and removes them with all groups below. They need not exist.
func RemoveGroups(ctx context.Context, dirs []string) error {
	if err := endGroup(ctx, dirs); err != nil {
		return err
	}
	for _, dir := range below(dirs) {
		var err error
		waited := await(ctx, func() bool { // the kernel may still list a process that has ended
			err = syscall.Rmdir(dir)
			return !errors.Is(err, syscall.EBUSY)
		})
		if errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
		if err = errors.Join(err, waited); err != nil {
			return fmt.Errorf("cannot remove %s: %w", dir, err)
		}
	}
	return nil
}
