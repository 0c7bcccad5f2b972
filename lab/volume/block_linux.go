package volume

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/plimsoll-bench/plimsoll/internal/mountinfo"
	"github.com/plimsoll-bench/plimsoll/record"
)

// blocks is a volume of virtual disks.
type blocks struct {
	m            *Maker
	name, member string
	array        array
	path         string // mount point
	hosts        []string

	repair sync.Mutex // held while the array changes: by Repair, Remount and Close
	mu     sync.Mutex // guards what follows
	disks  []*disk
	// degraded says that it was written to while it was mounted without a disk.
	degraded, repairing, closed bool
	made                        []made // resources besides disks, in order
	own                         int64  // used bytes of the empty filesystem
	ballast                     ballast
	serial                      int // of new disks
	arrayEntry                  int // of the array in the journal; 0 if it has none

	probing sync.Mutex // guards probe
	probe   *probe     // the read of the filesystem that has not returned yet
}

// made is a resource to remove when the volume is closed.
type made struct {
	id   int
	undo func(ctx context.Context) error
}

// makeDisks makes a volume of virtual disks, or nothing if it fails.
func (m *Maker) makeDisks(ctx context.Context, name, member string, groups []string) (kept, error) {
	v := &blocks{m: m, name: name, member: member, path: filepath.Join(m.o.Dir, "volumes", name), hosts: groups,
		array: newArray(m.scheme, tools{m.o.Tools}, marker(m.o.Lab)+"-"+name)}
	if err := v.make(ctx); err != nil {
		return nil, errors.Join(err, v.Close(context.WithoutCancel(ctx)))
	}
	return v, nil
}

func (v *blocks) make(ctx context.Context) error {
	l := v.m.o.Layout
	var growth int64
	for _, other := range v.m.all() {
		growth += other.growth()
	}
	if err := checkSpace(filepath.Join(v.m.base, "disks"), int64(l.Disks)*l.DiskSize, growth); err != nil {
		return err
	}
	if err := v.makeDir(); err != nil {
		return err
	}
	for i := range l.Disks {
		d, err := v.newDisk(ctx, fmt.Sprintf("d%d", i+1), v.hosts[i%len(v.hosts)])
		if d != nil {
			v.disks = append(v.disks, d)
		}
		if err != nil {
			return err
		}
	}
	if err := v.combine(ctx); err != nil {
		return err
	}
	if err := v.mountFirst(ctx); err != nil {
		return err
	}
	if err := v.prepareRoot(); err != nil {
		return err
	}
	s, err := spaceOf(v.path)
	if err != nil {
		return err
	}
	v.own = s.used
	return v.fillBallast()
}

// makeDir makes the mount point.
func (v *blocks) makeDir() error {
	id, err := v.m.makeDir(kindParent, v.path, 0o755)
	if id != 0 {
		v.made = append(v.made, made{id, func(context.Context) error { return os.Remove(v.path) }})
	}
	return err
}

// combine makes the array. If the array is a device, it is in the journal.
func (v *blocks) combine(ctx context.Context) error {
	kind := map[string]string{MD: kindMD, LVM: kindLVM}[v.m.scheme.backend]
	if kind == "" {
		return v.array.format(ctx, v.Devices())
	}
	details := map[string]string{"devices": joinDevices(v.Devices()), "tools": v.m.o.Tools}
	id, err := v.m.o.Journal.Add(kind, marker(v.m.o.Lab)+"-"+v.name, details)
	if err != nil {
		return err
	}
	v.made = append(v.made, made{id, v.array.release})
	v.arrayEntry = id
	return v.array.format(ctx, v.Devices())
}

// mountFirst mounts the new filesystem, with an entry in the journal.
func (v *blocks) mountFirst(ctx context.Context) error {
	id, err := v.m.o.Journal.Add(kindMount, v.path,
		map[string]string{"below": v.m.base, "top": v.array.top(v.Devices())})
	if err != nil {
		return err
	}
	v.made = append(v.made, made{id, v.unmount})
	return v.mountWith(v.Devices(), false)
}

func (v *blocks) mountWith(answering []string, degraded bool) error {
	top := v.array.top(answering)
	err := unix.Mount(top, v.path, v.m.scheme.filesystem, unix.MS_NOATIME, v.array.options(answering, degraded))
	if err != nil {
		return fmt.Errorf("cannot mount %s (%s) at %s: %w. See the kernel's log (dmesg)",
			top, v.m.scheme.filesystem, v.path, err)
	}
	return nil
}

// prepareRoot prepares the root directory of a new filesystem for a server: empty, readable for every user, and without
// checksums if the policy says so.
func (v *blocks) prepareRoot() error {
	if err := os.Remove(filepath.Join(v.path, "lost+found")); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	if err := os.Chmod(v.path, 0o755); err != nil {
		return err
	}
	if s := v.m.scheme; s.filesystem == "btrfs" && s.checksum == "none" {
		return writeInPlace(v.path)
	}
	return nil
}

func (v *blocks) unmount(ctx context.Context) error {
	v.mu.Lock()
	v.dropBallast()
	v.mu.Unlock()
	return unmount(ctx, v.path, func(m mountinfo.Mount) error { return ourMount(m, v.m.base, v.array.top(v.Devices())) })
}

