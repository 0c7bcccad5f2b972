package volume

import (
	"fmt"
	"syscall"

	"github.com/plimsoll-bench/plimsoll/internal/figure"
)

// space is what a filesystem holds, in bytes.
type space struct{ capacity, used, free int64 }

// spaceOf asks the filesystem of a path.
func spaceOf(path string) (space, error) {
	var s syscall.Statfs_t
	if err := syscall.Statfs(path, &s); err != nil {
		return space{}, fmt.Errorf("cannot tell how full %s is: %w", path, err)
	}
	block := int64(s.Bsize)
	return space{capacity: int64(s.Blocks) * block, used: int64(s.Blocks-s.Bfree) * block, free: int64(s.Bavail) * block}, nil
}

// enough refuses disks that could not fill: a sparse file takes its space only when it is written, and a disk that is
// full below its filesystem loses data.
func enough(dir string, need, promised int64) error {
	s, err := spaceOf(dir)
	if err != nil {
		return err
	}
	if s.free-promised >= need {
		return nil
	}
	taken := ""
	if promised > 0 {
		taken = fmt.Sprintf(", of which other disks of the lab may take %s", figure.Bytes(promised))
	}
	return fmt.Errorf("its disks can grow to %s, and %s has %s free%s: use a smaller storage size, fewer copies, or storage dir on a larger disk",
		figure.Bytes(need), dir, figure.Bytes(s.free), taken)
}
