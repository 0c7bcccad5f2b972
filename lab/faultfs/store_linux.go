package faultfs

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// The files of a disk in the data directory.
const (
	contentSuffix = ".disk"
	configSuffix  = ".json"
)

// load loads the disks of an earlier process.
func (t *tree) load() error {
	entries, err := os.ReadDir(t.data)
	if err != nil {
		return err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, e := range entries {
		name, ok := strings.CutSuffix(e.Name(), contentSuffix)
		if !ok || checkName(name) != nil {
			continue
		}
		d, err := t.open(name)
		if err != nil {
			return fmt.Errorf("cannot load disk %s: %w", name, err)
		}
		t.add(d)
	}
	return nil
}

func (t *tree) path(name, suffix string) string { return filepath.Join(t.data, name+suffix) }

func (t *tree) open(name string) (*disk, error) {
	text, err := os.ReadFile(t.path(name, configSuffix))
	if err != nil {
		return nil, err
	}
	var c config
	if err := json.Unmarshal(text, &c); err != nil {
		return nil, fmt.Errorf("%s: %w", t.path(name, configSuffix), err)
	}
	if err := checkDevice(c.Device, c.Cache); err != nil {
		return nil, fmt.Errorf("%s: %w", t.path(name, configSuffix), err)
	}
	return openDisk(t.path(name, contentSuffix), name, c)
}

// create makes a disk. It writes the configuration first, because only a content file makes a disk after a crash.
func (t *tree) create(name string, size int64, c config) error {
	if err := errors.Join(checkName(name), checkSize(size), checkDevice(c.Device, c.Cache)); err != nil {
		return err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.byName[name] != nil {
		return fmt.Errorf("there is a disk %s already. Remove it, or choose another name", name)
	}
	text, err := json.Marshal(c)
	if err != nil {
		return err
	}
	if err := os.WriteFile(t.path(name, configSuffix), append(text, '\n'), 0o600); err != nil {
		return fmt.Errorf("cannot create disk %s: %w", name, err)
	}
	if err := makeSparse(t.path(name, contentSuffix), size); err != nil {
		return errors.Join(fmt.Errorf("cannot create disk %s: %w", name, err), t.unlink(name))
	}
	d, err := openDisk(t.path(name, contentSuffix), name, c)
	if err != nil {
		return errors.Join(fmt.Errorf("cannot create disk %s: %w", name, err), t.unlink(name))
	}
	t.add(d)
	return nil
}

// makeSparse makes a sparse file.
func makeSparse(path string, size int64) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	return errors.Join(f.Truncate(size), f.Close())
}

func (t *tree) unlink(name string) error {
	var all error
	for _, suffix := range []string{contentSuffix, configSuffix} {
		if err := os.Remove(t.path(name, suffix)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			all = errors.Join(all, err)
		}
	}
	return all
}

// removeTimeout is how long a removal waits until the disk is closed. The kernel reports that a little late.
const removeTimeout = 5 * time.Second

// remove deletes a disk that no process has open.
func (t *tree) remove(name string) error {
	if err := checkName(name); err != nil {
		return err
	}
	for deadline := time.Now().Add(removeTimeout); ; time.Sleep(5 * time.Millisecond) {
		used, err := t.removeUnused(name)
		if !used || time.Now().After(deadline) {
			return err
		}
	}
}

func (t *tree) removeUnused(name string) (used bool, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	d := t.byName[name]
	if d == nil {
		return false, nil
	}
	if d.opens.Load() > 0 {
		return true, fmt.Errorf("disk %s is in use. Detach its loop device first (see losetup -l)", name)
	}
	delete(t.byName, name)
	delete(t.byNode, d.node)
	return false, errors.Join(d.close(), t.unlink(name))
}

// disks returns one disk by its name, or all disks, ordered by name, if the name is "".
func (t *tree) disks(name string) ([]*disk, error) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	if name != "" {
		if d := t.byName[name]; d != nil {
			return []*disk{d}, nil
		}
		return nil, fmt.Errorf("there is no disk %q", name)
	}
	return slices.SortedFunc(maps.Values(t.byName), func(a, b *disk) int { return strings.Compare(a.name, b.name) }), nil
}

// cut cuts the power of disks at the same moment: no disk accepts a write after another one has discarded its own.
func (t *tree) cut(name string, p PowerCut) error {
	if err := p.Check(); err != nil {
		return err
	}
	ds, err := t.disks(name)
	if err != nil {
		return err
	}
	for _, d := range ds { // so that waiting requests fail at once
		if !d.faults.active(Dead) {
			d.faults.set(Fault{Kind: Dead})
		}
	}
	for _, d := range ds {
		d.epoch.Lock()
		defer d.epoch.Unlock()
	}
	var all error
	for _, d := range ds {
		all = errors.Join(all, d.cut(p))
	}
	return all
}
