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

// Serve serves virtual disks until the context ends, or the mount point is unmounted by somebody else. Then all faults are
// cleared, so that nothing above hangs, and the disks are unmounted; those who have one open have ten seconds to
// close it.
//
// It takes over the process: its memory is locked and it is the last one to be ended when memory is short, because
// the kernel may need one of its disks to free memory. The process must not use the mount itself.
func Serve(ctx context.Context, o Options) error {
	if err := o.check(); err != nil {
		return err
	}
	if err := able(os.Geteuid(), fuseDevice); err != nil {
		return err
	}
	if o.Log == nil {
		o.Log = log.New(io.Discard, "", 0)
	}
	harden(o.Log, o.Restart) // before anything is made: it may begin the program anew
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
		return fmt.Errorf("cannot mount at %s: %w; in a container, mounting needs the capability SYS_ADMIN", o.Mount, err)
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

// fuseDevice is where a FUSE server meets the kernel.
const fuseDevice = "/dev/fuse"

// able says why a process of this user cannot serve disks here, before anything is made.
func able(uid int, device string) error {
	if uid != 0 {
		return errors.New("disks that can fail are mounted, which needs root: call it as root")
	}
	f, err := os.OpenFile(device, os.O_RDWR, 0)
	if err != nil {
		return fmt.Errorf("disks that can fail need FUSE: %w; load the kernel's module with 'modprobe fuse', or let the container have that device (no package is needed)", err)
	}
	return f.Close()
}

// serveUntil waits for the end and brings it about.
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
		d.faults.clear(func(a *armed) bool { return a.Kind != Dead }) // a disk without power stays that way to the end
	}
	return unmountServed(o.Mount)
}

// unmountServed unmounts what this process serves.
func unmountServed(mount string) error {
	for deadline := time.Now().Add(unmountTimeout); ; time.Sleep(20 * time.Millisecond) {
		err := unix.Unmount(mount, 0)
		if err == nil || errors.Is(err, unix.EINVAL) { // or somebody else was faster
			return nil // copies of the mount in other namespaces die with this process
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("cannot unmount %s: %w: its disks are in use, and answer with errors from now on; detach what is above them (losetup -l), then `umount -l %s`", mount, err, mount)
		}
	}
}

// prepare makes the directories and takes the data directory for this process alone.
func prepare(o Options) (unlock func(), err error) {
	if dead(o.Mount) {
		return nil, fmt.Errorf("at %s is the mount of a program that was killed; `umount -l %s` removes it", o.Mount, o.Mount)
	}
	if err := errors.Join(os.MkdirAll(o.Data, 0o700), os.MkdirAll(o.Mount, 0o700)); err != nil {
		return nil, fmt.Errorf("cannot make the directories of the disks: %w", err)
	}
	inside, err := os.ReadDir(o.Mount)
	switch {
	case err != nil:
		return nil, err
	case len(inside) > 0:
		return nil, fmt.Errorf("the mount point %s is not empty: mounting would hide %s and what else is there; choose an empty directory", o.Mount, inside[0].Name())
	}
	if type_, mounted, err := mountedType(o.Mount); err != nil {
		return nil, err
	} else if mounted {
		return nil, fmt.Errorf("a filesystem of type %s is mounted at %s already; choose another directory", type_, o.Mount)
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
