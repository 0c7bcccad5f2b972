package embedded

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/plimsoll-bench/plimsoll/store"
)

// A store directory holds the marker, which identifies it, and the directory of the engine's files.
const (
	markerFile = "PLIMSOLL-STORE"
	markerText = "plimsoll embedded store, format 1\n"
	dataDir    = "data"
	newMarker  = markerFile + ".new" // in dataDir, until it is complete
)

// prepare makes dir a store directory if it is none yet.
func prepare(fsys vfs.FS, dir string) error {
	if strings.TrimSpace(dir) == "" {
		return wrongDir(dir, "it needs a directory: write embedded:DIR")
	}
	mine, err := isStore(fsys, dir)
	if err != nil {
		return err
	}
	if err := fsys.MkdirAll(filepath.Join(dir, dataDir), 0o755); err != nil {
		return writeError(dir, err)
	}
	if mine {
		return nil
	}
	return writeError(dir, writeMarker(fsys, dir))
}

// isStore reports whether dir is a store. A directory with anything else in it is an error; a missing
// or empty one is not.
func isStore(fsys vfs.FS, dir string) (bool, error) {
	names, err := fsys.List(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	case errors.Is(err, syscall.ENOTDIR):
		return false, wrongDir(dir, "it is a file, not a directory: choose another directory")
	case err != nil:
		return false, fmt.Errorf("cannot read the directory %s of the embedded store (%s): "+
			"choose one that you may read and write", dir, cause(err))
	}
	if slices.Contains(names, markerFile) {
		return true, checkMarker(fsys, dir)
	}
	for _, name := range names {
		if name != dataDir { // an interrupted creation leaves it before the marker
			return false, notStore(dir, name)
		}
	}
	return false, emptyData(fsys, dir, names)
}

// emptyData refuses a directory "data" of another program: without a marker it must be empty, except for an incomplete
// marker of a process that was killed.
func emptyData(fsys vfs.FS, dir string, names []string) error {
	if len(names) == 0 {
		return nil
	}
	inside, err := fsys.List(filepath.Join(dir, dataDir))
	if err != nil || len(inside) > 0 && !slices.Equal(inside, []string{newMarker}) {
		return notStore(dir, dataDir)
	}
	return nil
}

func wrongDir(dir, problem string) error {
	return &store.AddressError{Address: "embedded:" + dir, Problem: problem}
}

func notStore(dir, name string) error {
	return wrongDir(dir, "it is not a plimsoll store, it holds other files ("+name+"): choose an empty or a new directory")
}

// checkMarker refuses a store of a format that this version does not know.
func checkMarker(fsys vfs.FS, dir string) error {
	f, err := fsys.Open(filepath.Join(dir, markerFile))
	if err != nil {
		return fmt.Errorf("cannot read the embedded store in %s (%s): choose a directory that you may read and write",
			dir, cause(err))
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, 1<<10))
	if err != nil {
		return fmt.Errorf("cannot read the embedded store in %s: %s", dir, cause(err))
	}
	if string(text) != markerText {
		return fmt.Errorf("the embedded store in %s has an unknown format (%q): "+
			"use the plimsoll version that made it, or another directory", dir, strings.TrimSpace(string(text)))
	}
	return nil
}

