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
	ours, markers := len(entries) == 0, append(Files(), LockFile, StandingFile)
	for _, e := range entries {
		if e.IsDir() && slices.Contains(allDirs(), e.Name()) {
			// A process that was killed early leaves empty directories only.
			inside, err := fs.ReadDir(root.FS(), path.Join(name, e.Name()))
			ours = ours || err == nil && len(inside) == 0
		}
		for _, m := range markers {
			// A process that was killed in replace leaves a temporary file.
			ours = ours || e.Type().IsRegular() && (e.Name() == m || strings.HasPrefix(e.Name(), "."+m+"."))
		}
	}
	if !ours {
		return fmt.Errorf("%s has no file of a record, so it was not removed. Remove it yourself, or choose another --out",
			filepath.Join(top, name))
	}
	return root.RemoveAll(name)
}
