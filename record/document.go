package record

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/plimsoll-bench/plimsoll/internal/safeopen"
)

// readDocument reads the main file of a record of one kind in dir into v. noun is its name in errors: "drill". If v has
// a method check, its error makes the document damaged. It bounds the numbers from which memory is allocated.
func readDocument(dir, file, kind, noun string, v any) error {
	b, err := safeopen.ReadFile(dir, file, safeopen.MaxDocument)
	if err != nil {
		switch info, missing := os.Stat(dir); {
		case errors.Is(missing, fs.ErrNotExist):
			return fmt.Errorf("%s does not exist. Give the directory of a %s", dir, noun)
		case missing == nil && !info.IsDir():
			return fmt.Errorf("%s is a file. Give the directory of a %s%s", dir, noun, directoryOf(dir))
		case errors.Is(err, fs.ErrNotExist):
			return fmt.Errorf("%s holds no %s: there is no %s in it", dir, noun, file)
		}
		return fmt.Errorf("cannot read the %s in %s: %s: %w", noun, dir, file, cause(err))
	}
	return parseDocument(filepath.Join(dir, file), b, kind, v)
}

// directoryOf names the directory of a file of a record, "" if it is none.
func directoryOf(file string) string {
	if dir := filepath.Dir(file); KindIn(dir) != "" {
		return ", such as " + dir
	}
	return ""
}

// checked is a document that knows which of its values cannot be.
type checked interface{ check() error }

func parseDocument(path string, b []byte, kind string, v any) error {
	if err := checkHead(path, b, kind); err != nil {
		return err
	}
	err := safeopen.Unmarshal(b, v)
	if c, ok := v.(checked); ok && err == nil {
		err = c.check()
	}
	if err != nil {
		return fmt.Errorf("%s is damaged: %w", path, err)
	}
	return nil
}

// checkHead checks that a file has a kind and a version that can be read.
func checkHead(path string, b []byte, kind string) error {
	var head struct {
		SchemaVersion string `json:"schema_version"`
		Kind          string `json:"kind"`
	}
	if err := safeopen.Unmarshal(b, &head); err != nil {
		return fmt.Errorf("%s is damaged: %w", path, err)
	}
	major, _, _ := strings.Cut(SchemaVersion, ".")
	if have, _, _ := strings.Cut(head.SchemaVersion, "."); have != major {
		return fmt.Errorf("%s has schema version %q, and this plimsoll reads %s.x. Use the version that wrote it", path, head.SchemaVersion, major)
	}
	if head.Kind != kind {
		return fmt.Errorf("%s is a record of kind %q, not of a %s", path, head.Kind, kind)
	}
	return nil
}

// OpenBelow reads the record of a run in the directory name below top, as a study and a suite name those of their
// trials and parts. It follows no link below top.
func OpenBelow(top, name string) (*Run, error) {
	dir, err := Below(top, name)
	if err != nil {
		return nil, err
	}
	return OpenRun(dir)
}

// Below returns the directory name below top, as a suite names those of its parts. It follows no link below top.
func Below(top, name string) (string, error) {
	dir, err := safeopen.Dir(top, filepath.ToSlash(name))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", fmt.Errorf("the record in %s lacks %s (%w). Copy the whole directory of a record, with all that is in it",
			top, filepath.ToSlash(name), fs.ErrNotExist)
	case err != nil:
		return "", fmt.Errorf("cannot read a record in %s: %w", top, err)
	}
	return dir, nil
}
