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

// Remove removes the record in the directory name below top, whatever was left of it. name may not lead through a link, and a
// directory that is neither empty nor has a file of a record is refused. One that is not there is no error.
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
			return fmt.Errorf("%s is not a directory of this record but a link or a file: it was left alone; remove it yourself",
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
			// A record makes its directories first, so these are all that one has which was killed then.
			inside, err := fs.ReadDir(root.FS(), path.Join(name, e.Name()))
			ours = ours || err == nil && len(inside) == 0
		}
		for _, m := range markers {
			// A process that was killed while it wrote a file leaves it under the name of [replace].
			ours = ours || e.Type().IsRegular() && (e.Name() == m || strings.HasPrefix(e.Name(), "."+m+"."))
		}
	}
	if !ours {
		return fmt.Errorf("%s holds no file of a record: it was left alone; remove it yourself, or give another --out", filepath.Join(top, name))
	}
	return root.RemoveAll(name)
}
