package safeopen

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// A pipe without a writer, and one whose writer says nothing, end with the context.
func TestPipesEndWithTheContext(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, read := range map[string]func(context.Context) error{
		"input":  func(ctx context.Context) error { _, err := readInput(ctx, path, 100); return err },
		"secret": func(ctx context.Context) error { _, err := ReadSecretInput(ctx, path); return err },
	} {
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- read(ctx) }()
		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Errorf("%s without a writer: %v", name, err)
		}
	}
	writer, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer writer.Close()
	ctx, cancel := context.WithCancel(t.Context())
	in, err := OpenInput(ctx, path, 100)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	if _, err := writer.WriteString("abc"); err != nil {
		t.Fatal(err)
	}
	b := make([]byte, 3)
	if _, err := io.ReadFull(in, b); err != nil || string(b) != "abc" {
		t.Fatalf("%q, %v", b, err)
	}
	done := make(chan error, 1)
	go func() { _, err := in.Read(b); done <- err }()
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("a silent writer: %v", err)
	}
}

func TestRegularFilesDoNotWait(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	write(t, path, "0123456789")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if b, err := readInput(ctx, path, 10); err != nil || string(b) != "0123456789" {
		t.Errorf("a file of exactly the limit: %q, %v", b, err)
	}
	var limit *LimitError
	if b, err := readInput(t.Context(), path, 9); !errors.As(err, &limit) || len(b) != 9 {
		t.Errorf("a file above the limit: %q, %v", b, err)
	}
}

func TestSecrets(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "token")
	write(t, path, "secret\r\n")
	for mode, ok := range map[os.FileMode]bool{0o600: true, 0o400: true, 0o640: false, 0o604: false, 0o602: false,
		0o666: false} {
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		text, err := ReadSecretInput(t.Context(), path)
		if ok && (err != nil || text != "secret\n") {
			t.Errorf("mode %o: %q, %v", mode, text, err)
		}
		if !ok && (err == nil || !strings.Contains(err.Error(), "Run: chmod 600 "+path)) {
			t.Errorf("mode %o: %q, %v, want the command that mends it", mode, text, err)
		}
	}
	for _, x := range []struct {
		mode        os.FileMode
		owner, user int
		ok          bool
	}{{0o440, 0, 65532, true}, {0o640, 0, 65532, true}, {0o460, 0, 65532, false}, {0o444, 0, 65532, false},
		{0o440, 65532, 65532, false}, {0o440, 0, 0, false}, {0o400, 7, 7, true}} {
		if got := secretMode(x.mode, x.owner, x.user); got != x.ok {
			t.Errorf("mode %o of a file of %d for %d: %v, want %v", x.mode, x.owner, x.user, got, x.ok)
		}
	}
	pipe := filepath.Join(dir, "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	go func() { _ = os.WriteFile(pipe, []byte("piped"), 0) }()
	if text, err := ReadSecretInput(t.Context(), pipe); err != nil || text != "piped" {
		t.Errorf("a pipe: %q, %v", text, err)
	}
	large := filepath.Join(dir, "large")
	if err := os.WriteFile(large, make([]byte, MaxSecret+1), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"/dev/zero", "/dev/null", dir, large} {
		if text, err := ReadSecretInput(t.Context(), path); err == nil {
			t.Errorf("%s was read as a secret of %d bytes", path, len(text))
		}
	}
}

// readInput reads all of [OpenInput].
func readInput(ctx context.Context, path string, most int64) ([]byte, error) {
	in, err := OpenInput(ctx, path, most)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	return io.ReadAll(in)
}
