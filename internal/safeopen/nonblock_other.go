//go:build !unix

package safeopen

const (
	nonblock = 0
	// NoLink is a flag for [os.OpenFile] where the system has links and pipes among files.
	NoLink = 0
)
