package remote

import (
	"archive/tar"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"

	"github.com/klauspost/compress/gzip"
)

const suffix = ".tar.gz"

// The limits of an archive that somebody else may have written.
const (
	maxFiles = 100_000
	maxBytes = 4 << 30
)

var safe = regexp.MustCompile(`^[A-Za-z0-9_-][A-Za-z0-9._-]*\.tar\.gz$`)

// archived reports whether a name is one of an archive, and no path.
func archived(name string) bool { return safe.MatchString(name) }

// pack writes the regular files below a directory.
func pack(w io.Writer, dir string) error {
	z := gzip.NewWriter(w)
	t := tar.NewWriter(z)
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		name, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		f, err := os.Open(path)
		if err != nil {
			return err
		}
		defer f.Close()
		info, err := f.Stat()
		if err != nil {
			return err
		}
		h := &tar.Header{Name: filepath.ToSlash(name), Size: info.Size(), Mode: 0o644, ModTime: info.ModTime()}
		if err := t.WriteHeader(h); err != nil {
			return err
		}
		_, err = io.Copy(t, f)
		return err
	})
	return errors.Join(err, t.Close(), z.Close())
}

// unpack writes the files of an archive below a directory that it makes. os.Root keeps every name inside of it.
func unpack(r io.Reader, dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	z, err := gzip.NewReader(r)
	if err != nil {
		return err
	}
	t, left := tar.NewReader(z), int64(maxBytes)
	for range maxFiles {
		h, err := t.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if h.Typeflag != tar.TypeReg {
			continue
		}
		if left -= h.Size; left < 0 {
			return fmt.Errorf("the archive has more than %d bytes", int64(maxBytes))
		}
		if err := unpackFile(root, h.Name, t); err != nil {
			return err
		}
	}
	return fmt.Errorf("the archive has more than %d files", maxFiles)
}

func unpackFile(root *os.Root, name string, r io.Reader) error {
	name = filepath.FromSlash(name)
	if err := root.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	f, err := root.Create(name)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, r)
	return errors.Join(err, f.Close())
}
