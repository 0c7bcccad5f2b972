package replace

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/plimsoll-bench/plimsoll/internal/wait"
)

// An Output is a file that a person named, for example with -o. What stands at the name decides how it is written:
//
//   - nothing, or a regular file: a new file beside it takes its place in [Output.Commit], with the mode and the owner
//     of the old one. Without Commit, the old file is unchanged.
//   - a character device or a FIFO: the data goes into it.
//   - a link: what it leads to, by the same rules. The link stays.
//
// Directories, block devices and sockets are refused.
type Output struct {
	file    *os.File // where the data goes now
	target  string   // the file that Commit replaces, "" if the data goes into what stands there
	old     *os.File
	created string // the file that Create made at the end of a link, until it is replaced
}

// Create opens what stands at a path for writing. It waits for the reader of a FIFO until ctx ends. The mode is that of
// a new file, less the umask. With a mode that only the user can read, a replaced file too is only for the user.
func Create(ctx context.Context, path string, mode os.FileMode) (*Output, error) {
	info, err := os.Stat(path)
	switch {
	case err == nil && info.IsDir():
		return nil, refused(path, "a directory, not a file")
	case err == nil && info.Mode()&fs.ModeSocket != 0:
		return nil, refused(path, "a socket, not a file")
	case err == nil && info.Mode()&fs.ModeDevice != 0 && info.Mode()&fs.ModeCharDevice == 0:
		return nil, refused(path, "a block device; its data would be lost")
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return nil, err
	}
	o := &Output{}
	if err == nil || linked(path) {
		// The kernel decides whether this user may follow the links and write to the file.
		flags, missing := os.O_WRONLY|noTerminal, err != nil
		if missing {
			flags |= os.O_CREATE
		}
		open := func() (*os.File, error) { return os.OpenFile(path, flags, mode) }
		if !missing && info.Mode()&fs.ModeNamedPipe != 0 {
			o.old, err = wait.Detached(ctx, open)
		} else {
			o.old, err = open()
		}
		if err != nil {
			return nil, err
		}
		if info, err = o.old.Stat(); err != nil {
			return nil, errors.Join(err, o.old.Close())
		}
		if !info.Mode().IsRegular() {
			o.file, o.old = o.old, nil
			return o, nil
		}
		if missing {
			o.created, _ = filepath.EvalSymlinks(path)
		}
		if mode&others == 0 {
			mode = info.Mode().Perm() &^ others
		} else {
			mode = info.Mode().Perm()
		}
	}
	if err := o.beside(path, mode, info); err != nil {
		return nil, errors.Join(err, o.Abort())
	}
	return o, nil
}

// noTerminal keeps a terminal that is opened from becoming the one of this process.
const noTerminal = syscall.O_NOCTTY

// others are the permissions of other users than the owner.
const others = 0o077

func refused(path, what string) error {
	return &fs.PathError{Op: "write", Path: path, Err: errors.New(what)}
}

// linked reports whether a link stands at a path.
func linked(path string) bool {
	info, err := os.Lstat(path)
	return err == nil && info.Mode()&fs.ModeSymlink != 0
}

func (o *Output) Write(b []byte) (int, error) { return o.file.Write(b) }

// beside makes the file that replaces the old one. Where that is not possible, because the directory cannot be written
// or the owner cannot be kept, the data goes into the old file.
func (o *Output) beside(path string, mode os.FileMode, info fs.FileInfo) error {
	target := path
	if o.old != nil {
		var err error
		if target, err = filepath.EvalSymlinks(path); err == nil {
			var there fs.FileInfo
			if there, err = os.Lstat(target); err == nil && !os.SameFile(there, info) {
				err = fs.ErrNotExist
			}
		}
		if err != nil {
			return o.inPlace() // the file has no name any more, as behind /dev/fd
		}
	}
	name := filepath.Join(filepath.Dir(target), "."+filepath.Base(target)+"."+rand.Text()[:10])
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, mode)
	if err != nil && o.old != nil {
		return o.inPlace()
	}
	if wrapped := new(fs.PathError); errors.As(err, &wrapped) { // it has the name of the temporary file
		return &fs.PathError{Op: "write", Path: path, Err: wrapped.Err}
	}
	if o.old != nil && errors.Join(keepOwner(f, info), f.Chmod(mode)) != nil {
		_ = errors.Join(f.Close(), os.Remove(name))
		return o.inPlace()
	}
	o.file, o.target = f, target
	return nil
}

