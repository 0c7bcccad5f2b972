package volume

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/spec"
)

// Check returns an error if a number of volumes of a layout cannot be made: the directory of the disks must exist and
// have space for all disks when they are full. base is the directory of the labs, which need not exist. Check changes
// nothing.
func Check(p spec.Storage, l record.LabLayout, volumes int, base string) error {
	dir := base
	if p.Dir != "" {
		dir = p.Dir
		fi, err := os.Stat(dir)
		if err != nil {
			return fmt.Errorf("storage: dir: %w. Make the directory first, or name another one", err)
		}
		if !fi.IsDir() {
			return fmt.Errorf("storage: dir: %s is not a directory", dir)
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
			return fmt.Errorf("storage: cannot read the free space: %w", err)
		}
		dir = filepath.Dir(dir)
	}
	if err := checkSpace(dir, int64(volumes)*int64(l.Disks)*l.DiskSize, 0); err != nil {
		return fmt.Errorf("storage: the lab does not fit: %w", err)
	}
	return nil
}
