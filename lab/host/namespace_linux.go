package host

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/plimsoll-bench/plimsoll/lab/journal"
	"github.com/plimsoll-bench/plimsoll/lab/process"
)

// The kinds of namespaces in the journal: a network namespace, and the directory of all of them if it was made a mount
// point for them.
const (
	kindNamespace  = "namespace"
	kindNamespaces = "namespace-directory"
)

// namespaceDir is where network namespaces have names, as `ip netns` has them.
const namespaceDir = "/run/netns"

// namespace is a named network namespace.
type namespace struct {
	path    string
	file    *os.File // keeps it open, for what is done in it
	journal *journal.Journal
	id      int
}

// makeNamespace makes a network namespace with nothing in it but loopback.
func makeNamespace(j *journal.Journal, name string) (*namespace, error) {
	if err := prepareNamespaces(j); err != nil {
		return nil, fmt.Errorf("cannot prepare %s: %w", namespaceDir, err)
	}
	n := &namespace{path: filepath.Join(namespaceDir, name), journal: j}
	var err error
	if n.id, err = j.Add(kindNamespace, n.path, nil); err != nil {
		return nil, err
	}
	err = os.WriteFile(n.path, nil, 0o444)
	if err == nil {
		process.OnThread(func() { err = nameNewNamespace(n.path) })
	}
	if err == nil {
		n.file, err = os.Open(n.path)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("cannot make the network namespace %s: %w", name, err), n.remove())
	}
	return n, nil
}

// nameNewNamespace makes a namespace for the calling thread and gives it a name, under which it stays.
func nameNewNamespace(path string) error {
	if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
		return err
	}
	if err := unix.Mount("/proc/thread-self/ns/net", path, "", unix.MS_BIND, ""); err != nil {
		return err
	}
	// Hosts speak IPv4. Without this the kernel sends neighbour discovery through the links, and counts it.
	err := os.WriteFile("/proc/sys/net/ipv6/conf/default/disable_ipv6", []byte("1"), 0)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	lo, err := netlink.LinkByName("lo")
	if err != nil {
		return err
	}
	return netlink.LinkSetUp(lo)
}

// do calls f on a thread in the namespace.
func (n *namespace) do(f func() error) error {
	var err error
	process.OnThread(func() {
		if err = unix.Setns(int(n.file.Fd()), unix.CLONE_NEWNET); err == nil {
			err = f()
		}
	})
	return err
}

// remove takes the name away, with which the namespace ends unless a process is left in it.
func (n *namespace) remove() error {
	if n.file != nil {
		_ = n.file.Close() // it was only read
		n.file = nil
	}
	if err := removeNamespace(context.Background(), journal.Resource{Name: n.path}); err != nil {
		return err
	}
	return n.journal.Gone(n.id)
}

// removeNamespace removes a named network namespace. The random part of its name makes sure that it is the one.
func removeNamespace(_ context.Context, r journal.Resource) error {
	if filepath.Dir(r.Name) != namespaceDir || !strings.HasPrefix(filepath.Base(r.Name), groupPrefix) {
		return fmt.Errorf("%s is no namespace of a lab", r.Name)
	}
	for {
		err := unix.Unmount(r.Name, unix.UMOUNT_NOFOLLOW)
		if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOENT) { // not mounted, or no longer
			break
		}
		if err != nil {
			return fmt.Errorf("cannot unmount it: %w", err)
		}
	}
	if err := os.Remove(r.Name); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// prepareNamespaces makes the directory of namespaces a mount point that is shared with other mount namespaces, as
// `ip netns` does and expects.
func prepareNamespaces(j *journal.Journal) error {
	if err := os.MkdirAll(namespaceDir, 0o755); err != nil {
		return err
	}
	unlock, err := lockNamespaces()
	if err != nil {
		return err
	}
	defer unlock()
	if isMountPoint(namespaceDir) {
		return nil
	}
	if _, err := j.Add(kindNamespaces, namespaceDir, nil); err != nil {
		return err
	}
	if err := unix.Mount(namespaceDir, namespaceDir, "", unix.MS_BIND|unix.MS_REC, ""); err != nil {
		return err
	}
	return unix.Mount("", namespaceDir, "", unix.MS_SHARED|unix.MS_REC, "")
}

// removeNamespaces unmounts the directory of namespaces if nobody has a namespace in it.
func removeNamespaces(_ context.Context, _ journal.Resource) error {
	unlock, err := lockNamespaces()
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer unlock()
	entries, err := os.ReadDir(namespaceDir)
	if err != nil || len(entries) > 0 || !isMountPoint(namespaceDir) {
		return err
	}
	// If another process came to use it meanwhile it stays as it is, which harms nobody.
	if err := unix.Unmount(namespaceDir, unix.UMOUNT_NOFOLLOW); err != nil && !errors.Is(err, unix.EBUSY) {
		return err
	}
	return nil
}

// lockNamespaces keeps other labs and `ip netns` from mounting at the same moment.
func lockNamespaces() (unlock func(), err error) {
	dir, err := os.Open(namespaceDir)
	if err != nil {
		return nil, err
	}
	if err := unix.Flock(int(dir.Fd()), unix.LOCK_EX); err != nil {
		dir.Close()
		return nil, err
	}
	return func() { dir.Close() }, nil
}

// isMountPoint says whether something is mounted at a path.
func isMountPoint(path string) bool {
	text, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return false
	}
	return slices.ContainsFunc(strings.Split(string(text), "\n"), func(line string) bool {
		fields := strings.Fields(line)
		return len(fields) > 4 && fields[4] == path
	})
}
