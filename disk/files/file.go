package files

import (
	"fmt"
	"io"
)

// Modes of files.
const (
	Direct   = "direct"
	Buffered = "buffered"
	Mapped   = "mmap"
)

// NoDirectError is returned if O_DIRECT does not work.
type NoDirectError struct {
	Filesystem string
	Err        error
}

func (e *NoDirectError) Error() string {
	return fmt.Sprintf("this filesystem (%s) does not support O_DIRECT (%v): use the page cache with --mode buffered or --fallback",
		e.Filesystem, e.Err)
}

// Alignment is the alignment of O_DIRECT in bytes.
type Alignment struct {
	Memory, Offset int64
	From           string // "statx", "logical block" or "assumed"
}

// File is one open test file. Its methods are single system calls that block the thread, as those of WiredTiger do;
// they may be used by several threads at once.
type File struct {
	fd   int
	path string
}

// short turns a short read or write into an error.
func short(n, want int, err error) error {
	switch {
	case err != nil:
		return err
	case n < want:
		return io.ErrUnexpectedEOF
	}
	return nil
}
