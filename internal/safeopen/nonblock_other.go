//go:build !unix

package safeopen

const (
	modesTell = false
	nonblock  = 0
	// NoLink is a flag for [os.OpenFile] on systems with links and pipes.
	NoLink = 0
)
