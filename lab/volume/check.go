package volume

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/spec"
)

// Check says whether a number of volumes of a layout could be made: where their disks would stand there is a
// directory, with room for all of them if they fill. base is where the lab keeps its own files; nothing of it has to
// exist yet. It changes nothing.
func Check(p spec.Storage, l record.LabLayout, volumes int, base string) error {
	dir := base
	if p.Dir != "" {
		dir = p.Dir
		fi, err := os.Stat(dir)
		if err != nil {
			return fmt.Errorf("storage: dir: %w: make the directory first, or name another", err)
		}
		if !fi.IsDir() {
			return fmt.Errorf("storage: dir: %s is not a directory: name one", dir)
		}
	}
	if l.Disks == 0 || volumes == 0 {
		return nil
	}
	for {
		_, err := os.Stat(dir)
		if err == nil {
			break
		}
		if !errors.Is(err, os.ErrNotExist) || dir == filepath.Dir(dir) {
			return fmt.Errorf("storage: cannot tell how much room there is: %w", err)
		}
		dir = filepath.Dir(dir)
	}
	if err := enough(dir, int64(volumes)*int64(l.Disks)*l.DiskSize, 0); err != nil {
		return fmt.Errorf("storage: the lab does not fit: %w", err)
	}
	return nil
}
