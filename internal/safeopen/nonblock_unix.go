//go:build unix

package safeopen

import (
	"io/fs"
	"os"
	"syscall"
)

// nonblock opens a pipe without waiting for a writer.
const nonblock = syscall.O_NONBLOCK

// NoLink is a flag for [os.OpenFile]: it opens no link and does not wait for a pipe.
const NoLink = syscall.O_NOFOLLOW | syscall.O_NONBLOCK

// private reports whether only this user can read a file.
func private(info fs.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && secretMode(info.Mode(), int(stat.Uid), os.Getuid())
}
