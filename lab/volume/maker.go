package volume

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"sync"

	"github.com/plimsoll-bench/plimsoll/lab/journal"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/spec"
)

// MakerOptions are what a [Maker] works with.
type MakerOptions struct {
	// Lab is the name of the lab, which marks everything that is made.
	Lab string
	// Dir is the lab's directory, an absolute path. Volumes are mounted in Dir/volumes; disks are kept in Dir/disks
	// unless the policy names another place.
	Dir string
	// Home is the directory of plimsoll.
	Home string
	// Journal is where everything is written down before it is made.
	Journal *journal.Journal
	// Policy is what was asked for, and Layout what [Plan] made of it.
	Policy spec.Storage
	Layout record.LabLayout
	// Faultfs is the command that serves disks that can fail: plimsoll's own path and "faultfs". It is needed for
	// policies with a device class, a cache or faults only.
	Faultfs []string
	// Tools is a directory with the programs to use instead of the system's, for tests.
	Tools string
	// Progress is told what is being done; it may be nil.
	Progress func(string)
}

// Maker makes the volumes of one lab, all by the same policy, and takes the disks of hosts away from them. Its methods
// may be called from several goroutines.
type Maker struct {
	o      MakerOptions
	scheme scheme
	base   string // of disks and directories

	making sync.Mutex // one volume is made at a time, so that free space is counted once
	mu     sync.Mutex
	made   map[string]kept
	order  []string
	groups map[string]*group
	// parents are the directories above disks and mounts, with their ids in the journal.
	parents []parent
}

// parent is a directory that holds what several volumes share.
type parent struct {
	path string
	id   int
}

// kept is a volume as its maker sees it.
type kept interface {
	Volume
	// power takes the disks of a host away or gives them back.
	power(ctx context.Context, host string, on bool) error
	// promised is how much the disks may still grow, in bytes.
	promised() int64
	// devicesOf are the block devices of a host's disk group.
	devicesOf(host string) []string
}

// group is the disk group of a host.
type group struct {
	host   string
	off    bool
	server *server // of its disks, once one was needed
}

