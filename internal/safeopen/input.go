package safeopen

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"syscall"

	"github.com/plimsoll-bench/plimsoll/internal/wait"
)

// OpenInput opens an input that a user chose: a regular file, a pipe such as that of `<(command)`, or a device. It
// waits for the writer of a pipe, and for data, until ctx ends. Reading more than most bytes is a [*LimitError].
func OpenInput(ctx context.Context, path string, most int64) (io.ReadCloser, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	var f *os.File
	switch mode := info.Mode(); {
	case mode.IsDir():
		return nil, &fs.PathError{Op: "open", Path: path, Err: errors.New("a directory, not a file")}
	case mode.IsRegular():
		return OpenLimited(path, most)
	case mode&fs.ModeNamedPipe != 0:
		f, err = wait.Detached(ctx, func() (*os.File, error) { return os.Open(path) })
	default:
		f, err = os.OpenFile(path, os.O_RDONLY|nonblock, 0)
	}
	if err != nil {
		return nil, err
	}
	return &limited{Reader: Interruptible(ctx, f), file: f, left: most, most: most}, nil
}

// OpenLimited is [OpenFile], of which at most most bytes are read; more are a [*LimitError].
func OpenLimited(path string, most int64) (io.ReadCloser, error) {
	f, err := OpenFile(path)
	if err != nil {
		return nil, err
	}
	return &limited{Reader: f, file: f, left: most, most: most}, nil
}

// limited reads up to a limit.
type limited struct {
	io.Reader
	file       *os.File
	left, most int64
}

func (l *limited) Read(b []byte) (int, error) {
	if l.left <= 0 {
		if n, err := l.Reader.Read(b[:min(len(b), 1)]); n == 0 { // a file that has exactly the limit
			return 0, err
		}
		return 0, &fs.PathError{Op: "read", Path: l.file.Name(), Err: &LimitError{What: "the file", Most: l.most, Unit: "bytes"}}
	}
	n, err := l.Reader.Read(b[:min(int64(len(b)), l.left)])
	l.left -= int64(n)
	return n, err
}

func (l *limited) Close() error { return l.file.Close() }

// Interruptible returns a reader of r whose reads end with ctx, such as those of standard input. A read that is waiting
// then takes what comes next; nobody gets it.
func Interruptible(ctx context.Context, r io.Reader) io.Reader {
	return &interruptible{ctx: ctx, r: r}
}

type interruptible struct {
	ctx context.Context
	r   io.Reader
	buf []byte
	end error // of the context
}

func (i *interruptible) Read(b []byte) (int, error) {
	if i.end != nil || len(b) == 0 {
		return 0, i.end
	}
	if i.buf == nil {
		i.buf = make([]byte, 64<<10)
	}
	part := i.buf[:min(len(b), len(i.buf))] // a read that goes on after ctx has ended must not write to b
	type result struct {
		n   int
		err error
	}
	got, err := wait.Detached(i.ctx, func() (result, error) {
		n, err := i.r.Read(part)
		return result{n, err}, nil
	})
	if err != nil {
		i.end = err
		return 0, err
	}
	return copy(b, part[:got.n]), got.err
}

// The limits of kinds of files, in bytes. Those of JSON are above.
const (
	MaxSecret = 64 << 10 // of a credential
	MaxStream = 1 << 40  // of what is read line by line, such as a log
)

// ReadSecret reads a credential that a user keeps in a regular file. It refuses what other users can read or change.
func ReadSecret(path string) (string, error) {
	f, err := OpenFile(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	return readSecret(&limited{Reader: f, file: f, left: MaxSecret, most: MaxSecret})
}

// ReadSecretInput is [ReadSecret] for a file that a user names on the command line, which may be a pipe such as that of
// `<(command)`. It waits for a pipe until ctx ends.
func ReadSecretInput(ctx context.Context, path string) (string, error) {
	if info, err := os.Stat(path); err != nil || info.Mode()&fs.ModeNamedPipe == 0 {
		return ReadSecret(path)
	}
	in, err := OpenInput(ctx, path, MaxSecret)
	if err != nil {
		return "", err
	}
	defer in.Close()
	return readSecret(in.(*limited))
}

// private reports whether only this user can read a file.
func private(info fs.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && secretMode(info.Mode(), int(stat.Uid), os.Getuid())
}

// secretMode reports whether the mode of a file keeps a secret. A file that root gave to a user by its group, as
// Kubernetes does, may be read by the group.
func secretMode(mode fs.FileMode, owner, user int) bool {
	others := mode.Perm() & 0o077
	return others == 0 || others == 0o040 && owner == 0 && user != 0
}

// CheckSecret returns an error if other users can read or change a regular file, which has a secret.
func CheckSecret(path string) error {
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() {
		return err
	}
	return checkSecret(path, info)
}

func checkSecret(path string, info fs.FileInfo) error {
	if private(info) {
		return nil
	}
	return fmt.Errorf("%s can be read or changed by other users. Run: chmod 600 %[1]s", path)
}

func readSecret(in *limited) (string, error) {
	info, err := in.file.Stat()
	if err == nil {
		err = checkSecret(in.file.Name(), info)
	}
	if err != nil {
		return "", err
	}
	text, err := io.ReadAll(in)
	return strings.ReplaceAll(string(text), "\r\n", "\n"), err
}
