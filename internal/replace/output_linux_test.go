package replace

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/plimsoll-bench/plimsoll/internal/notrun"
)

func says(text string) func(io.Writer) error {
	return func(w io.Writer) error {
		_, err := io.WriteString(w, text)
		return err
	}
}

// whole checks that a directory has only these names: no temporary file is left.
func whole(t *testing.T, dir string, names ...string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, e := range entries {
		found = append(found, e.Name())
	}
	if len(found) != len(names) {
		t.Errorf("%s has %q, want %q", dir, found, names)
	}
}

func content(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// A device stays a device: what a person writes to a copy of /dev/null goes into it.
func TestDeviceIsWrittenThrough(t *testing.T) {
	dir := t.TempDir()
	device := filepath.Join(dir, "null")
	if err := unix.Mknod(device, syscall.S_IFCHR|0o666, int(unix.Mkdev(1, 3))); err != nil {
		notrun.Here(t, "no device can be made: %v", err)
		return
	}
	if f, err := os.OpenFile(device, os.O_WRONLY, 0); err != nil {
		notrun.Here(t, "devices of %s cannot be opened: %v", dir, err)
		return
	} else {
		f.Close()
	}
	link := filepath.Join(dir, "link")
	if err := os.Symlink("null", link); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{device, link} {
		if err := Named(t.Context(), path, 0o644, says("text")); err != nil {
			t.Errorf("writing to %s: %v", path, err)
		}
	}
	info, err := os.Lstat(device)
	if err != nil || info.Mode()&fs.ModeCharDevice == 0 || info.Mode().Perm() != 0o666&^umask() {
		t.Errorf("the device is now %v, %v", info.Mode(), err)
	}
	if !linked(link) {
		t.Error("the link was replaced")
	}
	whole(t, dir, "null", "link")
	block := filepath.Join(dir, "block")
	if err := unix.Mknod(block, syscall.S_IFBLK|0o600, int(unix.Mkdev(7, 250))); err != nil {
		t.Fatal(err)
	}
	if err := Named(t.Context(), block, 0o644, says("text")); err == nil {
		t.Error("a block device was written to")
	}
}

func umask() os.FileMode {
	old := syscall.Umask(0)
	syscall.Umask(old)
	return os.FileMode(old)
}

func TestFIFOIsWrittenThrough(t *testing.T) {
	path := filepath.Join(t.TempDir(), "fifo")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	got := make(chan string, 1)
	go func() {
		b, _ := os.ReadFile(path)
		got <- string(b)
	}()
	if err := Named(t.Context(), path, 0o644, says("text")); err != nil {
		t.Fatal(err)
	}
	if text := <-got; text != "text" {
		t.Errorf("the reader of the FIFO got %q", text)
	}
	if info, err := os.Lstat(path); err != nil || info.Mode()&fs.ModeNamedPipe == 0 {
		t.Errorf("the FIFO is now %v, %v", info.Mode(), err)
	}
}

// Nobody reads: the end of the context ends the wait, before the FIFO is open and after.
func TestFIFOWithoutReaderEnds(t *testing.T) {
	path := filepath.Join(t.TempDir(), "fifo")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- Named(ctx, path, 0o644, says("text")) }()
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("without a reader: %v, want the end of the context", err)
	}
	reader, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	ctx, cancel = context.WithCancel(t.Context())
	full := make(chan struct{})
	go func() {
		done <- Named(ctx, path, 0o644, func(w io.Writer) error {
			close(full)
			_, err := w.Write(make([]byte, 1<<22)) // more than a pipe holds
			return err
		})
	}()
	<-full
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("a reader that does not read: %v, want the end of the context", err)
	}
}

func TestRegularFilesAreReplaced(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "report.html")
	if err := Named(t.Context(), path, 0o644, says("one")); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, 0o640); err != nil {
		t.Fatal(err)
	}
	if os.Getuid() == 0 {
		if err := os.Chown(path, 1234, 1235); err != nil {
			t.Fatal(err)
		}
	}
	before, _ := os.Stat(path)
	open, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer open.Close()
	if err := Named(t.Context(), path, 0o644, says("two")); err != nil {
		t.Fatal(err)
	}
	after, _ := os.Stat(path)
	old, now := before.Sys().(*syscall.Stat_t), after.Sys().(*syscall.Stat_t)
	if content(t, path) != "two" || after.Mode() != before.Mode() || now.Uid != old.Uid || now.Gid != old.Gid {
		t.Errorf("%q, mode %v, owner %d:%d, want two, %v, %d:%d", content(t, path), after.Mode(), now.Uid, now.Gid,
			before.Mode(), old.Uid, old.Gid)
	}
	if b, _ := io.ReadAll(open); string(b) != "one" {
		t.Errorf("a reader of the old file sees %q, want one: it was not replaced as a whole", b)
	}
	failed := errors.New("failed")
	err = Named(t.Context(), path, 0o644, func(w io.Writer) error { _, _ = io.WriteString(w, "thr"); return failed })
	if !errors.Is(err, failed) || content(t, path) != "two" {
		t.Errorf("after an error: %v, %q, want the old content", err, content(t, path))
	}
	if err := Named(t.Context(), path, 0o600, says("secret")); err != nil {
		t.Fatal(err)
	}
	if info, _ := os.Stat(path); info.Mode().Perm() != 0o600 {
		t.Errorf("a file that may have secrets has mode %v", info.Mode())
	}
	whole(t, dir, "report.html")
}

func TestLinksAreFollowed(t *testing.T) {
	dir, other := t.TempDir(), t.TempDir()
	target, link := filepath.Join(other, "target"), filepath.Join(dir, "link")
	if err := os.Symlink(target, link); err != nil {
		t.Fatal(err)
	}
	failed := errors.New("failed")
	if err := Named(t.Context(), link, 0o644, func(io.Writer) error { return failed }); !errors.Is(err, failed) {
		t.Error(err)
	}
	whole(t, other) // what was made for a link to nothing is gone
	for _, text := range []string{"made", "replaced"} {
		if err := Named(t.Context(), link, 0o644, says(text)); err != nil {
			t.Fatal(err)
		}
		if !linked(link) || content(t, target) != text {
			t.Errorf("a link: it is one still %v, and the target has %q, want %q", linked(link), content(t, target), text)
		}
	}
	whole(t, dir, "link")
	whole(t, other, "target")
}

func TestDirectoriesAndSocketsAreRefused(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "s")
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	t.Chdir(dir) // the path of a socket is short
	if err := unix.Bind(fd, &unix.SockaddrUnix{Name: "s"}); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{dir, path} {
		if err := Named(t.Context(), path, 0o644, says("text")); err == nil {
			t.Errorf("%s was written to", path)
		}
	}
	whole(t, dir, "s")
}

// A file whose directory cannot be written, or that was removed behind /dev/fd, is written in place.
func TestWhatCannotBeReplacedIsWritten(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "file")
	if err := os.WriteFile(path, []byte("a long old content"), 0o644); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	name := fmt.Sprintf("/proc/self/fd/%d", f.Fd())
	if err := Named(t.Context(), name, 0o644, says("text")); err != nil {
		t.Fatal(err)
	}
	if b, _ := io.ReadAll(f); string(b) != "text" {
		t.Errorf("the file without a name has %q", b)
	}
	whole(t, dir)
}
