package embedded

import (
	"errors"
	"io"
	"io/fs"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// guard is the file system of the engine. It passes everything on until the real file system refuses a change. Then it
// is frozen: it drops changes and reports success, so the directory stays as after a crash.
//
// Pebble cannot continue after a failed write of its log: it panics or blocks all writers forever. With a frozen guard
// it continues without effect. The store refuses every operation, because it checks [guard.failure] before and after
// each write. The failure is set before the failed call returns, so a dropped write is never acknowledged.
type guard struct {
	vfs.FS
	cause atomic.Pointer[error]
}

func newGuard(inner vfs.FS) *guard { return &guard{FS: inner} }

func (g *guard) freeze(err error) { g.cause.CompareAndSwap(nil, &err) }

// failure returns why the guard is frozen, nil if it is not frozen.
func (g *guard) failure() error {
	if p := g.cause.Load(); p != nil {
		return *p
	}
	return nil
}

// change makes one change, unless frozen. A missing file is an error of the caller and does not freeze.
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
		f, err = vfs.NewMem().Create(g.PathBase(name), vfs.WriteCategoryUnspecified)
		return nowhere{f}, err
	}
	return &guardedFile{File: f, guard: g}, nil
}

func (g *guard) Create(name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	return g.file(name, func() (vfs.File, error) { return g.FS.Create(name, c) })
}

func (g *guard) OpenReadWrite(name string, c vfs.DiskWriteCategory, opts ...vfs.OpenOption) (vfs.File, error) {
	return g.file(name, func() (vfs.File, error) { return g.FS.OpenReadWrite(name, c, opts...) })
}

func (g *guard) ReuseForWrite(old, name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	return g.file(name, func() (vfs.File, error) { return g.FS.ReuseForWrite(old, name, c) })
}

func (g *guard) OpenDir(name string) (vfs.File, error) {
	f, err := g.FS.OpenDir(name)
	if err != nil {
		return nil, err
	}
	return &guardedFile{File: f, guard: g}, nil
}

func (g *guard) Link(old, name string) error {
	return g.change(func() error { return g.FS.Link(old, name) })
}

func (g *guard) Remove(name string) error {
	return g.change(func() error { return g.FS.Remove(name) })
}

func (g *guard) RemoveAll(name string) error {
	return g.change(func() error { return g.FS.RemoveAll(name) })
}

func (g *guard) Rename(old, name string) error {
	return g.change(func() error { return g.FS.Rename(old, name) })
}

func (g *guard) Unwrap() vfs.FS { return g.FS }

// guardedFile is an open file below a guard.
type guardedFile struct {
	vfs.File
	guard *guard
}

func (f *guardedFile) Write(b []byte) (int, error) {
	return f.write(len(b), func() (int, error) { return f.File.Write(b) })
}

func (f *guardedFile) WriteAt(b []byte, at int64) (int, error) {
	return f.write(len(b), func() (int, error) { return f.File.WriteAt(b, at) })
}

// write makes a short write a failure.
func (f *guardedFile) write(size int, do func() (int, error)) (int, error) {
	return size, f.guard.change(func() error {
		n, err := do()
		if err == nil && n < size {
			err = io.ErrShortWrite
		}
		return err
	})
}

func (f *guardedFile) Sync() error { return f.guard.change(f.File.Sync) }

func (f *guardedFile) SyncData() error { return f.guard.change(f.File.SyncData) }

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

// Preallocate reserves space. Its failure does not freeze, because later writes may still succeed.
func (f *guardedFile) Preallocate(offset, length int64) error {
	if f.guard.cause.Load() != nil {
		return nil
	}
	return f.File.Preallocate(offset, length)
}

// nowhere is a file opened while frozen: an empty file in memory that drops what is written to it. Its Stat works,
// because the engine ends the process if it cannot learn the size of a log file that it wants to use again.
type nowhere struct{ vfs.File }

func (nowhere) Write(b []byte) (int, error)            { return len(b), nil }
func (nowhere) WriteAt(b []byte, _ int64) (int, error) { return len(b), nil }
