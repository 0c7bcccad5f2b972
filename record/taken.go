package record

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

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

// begun refuses a directory in which a study or a suite was begun. An empty journal is what one leaves that was killed before
// it could write anything else.
func begun(dir, what, file, journal string) error {
	for _, name := range []string{file, journal} {
		if info, err := os.Lstat(filepath.Join(dir, name)); err == nil && (name != journal || info.Size() > 0) {
			return &takenError{fmt.Sprintf("%s already holds a %s (%s is there): go on with it (plimsoll study resume %s), or choose another directory (--out)",
				dir, what, name, dir)}
		}
	}
	return nil
}
