// Package files keeps the test files of a probe: in a directory of their own below the one that is probed, reserved,
// aligned, and removed whatever happens. After a kill -9 the next probe in the same directory removes what the dead
// one left: only files with the names that are made here, in a directory with the mark that is made here and that no
// living process has locked.
package files

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
)

// Prefix begins the names of all directories with test files.
const Prefix = "plimsoll-probe-"

// owner is the file in each of them that is locked as long as its process lives; mark is what it begins with.
const (
	owner = "owner"
	mark  = "test files of plimsoll disk; a later probe in this directory removes them\n"
)

// ours are the names of files that a probe makes.
var ours = regexp.MustCompile(`^(owner|data|proof|journal-[0-9]{10}|table-[0-9]{3})$`)

// databases are files by which the directory of a database is known, or a part of it: its journal, and the directory of
// one database among several.
var databases = map[string]string{
	"WiredTiger": "MongoDB", "WiredTiger.wt": "MongoDB", "mongod.lock": "MongoDB", "storage.bson": "MongoDB", "WiredTigerLog.*": "MongoDB", "collection-*.wt": "MongoDB",
	"PG_VERSION": "PostgreSQL", "postmaster.pid": "PostgreSQL", "ibdata1": "MySQL", "aria_log_control": "MariaDB", "CURRENT": "LevelDB, RocksDB or Pebble", "appendonlydir": "Redis",
}

// RefusedError says why a directory is not probed, and that force changes it where it does.
type RefusedError struct {
	Text   string
	Forced bool // --force lets it through
}

func (e *RefusedError) Error() string { return e.Text }

// Refuse looks for reasons not to write into a directory.
func Refuse(dir string) error {
	info, err := os.Stat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return &RefusedError{Text: fmt.Sprintf("there is no directory %s: make it, or use another one", dir)}
	case err != nil:
		return &RefusedError{Text: fmt.Sprintf("cannot read %s: %v", dir, cause(err))}
	case info.Mode()&os.ModeDevice != 0:
		return &RefusedError{Text: fmt.Sprintf("%s is a device, and a probe would destroy its data: use a directory on a filesystem of it", dir)}
	case !info.IsDir():
		return &RefusedError{Text: fmt.Sprintf("%s is not a directory: use a directory on the storage to be probed", dir)}
	}
	escaped := regexp.MustCompile(`[*?[\\]`).ReplaceAllString(dir, `\$0`) // not to be taken for a pattern
	for name, what := range databases {
		if found, err := filepath.Glob(filepath.Join(escaped, name)); err == nil && len(found) > 0 {
			return &RefusedError{Forced: true, Text: fmt.Sprintf(
				"%s holds a database (%s: %s), which the probe would slow down: use an empty directory next to it on the same filesystem, or --force", dir, what, filepath.Base(found[0]))}
		}
	}
	if err := writable(dir); err != nil {
		return &RefusedError{Text: explain(dir, err).Error()}
	}
	return nil
}

func cause(err error) error {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		return pe.Err
	}
	return err
}

// Set is the test files of one probe.
type Set struct {
	dir  string
	lock *os.File
}

// Open makes the directory of test files below dir. It first removes what dead probes left, and says of what.
func Open(dir string) (s *Set, removed []string, err error) {
	removed = Sweep(dir)
	sub, err := os.MkdirTemp(dir, Prefix)
	if err != nil {
		return nil, removed, explain(dir, err)
	}
	s = &Set{dir: sub}
	if s.lock, err = os.OpenFile(filepath.Join(sub, owner), os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600); err != nil {
		return nil, removed, errors.Join(explain(dir, err), os.Remove(sub))
	}
	_, err = s.lock.WriteString(mark)
	if err = errors.Join(err, lock(s.lock)); err != nil {
		s.Remove()
		return nil, removed, explain(dir, err)
	}
	return s, removed, nil
}

// Dir is the directory of the files.
func (s *Set) Dir() string { return s.dir }

// Path is the path of a test file; its name must be one that a sweep knows.
func (s *Set) Path(name string) string { return filepath.Join(s.dir, name) }

// JournalName is the name of a segment of the journal.
func JournalName(number int) string { return fmt.Sprintf("journal-%010d", number) }

// TableName is the name of a file that checkpoints write to.
func TableName(number int) string { return fmt.Sprintf("table-%03d", number) }

// Data and Proof are the names of the file of random reads and writes, and of the file of a power cut.
const (
	Data  = "data"
	Proof = "proof"
)

// Remove removes all files and the directory. It may be called more than once.
func (s *Set) Remove() {
	clear(s.dir)
	if s.lock != nil {
		s.lock.Close()
	}
	_ = os.Remove(s.dir) // what is not ours keeps it there
}

// clear removes the files of a probe from a directory, the owner last.
func clear(dir string) {
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		if e.Name() != owner && ours.MatchString(e.Name()) && e.Type().IsRegular() {
			_ = os.Remove(filepath.Join(dir, e.Name()))
		}
	}
	_ = os.Remove(filepath.Join(dir, owner))
}

// Sweep removes what probes left that were killed, and returns the directories.
func Sweep(dir string) (removed []string) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil
	}
	for _, e := range entries {
		if path := filepath.Join(dir, e.Name()); e.IsDir() && strings.HasPrefix(e.Name(), Prefix) && dead(path) {
			removed = append(removed, path)
		}
	}
	return removed
}

// dead removes the directory of a dead probe and reports whether it was one.
func dead(path string) bool {
	f, err := os.OpenFile(filepath.Join(path, owner), os.O_RDWR|syscall.O_NOFOLLOW, 0)
	if err != nil {
		// A probe that was killed between making the directory and its owner left it empty.
		return errors.Is(err, fs.ErrNotExist) && os.Remove(path) == nil
	}
	defer f.Close()
	content := make([]byte, len(mark))
	if n, _ := f.ReadAt(content, 0); n > 0 && string(content[:n]) != mark[:n] {
		return false
	}
	if lock(f) != nil {
		return false // its process lives
	}
	clear(path)
	return os.Remove(path) == nil
}

// FullError says that there is no room.
type FullError struct{ Text string }

func (e *FullError) Error() string { return e.Text }

// explain turns an error of the filesystem into one line that says what to do.
func explain(dir string, err error) error {
	todo := "check the directory"
	switch {
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return &FullError{fmt.Sprintf("%s is full (%v): free space, or probe with a smaller --size", dir, cause(err))}
	case errors.Is(err, syscall.EROFS):
		todo = "the filesystem is read-only: mount it for writing, or choose another directory"
	case errors.Is(err, fs.ErrPermission):
		todo = "choose a directory that you may write to, or ask for the right"
	case errors.Is(err, syscall.EIO):
		todo = "the device reports errors: look at the kernel's log (dmesg)"
	}
	return fmt.Errorf("cannot write test files in %s (%w): %s", dir, cause(err), todo)
}

// Explain turns an error of reading or writing a test file into one line that says what to do.
func (s *Set) Explain(err error) error {
	if err == nil {
		return nil
	}
	return explain(filepath.Dir(s.dir), err)
}

// Release closes what is open, so that the filesystem can be unmounted. Files of a set that was released can be taken
// for those of a dead probe.
func (s *Set) Release() error {
	err := s.lock.Close()
	s.lock = nil
	return err
}
