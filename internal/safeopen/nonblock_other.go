//go:build !unix

package safeopen

import "io/fs"

const (
	nonblock = 0
	// NoLink is a flag for [os.OpenFile] on systems with links and pipes.
	NoLink = 0
)

// private is not known from the mode of a file on this system.
func private(fs.FileInfo) bool { return true }
