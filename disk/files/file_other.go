//go:build !linux

package files

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

var errNoLinux = errors.New("this works only on Linux")

// Create opens a test file. O_DIRECT exists only on Linux.
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

func (f *File) ReadAt(b []byte, offset int64) error {
	n, err := unix.Pread(f.fd, b, offset)
	return f.whole("read", n, len(b), err)
}

func (f *File) WriteAt(b []byte, offset int64) error {
	n, err := unix.Pwrite(f.fd, b, offset)
	return f.whole("write", n, len(b), err)
}

func (f *File) Sync() error { return f.whole("sync", 0, 0, unix.Fsync(f.fd)) }

func (f *File) Reserve(size int64, growing bool) (string, error) {
	if growing {
		return "", nil
	}
	return "truncate", unix.Ftruncate(f.fd, size)
}

func (f *File) Forget(int64, int64) {}

func (f *File) Random() {}

func (f *File) Align(int64) Alignment { return Alignment{4096, 4096, "assumed"} }

func (s *Set) TryDirect() error { return errNoLinux }

func (s *Set) Room() (int64, error) { return 1 << 62, nil }
