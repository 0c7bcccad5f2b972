package faultfs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"path/filepath"
	"time"

	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"
)

// Serve serves virtual disks until ctx ends, or another process unmounts the mount point. Then it clears all faults, so
// that no process hangs, and unmounts the disks. Processes that have a disk open have ten seconds to close it.
//
// Serve changes the process: it locks the memory and protects the process from the OOM killer, because the kernel may
// need a disk to free memory. The process must not use the mount itself.
func Serve(ctx context.Context, o Options) error {
	if err := o.check(); err != nil {
		return err
	}
	if err := checkSupport(os.Geteuid(), fuseDevice); err != nil {
		return err
	}
	if o.Log == nil {
		o.Log = log.New(io.Discard, "", 0)
	}
	harden(o.Log, o.Restart) // first, because it may execute the program again
	unlock, err := prepare(o)
	if err != nil {
		return err
	}
	defer unlock()
	t := newTree(o.Data)
	if err := t.load(); err != nil {
		return err
	}
	server, err := mountTree(t, o.Mount)
	if err != nil {
		return fmt.Errorf("cannot mount at %s: %w. In a container, mounting needs the capability SYS_ADMIN", o.Mount, err)
	}
	go server.Serve()
	l, err := listen(ctx, o.Socket)
	if err != nil {
		return errors.Join(err, unmountServed(o.Mount))
	}
	defer os.Remove(o.Socket)
	defer l.Close()
	go t.control(l)
	if o.Ready != nil {
		o.Ready()
	}
	return t.serveUntil(ctx, server, o)
}

const fuseDevice = "/dev/fuse"

// checkSupport returns an error if a process of this user cannot serve disks on this machine.
func checkSupport(uid int, device string) error {
	if uid != 0 {
		return errors.New("faultfs mounts a filesystem, which needs root. Run it as root")
	}
	f, err := os.OpenFile(device, os.O_RDWR, 0)
	if err != nil {
		return fmt.Errorf("faultfs needs FUSE: %w. Load the kernel module with 'modprobe fuse', "+
			"or give the container the device; no package is needed", err)
	}
	return f.Close()
}

// serveUntil waits until ctx ends or the mount point is unmounted, and unmounts it.
func (t *tree) serveUntil(ctx context.Context, server *fuse.Server, o Options) error {
	gone := make(chan struct{})
	go func() {
		server.Wait()
		close(gone)
	}()
	select {
	case <-gone:
		o.Log.Print("unmounted")
		return nil
	case <-ctx.Done():
	}
	ds, _ := t.disks("")
	for _, d := range ds {
		d.faults.clear(func(a *armed) bool { return a.Kind != Dead }) // a disk without power stays dead
	}
	return unmountServed(o.Mount)
}

func unmountServed(mount string) error {
	for deadline := time.Now().Add(unmountTimeout); ; time.Sleep(20 * time.Millisecond) {
		err := unix.Unmount(mount, 0)
		if err == nil || errors.Is(err, unix.EINVAL) { // EINVAL: another process unmounted it
			return nil // copies of the mount in other namespaces end with this process
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("cannot unmount %s: %w. Its disks are in use, and fail from now on. "+
				"Detach the loop devices on them (losetup -l), then run umount -l %[1]s", mount, err)
		}
	}
}

// prepare makes the directories and locks the data directory.
func prepare(o Options) (unlock func(), err error) {
	if dead(o.Mount) {
		return nil, fmt.Errorf("%s is the mount of a program that was killed. Remove it: umount -l %[1]s", o.Mount)
	}
	if err := errors.Join(os.MkdirAll(o.Data, 0o700), os.MkdirAll(o.Mount, 0o700)); err != nil {
		return nil, fmt.Errorf("cannot create the directories of the disks: %w", err)
	}
	inside, err := os.ReadDir(o.Mount)
	switch {
	case err != nil:
		return nil, err
	case len(inside) > 0:
		return nil, fmt.Errorf("the mount point %s is not empty: the mount would hide %s. Use an empty directory",
			o.Mount, inside[0].Name())
	}
	if type_, mounted, err := mountedType(o.Mount); err != nil {
		return nil, err
	} else if mounted {
		return nil, fmt.Errorf("a filesystem of type %s is mounted at %s already. Use another directory", type_, o.Mount)
	}
	lock, err := os.OpenFile(filepath.Join(o.Data, "lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := unix.Flock(int(lock.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		return nil, errors.Join(fmt.Errorf("another faultfs serves the disks in %s: %w", o.Data, err), lock.Close())
	}
	return func() { lock.Close() }, nil
}
