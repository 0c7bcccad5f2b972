package record

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
)

// vacate fails if a directory holds a record. It removes what a failed Create left, for example on a full disk: empty
// files and directories.
func vacate(dir string) error {
	if err := Vacant(dir); err != nil {
		return err
	}
	names := slices.Concat(Files(), allDirs(), []string{SumsFile, StatusFile, ClientsDir, LogsDir, DiagnosticsDir})
	for _, name := range names {
		path := filepath.Join(dir, name)
		info, err := os.Lstat(path)
		switch {
		case err != nil || name == SuitePlan: // a plan is written before its suite, and replaced by the next one
			continue
		case info.Mode().IsRegular() && info.Size() > 0, !info.IsDir() && !info.Mode().IsRegular():
			return taken(dir, name)
		}
		if err := os.Remove(path); err != nil { // a directory that is not empty stays
			return taken(dir, name)
		}
	}
	return nil
}

// removeTemporary removes what a process left that was killed while it replaced a file of a record.
func removeTemporary(dir string) {
	for _, name := range append(MainFiles(), SuitePlan, StatusFile, SumsFile) {
		left, _ := filepath.Glob(filepath.Join(escapeGlob(dir), "."+name+".*")) // the pattern is well-formed
		for _, path := range left {
			_ = os.Remove(path) // harmless if it stays
		}
	}
}

// ErrTaken says that a directory already holds a record. Nothing was written.
var ErrTaken = errors.New("the directory already holds a record")

// takenError is [ErrTaken] with the next step.
type takenError struct{ text string }

func (e *takenError) Error() string        { return e.text }
func (e *takenError) Is(target error) bool { return target == ErrTaken }

func taken(dir, name string) error {
	return &takenError{fmt.Sprintf("%s already holds a record (%s). Choose another directory (--out)", dir, name)}
}

// Vacant returns an [ErrTaken] if a directory holds a record of any kind. It changes nothing.
func Vacant(dir string) error {
	for _, name := range MainFiles() {
		if _, err := os.Lstat(filepath.Join(dir, name)); err == nil {
			return taken(dir, name)
		}
	}
	return nil
}
