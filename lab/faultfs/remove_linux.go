package faultfs

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
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

// dead says whether the program of a mount has ended.
func dead(mount string) bool {
	var st unix.Stat_t
	err := unix.Lstat(mount, &st)
	return errors.Is(err, unix.ENOTCONN) || errors.Is(err, unix.ECONNABORTED)
}

// mountedType returns the type of the topmost filesystem at a directory. It does not access the directory, which may be
// dead.
func mountedType(dir string) (type_ string, mounted bool, err error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return "", false, err
	}
	if parent, err := filepath.EvalSymlinks(filepath.Dir(abs)); err == nil {
		abs = filepath.Join(parent, filepath.Base(abs))
	} else if errors.Is(err, fs.ErrNotExist) {
		return "", false, nil
	}
	text, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return "", false, err
	}
	for line := range strings.Lines(string(text)) {
		if at, t, ok := parseMount(line); ok && at == abs {
			type_, mounted = t, true // later mounts are above earlier ones
		}
	}
	return type_, mounted, nil
}

// parseMount reads the mount point and the type from a line of mountinfo.
func parseMount(line string) (at, type_ string, ok bool) {
	before, after, found := strings.Cut(line, " - ")
	fields, rest := strings.Fields(before), strings.Fields(after)
	if !found || len(fields) < 5 || len(rest) < 1 {
		return "", "", false
	}
	return unescape(fields[4]), rest[0], true
}

// unescape replaces the octal escapes of mountinfo.
func unescape(s string) string {
	return strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`).Replace(s)
}
