// Package replace replaces files as a whole: readers see the old or the new one, also if the writer is killed. [File]
// replaces Plimsoll's own files, [Named] and [Create] write what a person named, which may be a device, a pipe or a
// link. It does not read files.
package replace

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// File replaces a file by one with this content and mode. If durable is true, readers see the old or the new one after
// a crash of the machine too, and the new one is on the disk when File returns. After an error the old file is
// unchanged.
func File(name string, content []byte, mode os.FileMode, durable bool) (err error) {
	dir := filepath.Dir(name)
	f, err := os.CreateTemp(dir, "."+filepath.Base(name)+".*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			f.Close()
			os.Remove(f.Name())
		}
	}()
	if _, err := f.Write(content); err != nil {
		return err
	}
	if err := f.Chmod(mode); err != nil {
		return err
	}
	if durable {
		if err := f.Sync(); err != nil {
			return err
		}
	}
	if err := f.Close(); err != nil {
		return err
	}
	if err := os.Rename(f.Name(), name); err != nil || !durable {
		return err
	}
	return SyncDir(dir)
}

// JSON is [File] with a value as JSON, which only the owner may read.
func JSON(name string, v any, durable bool) error {
	text, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	return File(name, append(text, '\n'), 0o600, durable)
}

// Temporary reports whether a file is what a process left that was killed in [File] of name.
func Temporary(name, file string) bool { return strings.HasPrefix(file, "."+filepath.Base(name)+".") }

// SyncDir makes a rename in a directory survive a crash of the machine, if the file system supports it.
func SyncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	if err := d.Sync(); err != nil && !errors.Is(err, syscall.EINVAL) {
		return err
	}
	return nil
}
