//go:build !linux

package files

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// errNoLinux is what those calls return that only Linux has.
var errNoLinux = errors.New("this works only on Linux")

// Create opens a test file. O_DIRECT is there on Linux only.
func (s *Set) Create(name string, direct, dsync bool) (*File, error) {
	if direct {
		return nil, errNoLinux
	}
	flags := unix.O_RDWR | unix.O_CREAT | unix.O_CLOEXEC
	if dsync {
		flags |= unix.O_SYNC
	}
	fd, err := unix.Open(s.Path(name), flags, 0o600)
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: s.Path(name), Err: err}
	}
	return &File{fd, s.Path(name)}, nil
}

// ReadAt reads a whole block.
func (f *File) ReadAt(b []byte, offset int64) error {
	n, err := unix.Pread(f.fd, b, offset)
	return short(n, len(b), err)
}

// WriteAt writes a whole block.
func (f *File) WriteAt(b []byte, offset int64) error {
	n, err := unix.Pwrite(f.fd, b, offset)
	return short(n, len(b), err)
}

// Sync makes everything written durable as far as fsync does that here.
func (f *File) Sync() error { return unix.Fsync(f.fd) }

// Reserve sets the length of the file.
func (f *File) Reserve(size int64) (string, error) { return "truncate", unix.Ftruncate(f.fd, size) }

// Forget does nothing here.
func (f *File) Forget(int64, int64) {}

// Random does nothing here.
func (f *File) Random() {}

// Map maps the file into memory.
func (f *File) Map(size int64) ([]byte, error) {
	return unix.Mmap(f.fd, 0, int(size), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
}

// Unmap ends a mapping.
func Unmap(b []byte) { _ = unix.Munmap(b) }

// Flush writes what is dirty in a mapping.
func Flush(b []byte) error { return unix.Msync(b, unix.MS_SYNC) }

// Close closes the file.
func (f *File) Close() error { return unix.Close(f.fd) }

// Align is not known here.
func (f *File) Align(int64) Alignment { return Alignment{4096, 4096, "assumed"} }

// TryDirect fails: there is no O_DIRECT here.
func (s *Set) TryDirect() error { return errNoLinux }

// Buffer returns memory for blocks, which must be unmapped.
func Buffer(size int) []byte {
	b, err := unix.Mmap(-1, 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		return make([]byte, size)
	}
	return b
}

// Room is not known here.
func (s *Set) Room() int64 { return 1 << 62 }

// SyncDir makes the names of files durable.
func (s *Set) SyncDir() error {
	d, err := os.Open(s.dir)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}
