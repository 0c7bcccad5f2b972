package faultfs

import (
	"errors"
	"io/fs"
	"path/filepath"

	"github.com/plimsoll-bench/plimsoll/internal/mountinfo"
	"golang.org/x/sys/unix"
)

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
	mounts, err := mountinfo.Self()
	for _, m := range mounts {
		if m.Point == abs {
			type_, mounted = m.Type, true // later mounts are above earlier ones
		}
	}
	return type_, mounted, err
}