// ourMount returns an error if a mount is not on the disks of the lab.
func ourMount(m mountinfo.Mount, base, top string) error {
	file := backingFile(m.Source)
	if m.Source == top && file == "" || within(file, base) {
		return nil
	}
	return fmt.Errorf("%s is mounted at %s, but not by this lab. Unmount it by hand", m.Source, m.Point)
}

func (v *blocks) Name() string { return v.name }

func (v *blocks) Dir() string { return v.path }

func (v *blocks) Devices() []string {
	v.mu.Lock()
	defer v.mu.Unlock()
	var out []string
	for _, d := range v.disks {
		if d.device != "" {
			out = append(out, d.device)
		}
	}
	return out
}

func (v *blocks) growth() int64 {
	v.mu.Lock()
	defer v.mu.Unlock()
	var sum int64
	for _, d := range v.disks {
		sum += d.growth(v.m.o.Layout.DiskSize)
	}
	return sum
}

func (v *blocks) Remount(ctx context.Context) error {
	v.repair.Lock()
	defer v.repair.Unlock()
	if err := v.unmount(ctx); err != nil {
		return err
	}
	if at, err := mountsAt(v.path); err != nil || len(at) > 0 {
		return errors.Join(fmt.Errorf("%s is still mounted", v.path), err)
	}
	if err := v.array.release(ctx); err != nil {
		return fmt.Errorf("cannot stop the array of volume %s: %w", v.name, err)
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	var answering []string
	for _, d := range v.disks {
		if d.device == "" { // an earlier remount failed for it
			d.shut = false
		} else if err := awaitRelease(ctx, d.device); err != nil {
			return fmt.Errorf("volume %s is unmounted: %w", v.name, err)
		}
		forgetBtrfs(d.device)
		if !d.answers() {
			continue
		}
		if err := d.restart(ctx); err != nil {
			return fmt.Errorf("volume %s is unmounted, and disk %s cannot be restarted: %w", v.name, d.name, err)
		}
		answering = append(answering, d.device)
	}
	if len(answering) == 0 {
		return fmt.Errorf("volume %s is unmounted because none of its disks answers. "+
			"Revert the faults of the disks or power on their host; the lab then mounts it again", v.name)
	}
	if err := v.array.assemble(ctx, answering); err != nil {
		return fmt.Errorf("volume %s is unmounted and cannot be remounted: %w", v.name, err)
	}
	degraded := len(answering) < len(v.disks)
	if err := v.mountWith(answering, degraded); err != nil {
		return err
	}
	for _, d := range v.disks {
		d.absent = !d.answers()
		d.missing = d.missing || d.absent
		d.behind = d.behind && len(v.disks) > 1 // a single disk has no other copy
	}
	v.degraded = v.degraded || degraded
	return v.fillBallast()
}

func (v *blocks) Close(ctx context.Context) error {
	v.repair.Lock()
	defer v.repair.Unlock()
	if v.closed {
		return nil
	}
	v.clearFaults(ctx)
	fail := func(err error) error { return fmt.Errorf("cannot remove volume %s: %w", v.name, err) }
	undo := func(first int) error {
		for len(v.made) > first {
			last := v.made[len(v.made)-1]
			if err := last.undo(ctx); err != nil {
				return fail(err)
			}
			if err := v.m.o.Journal.Gone(last.id); err != nil {
				return fail(err)
			}
			v.made = v.made[:len(v.made)-1]
		}
		return nil
	}
	if err := undo(1); err != nil { // all but the directory, which stays until the disks are removed
		return err
	}
	if err := v.removeDisks(ctx); err != nil {
		return fail(err)
	}
	if err := undo(0); err != nil {
		return err
	}
	v.closed = true
	v.m.forget(v.name)
	return nil
}

func (v *blocks) removeDisks(ctx context.Context) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, d := range slices.Backward(v.disks) {
		if err := d.remove(ctx); err != nil {
			return err
		}
	}
	return nil
}

// clearFaults clears the faults of disks, so that no process waits for them for ever.
func (v *blocks) clearFaults(ctx context.Context) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, d := range v.disks {
		if d.server != nil { // requests to an ended server fail anyway
			_ = d.server.client.Clear(ctx, filepath.Base(d.file))
			d.shut = false
		}
	}
}

func (v *blocks) Describe(ctx context.Context, deep bool) record.LabVolume {
	out := record.LabVolume{Name: v.name, Member: v.member, Policy: v.m.o.Policy.Policy(), Layout: v.m.o.Layout,
		Mount: v.path}
	var e examined
	if deep {
		var err error
		if e, err = v.array.examine(ctx, v.path); err != nil {
			e.detail = err.Error()
		}
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, d := range v.disks {
		out.Disks = append(out.Disks, record.LabDisk{Name: d.name, Host: d.host, File: d.file, Device: d.device,
			State: d.state(), Errors: e.errors[d.device]})
	}
	out.Health, out.Detail = v.health(e)
	if s, err := spaceOf(v.path); err == nil && out.Health != "failed" {
		out.Used = v.used(s)
		out.Capacity = out.Used + s.free
	}
	return out
}
