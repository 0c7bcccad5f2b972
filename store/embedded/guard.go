package embedded

import (
	"errors"
	"io"
	"io/fs"
	"sync/atomic"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// guard is the file system that the engine sees. It passes everything on until the first change that
// the real one refuses. From then on it is frozen: changes are swallowed and reported as done, so the
// directory stays as it was at that moment, like after a crash.
//
// Pebble cannot go on after a failed write of its log: it panics or blocks all writers forever. Under
// a frozen guard it goes on harmlessly, while the store refuses every operation because it asks
// [guard.failure] before and after each write. The order matters: the failure is set before the
// failed call returns, so no write can be acknowledged on the strength of a swallowed one.
type guard struct {
	vfs.FS
	cause atomic.Pointer[error]
}

func newGuard(inner vfs.FS) *guard { return &guard{FS: inner} }

// freeze keeps the first failure.
func (g *guard) freeze(err error) { g.cause.CompareAndSwap(nil, &err) }

// failure returns why the guard is frozen, nil if it is not.
func (g *guard) failure() error {
	if p := g.cause.Load(); p != nil {
		return *p
	}
	return nil
}

// change makes one change, unless frozen. A missing file is the caller's business, not a failure.
func (g *guard) change(do func() error) error {
	if g.cause.Load() != nil {
		return nil
	}
	err := do()
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		return err
	}
	g.freeze(err)
	return nil
}

// file opens a file for writing, unless frozen.
func (g *guard) file(name string, open func() (vfs.File, error)) (vfs.File, error) {
	var f vfs.File
	err := g.change(func() (err error) { f, err = open(); return err })
	if err != nil {
		return nil, err
	}
	if f == nil {
		return nowhere{name: g.PathBase(name)}, nil
	}
	return &guardedFile{File: f, guard: g}, nil
}

// Create makes a file.
func (g *guard) Create(name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	return g.file(name, func() (vfs.File, error) { return g.FS.Create(name, c) })
}

// OpenReadWrite opens a file for reading and writing.
func (g *guard) OpenReadWrite(name string, c vfs.DiskWriteCategory, opts ...vfs.OpenOption) (vfs.File, error) {
	return g.file(name, func() (vfs.File, error) { return g.FS.OpenReadWrite(name, c, opts...) })
}

// ReuseForWrite renames a file and opens it for writing.
func (g *guard) ReuseForWrite(old, name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	return g.file(name, func() (vfs.File, error) { return g.FS.ReuseForWrite(old, name, c) })
}

// OpenDir opens a directory, which the engine only ever syncs.
func (g *guard) OpenDir(name string) (vfs.File, error) {
	f, err := g.FS.OpenDir(name)
	if err != nil {
		return nil, err
	}
	return &guardedFile{File: f, guard: g}, nil
}

// Link makes a hard link.
func (g *guard) Link(old, name string) error {
	return g.change(func() error { return g.FS.Link(old, name) })
}

// Remove removes a file.
func (g *guard) Remove(name string) error {
	return g.change(func() error { return g.FS.Remove(name) })
}

// RemoveAll removes a directory with its content.
func (g *guard) RemoveAll(name string) error {
	return g.change(func() error { return g.FS.RemoveAll(name) })
}

// Rename renames a file.
func (g *guard) Rename(old, name string) error {
	return g.change(func() error { return g.FS.Rename(old, name) })
}

// Unwrap returns the file system below.
func (g *guard) Unwrap() vfs.FS { return g.FS }

// guardedFile is an open file below a guard.
type guardedFile struct {
	vfs.File
	guard *guard
}

// Write appends to the file.
func (f *guardedFile) Write(b []byte) (int, error) {
	err := f.guard.change(func() error { return whole(f.File.Write(b))(len(b)) })
	return len(b), err
}

// WriteAt writes at an offset.
func (f *guardedFile) WriteAt(b []byte, at int64) (int, error) {
	err := f.guard.change(func() error { return whole(f.File.WriteAt(b, at))(len(b)) })
	return len(b), err
}

// whole makes a short write an error.
func whole(n int, err error) func(want int) error {
	return func(want int) error {
		if err == nil && n < want {
			return io.ErrShortWrite
		}
		return err
	}
}

// Sync makes the file durable.
func (f *guardedFile) Sync() error { return f.guard.change(f.File.Sync) }

// SyncData makes the file's content durable.
func (f *guardedFile) SyncData() error { return f.guard.change(f.File.SyncData) }

// SyncTo begins to write a part of the file back.
func (f *guardedFile) SyncTo(length int64) (full bool, err error) {
	err = f.guard.change(func() (err error) { full, err = f.File.SyncTo(length); return err })
	return full, err
}

// Close closes the file; some file systems report a failed write only here.
func (f *guardedFile) Close() error {
	if err := f.File.Close(); err != nil {
		f.guard.freeze(err)
	}
	return nil
}

// Preallocate reserves space. That it fails says nothing about the writes to come.
func (f *guardedFile) Preallocate(offset, length int64) error {
	if f.guard.cause.Load() != nil {
		return nil
	}
	return f.File.Preallocate(offset, length)
}

// nowhere is a file opened while frozen: it takes everything and keeps nothing.
type nowhere struct{ name string }

func (nowhere) Close() error                           { return nil }
func (nowhere) Read([]byte) (int, error)               { return 0, io.EOF }
func (nowhere) ReadAt([]byte, int64) (int, error)      { return 0, io.EOF }
func (nowhere) Write(b []byte) (int, error)            { return len(b), nil }
func (nowhere) WriteAt(b []byte, _ int64) (int, error) { return len(b), nil }
func (nowhere) Preallocate(int64, int64) error         { return nil }
func (nowhere) Sync() error                            { return nil }
func (nowhere) SyncTo(int64) (bool, error)             { return false, nil }
func (nowhere) SyncData() error                        { return nil }
func (nowhere) Prefetch(int64, int64) error            { return nil }
func (nowhere) Fd() uintptr                            { return vfs.InvalidFd }

// Stat describes an empty file: the engine asks a log file that it wants to use again for its size,
// and takes an error as a reason to end the process.
func (n nowhere) Stat() (vfs.FileInfo, error) { return nowhereInfo(n), nil }

// nowhereInfo describes a file opened while frozen.
type nowhereInfo struct{ name string }

func (i nowhereInfo) Name() string     { return i.name }
func (nowhereInfo) Size() int64        { return 0 }
func (nowhereInfo) Mode() fs.FileMode  { return 0o600 }
func (nowhereInfo) ModTime() time.Time { return time.Time{} }
func (nowhereInfo) IsDir() bool        { return false }
func (nowhereInfo) Sys() any           { return nil }

func (nowhereInfo) DeviceID() vfs.DeviceID { return vfs.DeviceID{} }
