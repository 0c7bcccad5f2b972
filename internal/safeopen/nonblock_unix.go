//go:build unix

package safeopen

import "syscall"

// modesTell is whether the mode of a file says who can read it.
const modesTell = true

// nonblock opens a pipe without waiting for a writer.
const nonblock = syscall.O_NONBLOCK

// NoLink is a flag for [os.OpenFile]: it opens no link and does not wait for a pipe.
const NoLink = syscall.O_NOFOLLOW | syscall.O_NONBLOCK
