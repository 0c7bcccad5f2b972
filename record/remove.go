package record

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// Remove removes a complete or partial record in the directory name below top. It fails if name leads through a link,
// or if the directory has content but no file of a record. A missing directory is no error.
func Remove(top, name string) error {
	root, err := os.OpenRoot(top)
	if err != nil {
		return err
	}
	defer root.Close()
	name = path.Clean(filepath.ToSlash(name))
	for at, part := 0, ""; at < len(name); at += len(part) + 1 {
		part, _, _ = strings.Cut(name[at:], "/")
		info, err := root.Lstat(name[:at+len(part)])
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil
		case err != nil:
			return err
		case !info.IsDir():
			return fmt.Errorf("%s is a link or a file, not a directory of this record, so it was not removed. Remove it yourself",
				filepath.Join(top, name[:at+len(part)]))
		}
	}
	entries, err := fs.ReadDir(root.FS(), name)
	if err != nil {
		return err
	}
	ours := len(entries) == 0
	var marks, others []string
	for _, e := range entries {
		if isMark(e) {
			marks = append(marks, e.Name())
			continue
		}
		others = append(others, e.Name())
		if e.IsDir() && slices.Contains(allDirs(), e.Name()) {
			// A process that was killed early leaves empty directories only.
			inside, err := fs.ReadDir(root.FS(), path.Join(name, e.Name()))
			ours = ours || err == nil && len(inside) == 0
		}
	}
	if !ours && len(marks) == 0 {
		return fmt.Errorf("%s has no file of a record, so it was not removed. Remove it yourself, or choose another --out",
			filepath.Join(top, name))
	}
	// What shows that it is a record goes last, so that a removal that is killed leaves one.
	for _, below := range append(others, marks...) {
		if err := root.RemoveAll(path.Join(name, below)); err != nil {
			return err
		}
	}
	return root.RemoveAll(name)
}

// isMark reports whether a file shows that its directory has a record.
func isMark(e fs.DirEntry) bool {
	return e.Type().IsRegular() && slices.ContainsFunc(append(Files(), LockFile, StatusFile), func(mark string) bool {
		// A process that was killed in replace leaves a temporary file.
		return e.Name() == mark || strings.HasPrefix(e.Name(), "."+mark+".")
	})
}
