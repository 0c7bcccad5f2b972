//go:build unix

package safeopen

import "syscall"

// nonblock opens a pipe that nobody writes to without waiting.
const nonblock = syscall.O_NONBLOCK

// NoLink is a flag for [os.OpenFile]: it opens neither a link nor waits for a pipe.
const NoLink = syscall.O_NOFOLLOW | syscall.O_NONBLOCK