func (o *Output) inPlace() error {
	o.file, o.old = o.old, nil
	return o.file.Truncate(0)
}

// Commit ends the output. A regular file has the new content from here on.
func (o *Output) Commit() error {
	if o.target == "" {
		o.created = ""
		return o.file.Close()
	}
	err := os.Rename(o.file.Name(), o.target)
	if err == nil {
		o.target, o.created = "", ""
		return errors.Join(o.file.Close(), o.closeOld())
	}
	if o.old == nil {
		return errors.Join(err, o.Abort())
	}
	// A file that is a mount of its own, as in a container, cannot be replaced.
	_, err = o.file.Seek(0, io.SeekStart)
	if err == nil {
		err = o.old.Truncate(0)
	}
	if err == nil {
		_, err = io.Copy(o.old, o.file)
	}
	o.created = ""
	return errors.Join(err, o.Abort())
}

// Abort ends an output that was not committed: an old file is unchanged. After Commit it does nothing.
func (o *Output) Abort() error {
	if o.target != "" {
		_ = errors.Join(o.file.Close(), os.Remove(o.file.Name()))
	} else if o.file != nil {
		_ = o.file.Close()
	}
	o.target = ""
	if o.created != "" {
		_ = os.Remove(o.created)
	}
	return o.closeOld()
}

func (o *Output) closeOld() error {
	if o.old == nil {
		return nil
	}
	old := o.old
	o.old = nil
	return old.Close()
}

// Named writes a whole [Output]. After an error, a regular file is unchanged. Writes to a FIFO whose reader does not
// read end with ctx.
func Named(ctx context.Context, path string, mode os.FileMode, write func(io.Writer) error) error {
	o, err := Create(ctx, path, mode)
	if err != nil {
		return err
	}
	stop := context.AfterFunc(ctx, func() { _ = o.file.SetWriteDeadline(time.Unix(1, 0)) }) // files have no deadline
	defer stop()
	if err := write(o); err != nil {
		_ = o.Abort()
		if cause := context.Cause(ctx); cause != nil && errors.Is(err, os.ErrDeadlineExceeded) {
			return fmt.Errorf("no process reads %s: %w", path, cause)
		}
		return err
	}
	return o.Commit()
}

// Append opens what stands at a path, to write at its end. It follows links, and waits for the reader of a FIFO until
// ctx ends.
func Append(ctx context.Context, path string, mode os.FileMode) (*os.File, error) {
	open := func() (*os.File, error) {
		return os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY|noTerminal, mode)
	}
	if info, err := os.Stat(path); err == nil && info.Mode()&fs.ModeNamedPipe != 0 {
		return wait.Detached(ctx, open)
	}
	return open()
}

// New writes a file that must not be there yet; otherwise the error is [fs.ErrExist].
func New(path string, content []byte, mode os.FileMode) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	return errors.Join(err, f.Close())
}

// keepOwner gives a file the owner and the group of another one.
func keepOwner(f *os.File, of fs.FileInfo) error {
	old, ok := of.Sys().(*syscall.Stat_t)
	now, err := f.Stat()
	if !ok || err != nil {
		return err
	}
	if own, ok := now.Sys().(*syscall.Stat_t); ok && own.Uid == old.Uid && own.Gid == old.Gid {
		return nil
	}
	return f.Chown(int(old.Uid), int(old.Gid))
}
