package record

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
)

// vacate makes sure that a directory holds no record of any kind. What a record left that could not be begun, for example
// because the disk was full, is removed: empty files and directories, and files that were to replace a main file.
func vacate(dir string) error {
	if err := Vacant(dir); err != nil {
		return err
	}
	names := slices.Concat(Files(), allDirs(), []string{SumsFile, StandingFile, ClientsDir, LogsDir, DiagnosticsDir})
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
	for _, name := range append(MainFiles(), SuitePlan) {
		left, _ := filepath.Glob(filepath.Join(escapeGlob(dir), "."+name+".*")) // the pattern is well-formed
		for _, path := range left {
			_ = os.Remove(path) // it disturbs nobody
		}
	}
	return nil
}

// ErrTaken says that a directory holds a record already. Nothing was written.
var ErrTaken = errors.New("the directory holds a record already")

// takenError is [ErrTaken] with what to do.
type takenError struct{ text string }

func (e *takenError) Error() string        { return e.text }
func (e *takenError) Is(target error) bool { return target == ErrTaken }

func taken(dir, name string) error {
	return &takenError{fmt.Sprintf("%s already holds a record (%s is there): choose another directory (--out)", dir, name)}
}

// Vacant refuses a directory that holds a record of any kind, with an error that wraps [ErrTaken]. It changes nothing.
func Vacant(dir string) error {
	for _, name := range MainFiles() {
		if _, err := os.Lstat(filepath.Join(dir, name)); err == nil {
			return taken(dir, name)
		}
	}
	return nil
}
