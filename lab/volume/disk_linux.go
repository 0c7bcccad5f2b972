package volume

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/plimsoll-bench/plimsoll/lab/journal"
)

// disk is one virtual disk: a file behind a loop device.
type disk struct {
	name, host string
	file       string
	backing    backing
	device     string
	server     *server // of the fault filesystem; nil for a plain disk
	journal    *journal.Journal
	fileEntry  int
	loopEntry  int

	// failed: it has a fault that makes it fail. off: its host has no power. shut: requests to the device fail.
	failed, off, shut bool
	// behind: it did not answer for a while and may have missed writes. missing: the array runs without it until it is
	// replaced. absent: the filesystem was mounted without it. rebuilding: it is being replaced.
	behind, missing, absent, rebuilding bool
}

// answers says whether requests to the disk shall succeed.
func (d *disk) answers() bool { return !d.failed && !d.off && !d.missing }

func (d *disk) state() string {
	switch {
	case d.rebuilding:
		return "rebuilding"
	case d.failed || d.off:
		return "failed"
	case d.missing:
		return "missing"
	}
	return "ok"
}

// newDisk makes a disk in the disk group of a host. If it returns a disk and an error, the disk must be removed.
func (v *blocks) newDisk(ctx context.Context, name, host string) (*disk, error) {
	v.serial++
	file := fmt.Sprintf("%s-%s", v.name, name)
	if v.serial > v.m.o.Layout.Disks {
		file += fmt.Sprintf("-%d", v.serial) // it replaces another disk
	}
	d := &disk{name: name, host: host, journal: v.m.o.Journal}
	if err := v.m.makeFile(ctx, d, file+".img"); err != nil {
		return d, fmt.Errorf("cannot create disk %s: %w", name, err)
	}
	if err := d.attach(ctx, v); err != nil {
		return d, fmt.Errorf("cannot create disk %s: %w", name, err)
	}
	return d, nil
}

// makeFile makes the file of a disk: sparse, or served by the fault filesystem.
func (m *Maker) makeFile(ctx context.Context, d *disk, name string) error {
	if UsesFaultfs(m.o.Policy) {
		return m.serveFile(ctx, d, name)
	}
	path := filepath.Join(m.base, "disks", name)
	if _, err := os.Lstat(path); err == nil {
		return fmt.Errorf("%s exists already, but is not of this lab. Remove it", path)
	}
	id, err := m.o.Journal.Add(kindFile, path, nil)
	if err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return errors.Join(err, m.o.Journal.Gone(id))
	}
	defer f.Close()
	d.file, d.fileEntry = path, id
	if err := f.Truncate(m.scheme.nominalSize()); err != nil {
		return err
	}
	return d.identify(id)
}

// identify notes the identity of the file in the journal, so that a later file of the same name is not removed.
func (d *disk) identify(id int) error {
	fi, err := os.Lstat(d.file)
	if err != nil {
		return err
	}
	d.backing = backing{path: d.file, id: fileID(fi)}
	return d.journal.Note(id, map[string]string{"file": d.backing.id})
}

// attach makes the loop device.
func (d *disk) attach(ctx context.Context, v *blocks) error {
	d.backing.mark = marker(v.m.o.Lab) + " " + v.name + " " + d.name
	var err error
	details := map[string]string{"file": d.backing.id, "mark": d.backing.mark, "mount": v.path, "below": v.m.base,
		"top": v.array.top([]string{""})}
	if d.server != nil { // the content of the file ends with its server
		details["served"] = "yes"
	}
	d.loopEntry, err = d.journal.Add(kindLoop, d.backing.path, details)
	if err != nil {
		return err
	}
	d.device, err = attachLoop(ctx, d.backing)
	if err != nil {
		d.device = ""
		return err
	}
	return d.journal.Note(d.loopEntry, map[string]string{"device": d.device})
}

// restart attaches a disk of the fault filesystem again, as after a power failure: without anything that the kernel has
// cached of it. Its loop device may have another name then.
func (d *disk) restart(ctx context.Context) error {
	if d.server == nil {
		return nil
	}
	if err := detachLoop(ctx, d.backing); err != nil {
		return err
	}
	d.device = ""
	if err := d.server.client.Restore(ctx, filepath.Base(d.file)); err != nil {
		return err
	}
	var err error
	if d.device, err = attachLoop(ctx, d.backing); err != nil {
		d.device = ""
		return err
	}
	return d.journal.Note(d.loopEntry, map[string]string{"device": d.device})
}

// remove detaches the loop device and removes the file.
func (d *disk) remove(ctx context.Context) error {
	if d.loopEntry != 0 {
		if err := d.reopen(ctx); err != nil { // so that the last writes of the kernel succeed
			return err
		}
		if err := detachLoop(ctx, d.backing); err != nil {
			return err
		}
		if err := d.journal.Gone(d.loopEntry); err != nil {
			return err
		}
		d.loopEntry, d.device = 0, ""
	}
	if d.server != nil {
		if err := d.server.remove(ctx, d); err != nil {
			return err
		}
		d.server = nil
	}
	if d.fileEntry == 0 {
		return nil
	}
	if err := os.Remove(d.file); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	entry := d.fileEntry
	d.fileEntry = 0
	return d.journal.Gone(entry)
}

// reopen makes the disk answer.
func (d *disk) reopen(ctx context.Context) error {
	d.failed, d.off, d.missing = false, false, false
	return d.apply(ctx)
}

// apply makes the device answer or fail, as answers says.
func (d *disk) apply(ctx context.Context) error {
	shut := !d.answers()
	if shut == d.shut || d.device == "" {
		return nil
	}
	var err error
	if d.server != nil {
		err = d.server.power(ctx, d, !shut)
	} else if shut {
		err = limitLoop(d.device, d.backing, shutLimit)
	} else {
		err = limitLoop(d.device, d.backing, 0)
	}
	if err != nil {
		return fmt.Errorf("cannot change disk %s: %w", d.name, err)
	}
	d.shut = shut
	d.behind = d.behind || shut
	return nil
}

// growth is how much the file can still grow, in bytes.
func (d *disk) growth(size int64) int64 {
	var st syscall.Stat_t
	if d.file == "" || syscall.Stat(d.file, &st) != nil {
		return 0
	}
	return max(0, size-st.Blocks*512)
}

// backingFile is the file of a loop device; empty for other devices.
func backingFile(device string) string {
	text := content(filepath.Join("/sys/block", filepath.Base(device), "loop/backing_file"))
	return strings.TrimSuffix(strings.TrimSuffix(text, "\n"), " (deleted)")
}

func within(path, dir string) bool { return path != "" && strings.HasPrefix(path, dir+"/") }

func joinDevices(devices []string) string { return strings.Join(devices, " ") }
