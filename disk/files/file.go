package files

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
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

// whole names the operation and the file of an error, and turns a short read or write into one.
func (f *File) whole(op string, n, want int, err error) error {
	if err == nil && n < want {
		err = io.ErrUnexpectedEOF
	}
	if err == nil {
		return nil
	}
	return &fs.PathError{Op: op, Path: f.path, Err: err}
}

// Map maps the file into memory.
func (f *File) Map(size int64) ([]byte, error) {
	return unix.Mmap(f.fd, 0, int(size), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
}

// Unmap ends a mapping.
func Unmap(b []byte) { _ = unix.Munmap(b) }

// Flush syncs a mapping.
func Flush(b []byte) error { return unix.Msync(b, unix.MS_SYNC) }

func (f *File) Close() error { return unix.Close(f.fd) }

// Buffer returns memory at the start of a page, which the collector does not know. Its pages are touched.
func Buffer(size int) []byte {
	b, err := unix.Mmap(-1, 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		return make([]byte, size) // no address space: the first O_DIRECT fails
	}
	for i := 0; i < size; i += 4096 {
		b[i] = 1
	}
	return b
}

// SyncDir makes the names of files durable.
func (s *Set) SyncDir() error {
	d, err := os.Open(s.dir)
	if err != nil {
		return err
	}
	defer d.Close()
	if err := d.Sync(); err != nil && !errors.Is(err, unix.EINVAL) {
		return err
	}
	return nil
}

// lock locks a file, or fails immediately if another process has locked it. On a filesystem without locks a probe is
// never detected as dead.
func lock(f *os.File) error { return unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) }
