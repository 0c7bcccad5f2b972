package files

import (
	"errors"
	"math/bits"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Create opens a test file, and makes it if needed. With dsync each write returns when it is durable.
func (s *Set) Create(name string, direct, dsync bool) (*File, error) {
	flags := unix.O_RDWR | unix.O_CREAT | unix.O_CLOEXEC
	if direct {
		flags |= unix.O_DIRECT
	}
	if dsync {
		flags |= unix.O_DSYNC
	}
	path := s.Path(name)
	fd, err := ignoringEINTR(func() (int, error) { return unix.Open(path, flags, 0o600) })
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: path, Err: err}
	}
	return &File{fd, path}, nil
}

func ignoringEINTR(f func() (int, error)) (int, error) {
	for {
		if n, err := f(); err != unix.EINTR {
			return n, err
		}
	}
}

// ReadAt reads a complete block.
func (f *File) ReadAt(b []byte, offset int64) error {
	n, err := ignoringEINTR(func() (int, error) { return blockAt(unix.SYS_PREAD64, unix.Pread, f.fd, b, offset) })
	return f.whole("read", n, len(b), err)
}

// WriteAt writes a complete block.
func (f *File) WriteAt(b []byte, offset int64) error {
	n, err := ignoringEINTR(func() (int, error) { return blockAt(unix.SYS_PWRITE64, unix.Pwrite, f.fd, b, offset) })
	return f.whole("write", n, len(b), err)
}

// blockAt does a system call without Go's scheduler, because handing over the P of a blocked thread costs more
// processor time than a fast device needs. The caller has a P for each thread (GOMAXPROCS).
func blockAt(call uintptr, plain func(int, []byte, int64) (int, error), fd int, b []byte, offset int64) (int, error) {
	if bits.UintSize != 64 || len(b) == 0 { // there an offset takes two registers
		return plain(fd, b, offset)
	}
	n, _, errno := unix.RawSyscall6(call, uintptr(fd), uintptr(unsafe.Pointer(&b[0])), uintptr(len(b)), uintptr(offset), 0,
		0)
	if errno != 0 {
		return 0, errno
	}
	return int(n), nil
}

// Sync syncs the file with fdatasync. It is never retried after an error, because the kernel drops the pages that it
// could not write.
func (f *File) Sync() error {
	_, err := ignoringEINTR(func() (int, error) {
		if _, _, errno := unix.RawSyscall(unix.SYS_FDATASYNC, uintptr(f.fd), 0, 0); errno != 0 {
			return 0, errno
		}
		return 0, nil
	})
	return f.whole("sync", 0, 0, err)
}

// Reserve allocates a file without writing it, as WiredTiger does, and returns the method: fallocate, or only the
// length if the filesystem does not support it. If the file is growing, it keeps its length.
func (f *File) Reserve(size int64, growing bool) (how string, err error) {
	mode := uint32(0)
	if growing {
		mode = unix.FALLOC_FL_KEEP_SIZE
	}
	_, err = ignoringEINTR(func() (int, error) { return 0, unix.Fallocate(f.fd, mode, 0, size) })
	if err == nil {
		return "fallocate", nil
	}
	if !errors.Is(err, unix.EOPNOTSUPP) && !errors.Is(err, unix.ENOSYS) {
		return "", err
	}
	if growing {
		return "", nil
	}
	return "truncate", unix.Ftruncate(f.fd, size)
}

// Forget drops the file from the page cache.
func (f *File) Forget(offset, length int64) {
	_ = unix.Fadvise(f.fd, offset, length, unix.FADV_DONTNEED)
}

// Random disables the kernel's read-ahead.
func (f *File) Random() { _ = unix.Fadvise(f.fd, 0, 0, unix.FADV_RANDOM) }

// Align returns the alignment of O_DIRECT for this file: from the filesystem (Linux 6.1 and later), or the block size
// of the device, or 4096.
func (f *File) Align(logical int64) Alignment {
	var st unix.Statx_t
	if err := unix.Statx(f.fd, "", unix.AT_EMPTY_PATH, unix.STATX_DIOALIGN, &st); err == nil &&
		st.Mask&unix.STATX_DIOALIGN != 0 && st.Dio_offset_align > 0 {
		return Alignment{int64(st.Dio_mem_align), int64(st.Dio_offset_align), "statx"}
	}
	if logical > 0 {
		return Alignment{logical, logical, "logical block"}
	}
	return Alignment{4096, 4096, "assumed"}
}

// TryDirect tries O_DIRECT in the directory with a block of 4 KiB.
func (s *Set) TryDirect() error {
	f, err := s.Create(ProofName(0), true, false)
	if err != nil {
		return err
	}
	defer func() { f.Close(); _ = os.Remove(f.path) }()
	b := Buffer(4096)
	defer Unmap(b)
	if err := f.WriteAt(b, 0); err != nil {
		return err
	}
	return f.ReadAt(b, 0)
}

// Room returns the bytes that this user may still write below the directory.
func (s *Set) Room() (int64, error) {
	var st unix.Statfs_t
	if err := unix.Statfs(s.dir, &st); err != nil {
		return 0, err
	}
	return int64(st.Bavail) * st.Bsize, nil
}
