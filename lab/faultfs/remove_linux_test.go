package faultfs

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sys/unix"
)

// Remove unmounts a faultfs, even if its program was killed. It fails if the program lives and a disk is in use. No
// mount is no error. Another filesystem is not unmounted. Loop devices on a dead mount fail until they are detached;
// Remove does not detach them.
func Remove(ctx context.Context, mount string) error {
	for {
		type_, mounted, err := mountedType(mount)
		if err != nil {
			return fmt.Errorf("cannot read the mounts: %w", err)
		}
		if !mounted {
			return nil
		}
		if type_ != FSType {
			return fmt.Errorf("%s is a filesystem of type %s, not a faultfs, and was not unmounted", mount, type_)
		}
		err = unix.Unmount(mount, unix.UMOUNT_NOFOLLOW)
		if errors.Is(err, unix.EBUSY) && dead(mount) {
			err = unix.Unmount(mount, unix.MNT_DETACH|unix.UMOUNT_NOFOLLOW)
		}
		switch {
		case err == nil, errors.Is(err, unix.EINVAL): // there may be another mount below
			continue
		case !errors.Is(err, unix.EBUSY):
			return fmt.Errorf("cannot unmount %s: %w", mount, err)
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("cannot unmount %s: its disks are in use and their program runs: %w. "+
				"Detach the loop devices on them first", mount, context.Cause(ctx))
		case <-time.After(20 * time.Millisecond):
		}
	}
}
