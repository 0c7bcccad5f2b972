package volume

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/plimsoll-bench/plimsoll/internal/expression"
	"github.com/plimsoll-bench/plimsoll/lab/journal"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/spec"
)

// MakerOptions are the options of [NewMaker].
type MakerOptions struct {
	// Lab is the name of the lab, which is part of the names of resources.
	Lab string
	// Dir is the lab's directory, an absolute path. Volumes are mounted in Dir/volumes. Disks are in Dir/disks, unless the
	// policy names another directory.
	Dir     string
	Journal *journal.Journal
	// Layout is the result of [Plan] for Policy.
	Policy spec.Storage
	Layout record.LabLayout
	// Faultfs is the command of the fault filesystem: plimsoll's path and "faultfs". Only policies with a device class, a
	// cache or faults need it.
	Faultfs []string
	// Tools is a directory with the programs to use instead of the system's, for tests.
	Tools string
	// Progress gets a text about each step; may be nil.
	Progress func(string)
}

// Maker makes the volumes of one lab, all by the same policy, and controls the power of their disks. Its methods may be
// called from several goroutines.
type Maker struct {
	o      MakerOptions
	scheme scheme
	base   string // of disks and directories

	making  sync.Mutex // one volume is made at a time, because each checks the free space
	mu      sync.Mutex
	made    map[string]kept
	order   []string
	groups  map[string]*group
	parents []parent
}

// parent is a directory above disks or mounts, with its id in the journal.
type parent struct {
	path string
	id   int
}

// kept is a volume as its maker uses it.
type kept interface {
	Volume
	// power switches the power of a host's disks.
	power(ctx context.Context, host string, on bool) error
	// growth is how much the files of the disks can still grow, in bytes.
	growth() int64
}

// group is the disk group of a host.
type group struct {
	host   string
	off    bool
	server *server // of the fault filesystem; nil until it is needed
}

var goodName = expression.New(`^[A-Za-z0-9][A-Za-z0-9._-]*$`)

// NewMaker returns a maker that has made nothing yet.
func NewMaker(o MakerOptions) (*Maker, error) {
	if !goodName().MatchString(o.Lab) {
		return nil, fmt.Errorf("storage: %q cannot be the name of a lab. Use letters, digits, '.', '-' and '_'", o.Lab)
	}
	if !filepath.IsAbs(o.Dir) || o.Journal == nil {
		return nil, errors.New("storage: volumes need the lab's directory as an absolute path, and its journal")
	}
	if o.Progress == nil {
		o.Progress = func(string) {}
	}
	backend := o.Layout.Backend
	if backend == "" {
		return nil, errors.New("storage: the layout of the volumes is not planned")
	}
	f := Facts{XFS: Support{Kernel: true, Tools: true}} // the layout already has the filesystem
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
	if UsesFaultfs(o.Policy) && len(o.Faultfs) == 0 {
		return nil, errors.New("storage: disks with a device class, a cache or faults need the command of the fault filesystem")
	}
	return m, nil
}

// marker is part of the names of a lab's resources.
func marker(lab string) string { return "plimsoll-" + lab }

// Make makes the volume of a member. Its disks are spread over the disk groups of hosts in turn; the first group is
// that of the member's host. If Make fails, it removes everything.
func (m *Maker) Make(ctx context.Context, name, member string, groups []string) (Volume, error) {
	if !goodName().MatchString(name) {
		return nil, fmt.Errorf("storage: %q cannot be the name of a volume", name)
	}
	if len(groups) == 0 {
		return nil, fmt.Errorf("storage: volume %s has no host for its disks", name)
	}
	m.making.Lock()
	defer m.making.Unlock()
	if err := m.prepare(); err != nil {
		return nil, err
	}
	if err := m.reserve(name, groups); err != nil {
		return nil, err
	}
	m.o.Progress(fmt.Sprintf("creating volume %s (%s)", name, cmp.Or(m.o.Layout.Profile, m.scheme.backend)))
	v, err := m.build(ctx, name, member, groups)
	if err != nil {
		m.forget(name)
		return nil, fmt.Errorf("cannot create volume %s: %w", name, err)
	}
	m.mu.Lock()
	m.made[name] = v
	m.mu.Unlock()
	for _, host := range groups { // a host may have lost power meanwhile
		if m.isOff(host) {
			err = errors.Join(err, v.power(ctx, host, false))
		}
	}
	return v, err
}

// reserve reserves a name and adds the disk groups.
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
			return fmt.Errorf("storage: volume %s cannot be created on the disks of %s, which has no power", name, host)
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

// Power switches the power of a host's disks, in every volume. Disks without power do not answer. After power is back,
// [Volume.Repair] copies the writes that the disks missed.
func (m *Maker) Power(ctx context.Context, host string, on bool) error {
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

func (m *Maker) isOff(host string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	g := m.groups[host]
	return g != nil && g.off
}

func (m *Maker) forget(name string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.made, name)
	m.order = slices.DeleteFunc(m.order, func(n string) bool { return n == name })
}

// Close removes all volumes with their data, the newest first.
func (m *Maker) Close(ctx context.Context) error {
	var all error
	for _, v := range slices.Backward(m.all()) {
		all = errors.Join(all, v.Close(ctx))
	}
	if all != nil { // the directories are not empty
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

// prepare makes the directories that volumes share, unless they exist.
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
			return fmt.Errorf("cannot create the directory of the volumes: %w", err)
		}
		m.parents = append(m.parents, parent{path, id})
	}
	return nil
}

// isPrepared says whether a shared directory exists: made by this maker, or empty in the lab's directory.
func (m *Maker) isPrepared(path string) bool {
	if slices.ContainsFunc(m.parents, func(p parent) bool { return p.path == path }) {
		return true
	}
	entries, err := os.ReadDir(path)
	return err == nil && len(m.order) == 0 && len(entries) == 0 && filepath.Dir(path) == m.o.Dir
}

// makeDir makes a directory that must not exist, with an entry in the journal.
func (m *Maker) makeDir(kind, path string, mode os.FileMode) (id int, err error) {
	if _, err := os.Lstat(path); err == nil {
		return 0, fmt.Errorf("%s exists already, but is not of this lab. Remove it, or choose another name for the lab",
			path)
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
	return id, os.Chmod(path, mode) // independent of the umask
}
