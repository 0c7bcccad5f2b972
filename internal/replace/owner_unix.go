//go:build unix

package replace

import (
	"io/fs"
	"os"
	"syscall"
)

// noTerminal keeps a terminal that is opened from becoming the one of this process.
const noTerminal = syscall.O_NOCTTY

// keepOwner gives a file the owner and the group of another one.
func keepOwner(f *os.File, of fs.FileInfo) error {
	old, ok := of.Sys().(*syscall.Stat_t)
	now, err := f.Stat()
	if !ok || err != nil {
		return err
	}
	if own, ok := now.Sys().(*syscall.Stat_t); ok && own.Uid == old.Uid && own.Gid == old.Gid {
		return nil
	}
	return f.Chown(int(old.Uid), int(old.Gid))
}
