// Package files makes and removes the test files of a probe in a separate directory below the probed one. After a kill
// -9 the next probe in the same directory removes the files: only those with names of this package, in a directory with
// the mark of this package that is not locked by a living process.
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

	"golang.org/x/sys/unix"

	"github.com/plimsoll-bench/plimsoll/internal/expression"
)

// Prefix begins the names of all directories with test files.
const Prefix = "plimsoll-probe-"

// owner is a file in each of them that its process locks; mark is the start of its content.
const (
	owner = "owner"
	mark  = "test files of plimsoll disk; a later probe in this directory removes them\n"
)

// ours matches the names of test files.
var ours = expression.New(`^(owner|data|proof-[0-9]|journal-[0-9]{10}|table-[0-9]{3})$`)

// databases are files that identify the directory of a database or a part of it, such as its journal.
var databases = map[string]string{
	"WiredTiger": "MongoDB", "WiredTiger.wt": "MongoDB", "mongod.lock": "MongoDB", "storage.bson": "MongoDB", "WiredTigerLog.*": "MongoDB", "collection-*.wt": "MongoDB",
	"PG_VERSION": "PostgreSQL", "postmaster.pid": "PostgreSQL", "ibdata1": "MySQL", "aria_log_control": "MariaDB", "CURRENT": "LevelDB, RocksDB or Pebble", "appendonlydir": "Redis",
}

// RefusedError is the reason why a directory is not probed. If Forced is true, the option --force overrides it.
type RefusedError struct {
	Text   string
	Forced bool // --force lets it through
}

func (e *RefusedError) Error() string { return e.Text }

// Refuse returns an error if a directory must not be probed.
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
	escaped := regexp.MustCompile(`[*?[\\]`).ReplaceAllString(dir, `\$0`) // escape the pattern
	for name, what := range databases {
		if found, err := filepath.Glob(filepath.Join(escaped, name)); err == nil && len(found) > 0 {
			return &RefusedError{Forced: true, Text: fmt.Sprintf(
				"%s holds a database (%s: %s), which the probe would slow down: use an empty directory next to it on the same filesystem, or --force", dir, what, filepath.Base(found[0]))}
		}
	}
	if err := unix.Access(dir, unix.W_OK|unix.X_OK); err != nil {
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

// Set has the test files of one probe.
type Set struct {
	dir  string
	lock *os.File
}

// Open makes the directory of test files below dir. It first removes those of dead probes and returns their names.
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

// Path returns the path of a test file. Sweep must know its name.
func (s *Set) Path(name string) string { return filepath.Join(s.dir, name) }

// JournalName is the name of a segment of the journal.
func JournalName(number int) string { return fmt.Sprintf("journal-%010d", number) }

// TableName is the name of a file that checkpoints write to.
func TableName(number int) string { return fmt.Sprintf("table-%03d", number) }

// ProofName is the name of the file of a power cut.
func ProofName(number int) string { return fmt.Sprintf("proof-%d", number) }

// Data is the name of the file of random reads and writes.
const Data = "data"

// Remove removes all files and the directory. It may be called repeatedly.
func (s *Set) Remove() {
	clear(s.dir)
	if s.lock != nil {
		s.lock.Close()
	}
	_ = os.Remove(s.dir) // fails if there are other files
}

// clear removes the files of a probe from a directory, the owner last.
func clear(dir string) {
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		if e.Name() != owner && ours().MatchString(e.Name()) && e.Type().IsRegular() {
			_ = os.Remove(filepath.Join(dir, e.Name()))
		}
	}
	_ = os.Remove(filepath.Join(dir, owner))
}

// Sweep removes the test files of killed probes, and returns the directories.
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

// dead removes the directory of a dead probe, and reports whether the probe was dead.
func dead(path string) bool {
	f, err := os.OpenFile(filepath.Join(path, owner), os.O_RDWR|syscall.O_NOFOLLOW, 0)
	if err != nil {
		// A probe that is killed after it has made the directory leaves it empty.
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

// FullError is returned if the disk is full.
type FullError struct{ Text string }

func (e *FullError) Error() string { return e.Text }

// explain turns an error of the filesystem into one line with advice.
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
	what := "write test files"
	var pe *fs.PathError
	if errors.As(err, &pe) && (pe.Op == "read" || pe.Op == "sync") {
		what = pe.Op + " a test file"
	}
	return fmt.Errorf("cannot %s in %s (%w): %s", what, dir, cause(err), todo)
}

// Explain turns an error of a test file into one line with advice.
func (s *Set) Explain(err error) error {
	if err == nil {
		return nil
	}
	return explain(filepath.Dir(s.dir), err)
}

// Release closes all files, so that the filesystem can be unmounted. Afterwards another probe may remove the files as
// those of a dead probe. It may be called repeatedly.
func (s *Set) Release() error {
	if s.lock == nil {
		return nil
	}
	err := s.lock.Close()
	s.lock = nil
	return err
}
