package host

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/plimsoll-bench/plimsoll/lab/journal"
	"github.com/plimsoll-bench/plimsoll/lab/process"
)

const kindNamespace = "namespace"

// namespaceDir has the files on which network namespaces are mounted. It is not the directory of `ip netns`, because
// the first use of `ip netns` mounts that directory over itself and hides its content.
const namespaceDir = "/run/plimsoll/netns"

// namespace is a named network namespace.
type namespace struct {
	path    string
	file    *os.File // for setns
	journal *journal.Journal
	id      int
}

// makeNamespace makes a network namespace with nothing in it but loopback.
func makeNamespace(j *journal.Journal, name string) (*namespace, error) {
	n := &namespace{path: filepath.Join(namespaceDir, name), journal: j}
	var err error
	if n.id, err = j.Add(kindNamespace, n.path, nil); err != nil {
		return nil, err
	}
	if err = makeFile(n.path); err == nil {
		process.OnThread(func() { err = nameNewNamespace(n.path) })
	}
	if err == nil {
		n.file, err = os.Open(n.path)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("cannot create the network namespace %s: %w", name, err), n.remove())
	}
	return n, nil
}

// makeFile makes an empty file and its directories. It retries, because another process that removes the last file also
// removes the directories.
func makeFile(path string) error {
	for tries := 1; ; tries++ {
		err := os.MkdirAll(filepath.Dir(path), 0o755)
		if err == nil {
			err = os.WriteFile(path, nil, 0o444)
		}
		if !errors.Is(err, fs.ErrNotExist) || tries == 1000 {
			return err
		}
	}
}

// nameNewNamespace makes a namespace for the calling thread and mounts it at a path.
func nameNewNamespace(path string) error {
	if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
		return err
	}
	if err := unix.Mount("/proc/thread-self/ns/net", path, "", unix.MS_BIND, ""); err != nil {
		return err
	}
	// Hosts use IPv4. Otherwise the kernel would send neighbour discovery over the links, and count it.
	if err := disableIPv6("default"); err != nil {
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

// remove unmounts the namespace. It ends then, unless a process is in it.
func (n *namespace) remove() error {
	if n.file != nil {
		_ = n.file.Close()
		n.file = nil
	}
	if err := removeNamespace(context.Background(), journal.Resource{Name: n.path}); err != nil {
		return err
	}
	return n.journal.Gone(n.id)
}

// removeNamespace removes a network namespace. The random part of the name identifies it.
func removeNamespace(_ context.Context, r journal.Resource) error {
	if filepath.Dir(r.Name) != namespaceDir || !strings.HasPrefix(filepath.Base(r.Name), groupPrefix) {
		return fmt.Errorf("%s is not a namespace of a lab", r.Name)
	}
	for {
		// Detached, because a child that another thread is starting has the file open until it is executed.
		err := unix.Unmount(r.Name, unix.UMOUNT_NOFOLLOW|unix.MNT_DETACH)
		if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOENT) { // not mounted, or no longer
			break
		}
		if err != nil {
			return fmt.Errorf("cannot unmount it: %w", err)
		}
	}
	// Removing the file also removes copies of the mount in other mount namespaces, such as those of sandboxes.
	if err := os.Remove(r.Name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if os.Remove(namespaceDir) == nil { // it is empty
		_ = os.Remove(filepath.Dir(namespaceDir)) // if it is empty too
	}
	return nil
}