var goodName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]*$`)

// NewMaker prepares to make volumes. Nothing is made yet.
func NewMaker(o MakerOptions) (*Maker, error) {
	if !goodName.MatchString(o.Lab) {
		return nil, fmt.Errorf("storage: %q cannot be the name of a lab: use letters, digits, dots, dashes and underscores", o.Lab)
	}
	if !filepath.IsAbs(o.Dir) || o.Journal == nil {
		return nil, errors.New("storage: a maker of volumes needs the lab's directory as an absolute path, and its journal")
	}
	if o.Progress == nil {
		o.Progress = func(string) {}
	}
	backend := o.Layout.Backend
	if backend == "" {
		return nil, errors.New("storage: plan the layout of the volumes before they are made")
	}
	f := Facts{XFS: Support{Kernel: true, Tools: true}} // the layout already says which filesystem it is
	p := o.Policy
	if p.Filesystem == "" && backend != Directory {
		p.Filesystem = o.Layout.Filesystem
	}
	s, err := schemeFor(backend, p, f)
	if err != nil {
		return nil, err
	}
	s.policy = o.Policy
	m := &Maker{o: o, scheme: s, base: o.Dir, made: map[string]kept{}, groups: map[string]*group{}}
	if o.Policy.Dir != "" {
		if m.base, err = filepath.Abs(o.Policy.Dir); err != nil {
			return nil, err
		}
		m.base = filepath.Join(m.base, marker(o.Lab))
	}
	if usesFaultfs(o.Policy) && len(o.Faultfs) == 0 {
		return nil, errors.New("storage: disks with a device class, a cache or faults need the program that serves them (plimsoll faultfs)")
	}
	return m, nil
}

// marker is part of the name of everything that belongs to a lab.
func marker(lab string) string { return "plimsoll-" + lab }

// Make makes the volume of a member, whose disks are spread over the disk groups of hosts in turn, the first of them
// being the member's own. What it made before it failed is removed.
func (m *Maker) Make(ctx context.Context, name, member string, groups []string) (Volume, error) {
	if !goodName.MatchString(name) {
		return nil, fmt.Errorf("storage: %q cannot be the name of a volume", name)
	}
	if len(groups) == 0 {
		return nil, fmt.Errorf("storage: volume %s has no host whose disks it could use", name)
	}
	m.making.Lock()
	defer m.making.Unlock()
	if err := m.prepare(); err != nil {
		return nil, err
	}
	if err := m.reserve(name, groups); err != nil {
		return nil, err
	}
	m.o.Progress(fmt.Sprintf("making volume %s (%s)", name, orElse(m.o.Layout.Profile, m.scheme.backend)))
	v, err := m.build(ctx, name, member, groups)
	if err != nil {
		m.forget(name)
		return nil, fmt.Errorf("cannot make volume %s: %w", name, err)
	}
	m.mu.Lock()
	m.made[name] = v
	m.mu.Unlock()
	for _, host := range groups { // one may have lost power meanwhile
		if m.isOff(host) {
			err = errors.Join(err, v.power(ctx, host, false))
		}
	}
	return v, err
}

// reserve takes a name and makes the disk groups known.
func (m *Maker) reserve(name string, groups []string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, taken := m.made[name]; taken {
		return fmt.Errorf("storage: there is a volume %s already", name)
	}
	for _, host := range groups {
		g := m.groups[host]
		if g == nil {
			m.groups[host] = &group{host: host}
		} else if g.off {
			return fmt.Errorf("storage: volume %s cannot be made on the disks of %s, which has no power", name, host)
		}
	}
	m.made[name] = nil
	m.order = append(m.order, name)
	return nil
}

func (m *Maker) build(ctx context.Context, name, member string, groups []string) (kept, error) {
	if m.scheme.backend == Directory {
		return m.makeDirectory(name, member, groups[0])
	}
	return m.makeDisks(ctx, name, member, groups)
}

// all are the volumes in the order in which they were made.
func (m *Maker) all() []kept {
	m.mu.Lock()
	defer m.mu.Unlock()
	var out []kept
	for _, name := range m.order {
		if v := m.made[name]; v != nil {
			out = append(out, v)
		}
	}
	return out
}

// Volumes are those that were made and not closed, in order.
func (m *Maker) Volumes() []Volume {
	var out []Volume
	for _, v := range m.all() {
		out = append(out, v)
	}
	return out
}

// Devices are the block devices in the disk group of a host, for limits on its I/O.
func (m *Maker) Devices(host string) []string {
	var out []string
	for _, v := range m.all() {
		out = append(out, v.devicesOf(host)...)
	}
	return out
}

// HostOff takes the power of a host's disks away: those of every volume stop answering. HostOn gives it back; what the
// disks missed is brought to them by [Volume.Repair].
func (m *Maker) HostOff(ctx context.Context, host string) error { return m.power(ctx, host, false) }

// HostOn undoes [Maker.HostOff].
func (m *Maker) HostOn(ctx context.Context, host string) error { return m.power(ctx, host, true) }

func (m *Maker) power(ctx context.Context, host string, on bool) error {
	m.mu.Lock()
	g := m.groups[host]
	if g != nil {
		g.off = !on
	}
	m.mu.Unlock()
	if g == nil { // a host without disks
		return nil
	}
	var all error
	for _, v := range m.all() {
		all = errors.Join(all, v.power(ctx, host, on))
	}
	return all
}

// isOff says whether the disks of a host have no power.
func (m *Maker) isOff(host string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	g := m.groups[host]
	return g != nil && g.off
}

// forget drops a volume that was closed.
func (m *Maker) forget(name string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.made, name)
	m.order = slices.DeleteFunc(m.order, func(n string) bool { return n == name })
}

// Close removes all volumes with their data, the last made first.
func (m *Maker) Close(ctx context.Context) error {
	var all error
	for _, v := range slices.Backward(m.all()) {
		all = errors.Join(all, v.Close(ctx))
	}
	if all != nil { // what is left stands in the directories
		return all
	}
	m.making.Lock()
	defer m.making.Unlock()
	if err := m.closeGroups(ctx); err != nil {
		return err
	}
	for _, p := range slices.Backward(m.parents) {
		if err := os.Remove(p.path); err != nil {
			return fmt.Errorf("cannot remove the directory of the volumes: %w", err)
		}
		if err := m.o.Journal.Gone(p.id); err != nil {
			return err
		}
	}
	m.parents = nil
	return nil
}

// prepare makes the directories that volumes share, once.
func (m *Maker) prepare() error {
	paths := []string{filepath.Join(m.base, "volumes")}
	if m.base != m.o.Dir {
		paths = []string{m.base, filepath.Join(m.base, "volumes")}
		if m.scheme.backend != Directory { // mounts are in the lab's own directory
			paths = []string{m.base, filepath.Join(m.o.Dir, "volumes")}
		}
	}
	if m.scheme.backend != Directory {
		paths = append(paths, filepath.Join(m.base, "disks"))
	}
	for _, path := range paths {
		if m.isPrepared(path) {
			continue
		}
		id, err := m.makeDir(kindParent, path, 0o711)
		if err != nil {
			return fmt.Errorf("cannot make the directory of the volumes: %w", err)
		}
		m.parents = append(m.parents, parent{path, id})
	}
	return nil
}

// isPrepared says whether a shared directory is there: made by this maker, or empty in the lab's own directory.
func (m *Maker) isPrepared(path string) bool {
	if slices.ContainsFunc(m.parents, func(p parent) bool { return p.path == path }) {
		return true
	}
	entries, err := os.ReadDir(path)
	return err == nil && len(m.order) == 0 && len(entries) == 0 && filepath.Dir(path) == m.o.Dir
}

// makeDir makes a directory that is written down first. One that is there already is not ours.
func (m *Maker) makeDir(kind, path string, mode os.FileMode) (id int, err error) {
	if _, err := os.Lstat(path); err == nil {
		return 0, fmt.Errorf("%s is there already, and this lab did not make it: remove it, or give the lab another name", path)
	}
	if _, err := os.Stat(filepath.Dir(path)); err != nil {
		return 0, fmt.Errorf("make the directory first: %w", err)
	}
	if id, err = m.o.Journal.Add(kind, path, nil); err != nil {
		return 0, err
	}
	if err := os.Mkdir(path, mode); err != nil {
		return 0, err
	}
	return id, os.Chmod(path, mode) // whatever the umask is
}