// writeMarker writes the marker atomically.
func writeMarker(fsys vfs.FS, dir string) error {
	path := filepath.Join(dir, markerFile)
	tmp := filepath.Join(dir, dataDir, newMarker)
	f, err := fsys.Create(tmp, vfs.WriteCategoryUnspecified)
	if err != nil {
		return err
	}
	_, err = io.WriteString(f, markerText)
	err = errors.Join(err, f.Sync(), f.Close())
	if err == nil {
		err = fsys.Rename(tmp, path)
	}
	if err != nil {
		if left := fsys.Remove(tmp); !errors.Is(left, fs.ErrNotExist) {
			err = errors.Join(err, left)
		}
		return err
	}
	d, err := fsys.OpenDir(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// Remove deletes the store in dir: its marker, its data, and dir itself if nothing else is in it. It also deletes what
// an interrupted creation or removal left. It refuses a directory that is not a store or is in use, and does nothing
// for one that does not exist.
func Remove(dir string) error { return removeStore(vfs.Default, dir) }

func removeStore(fsys vfs.FS, dir string) error {
	mine, err := isStore(fsys, dir)
	if err != nil {
		return err
	}
	data := filepath.Join(dir, dataDir)
	if !mine { // then nothing else is in it
		for _, left := range []string{filepath.Join(data, newMarker), data, dir} {
			if err := fsys.Remove(left); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return writeError(dir, err)
			}
		}
		return nil
	}
	if _, err := fsys.Stat(data); err == nil {
		lock, err := pebble.LockDirectory(data, fsys)
		if err != nil {
			return lockError(dir, err)
		}
		defer lock.Close()
	}
	if err := fsys.RemoveAll(data); err != nil {
		return writeError(dir, err)
	}
	// The marker goes last, so that an interrupted removal leaves a store.
	if err := fsys.Remove(filepath.Join(dir, markerFile)); err != nil {
		return writeError(dir, err)
	}
	if names, err := fsys.List(dir); err == nil && len(names) == 0 {
		return writeError(dir, fsys.Remove(dir))
	}
	return nil
}

// RemoveFull deletes the store in dir if it has no other collections than those named. It writes nothing, so it also
// works if the store cannot be opened because its disk is full. Other collections are an error, and nothing is removed.
func RemoveFull(dir string, collections []string) error {
	return removeFull(vfs.Default, dir, collections)
}

func removeFull(fsys vfs.FS, dir string, collections []string) error {
	if mine, err := isStore(fsys, dir); err != nil || !mine {
		return err
	}
	cat, err := readOnlyCatalog(fsys, dir)
	if err != nil {
		return err
	}
	var others []string
	for name := range cat {
		if !slices.Contains(collections, name) {
			others = append(others, name)
		}
	}
	if slices.Sort(others); len(others) > 0 {
		return fmt.Errorf("the disk that holds %s is full, and the store is not emptied because it has other collections (%s): "+
			"free space, or remove the directory", dir, strings.Join(others, ", "))
	}
	return removeStore(fsys, dir)
}

func readOnlyCatalog(fsys vfs.FS, dir string) (cat catalog, err error) {
	data := filepath.Join(dir, dataDir)
	st := &embeddedStore{dir: dir, opts: options{fs: fsys}.withDefaults(), fs: newGuard(fsys), trail: &trail{}}
	if st.lock, err = pebble.LockDirectory(data, fsys); err != nil {
		return nil, lockError(dir, err)
	}
	defer st.lock.Close()
	o := st.pebbleOptions()
	o.ReadOnly = true
	if st.db, err = openPebble(data, o); err != nil {
		return nil, openError(dir, err)
	}
	cat, _, err = loadCatalog(st.db)
	return cat, errors.Join(openError(dir, err), st.closeEngine())
}

// writeError explains why a directory cannot be written.
func writeError(dir string, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return &fullError{fmt.Sprintf("the disk that holds %s is full: free space, or choose a directory on another disk", dir)}
	case errors.Is(err, syscall.EROFS):
		return fmt.Errorf("%s is on a read-only file system: choose a directory that can be written", dir)
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("no permission to write in %s: choose a directory that you may write, "+
			"or change its permissions", dir)
	case errors.Is(err, syscall.ENOTDIR):
		return fmt.Errorf("a part of the path %s is a file: choose another directory for the embedded store", dir)
	}
	return fmt.Errorf("cannot write in %s (%s): check the disk, or choose another directory", dir, cause(err))
}

// lockError explains why the lock of a store was not taken.
func lockError(dir string, err error) error {
	if errors.Is(err, syscall.EAGAIN) { // EACCES means a missing permission on Linux and macOS
		return fmt.Errorf("the embedded store in %s is in use by another process: "+
			"stop that process, or choose another directory", dir)
	}
	if strings.Contains(err.Error(), "held by current process") {
		return fmt.Errorf("the embedded store in %s is already open in this process", dir)
	}
	return writeError(dir, err)
}

// openError explains why a store cannot be opened.
func openError(dir string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("the embedded store in %s is damaged (%s): restore it from a copy, "+
		"or remove the directory and load again", dir, oneLine(err))
}

// storageError explains a failure of the storage of an open store.
func storageError(dir string, err error) error {
	switch {
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return &fullError{fmt.Sprintf("the disk that holds %s is full: free space and start again; "+
			"every write acknowledged with a sync is kept", dir)}
	case pebble.IsCorruptionError(err):
		return openError(dir, err)
	case errors.Is(err, pebble.ErrClosed):
		return fmt.Errorf("the embedded store in %s is closed", dir)
	}
	return fmt.Errorf("the disk of the embedded store in %s failed (%s): check it and start again; "+
		"every write acknowledged with a sync is kept", dir, oneLine(err))
}

type fullError struct{ text string }

func (e *fullError) Error() string { return e.text }
func (e *fullError) Unwrap() error { return syscall.ENOSPC }

// cause returns the message of a file system error without the path, which the caller names.
func cause(err error) string {
	var path *fs.PathError
	if errors.As(err, &path) {
		err = path.Err
	}
	return oneLine(err)
}

func oneLine(err error) string { return strings.Join(strings.Fields(err.Error()), " ") }
