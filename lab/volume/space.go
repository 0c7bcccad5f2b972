package volume

import (
	"fmt"
	"syscall"

	"github.com/plimsoll-bench/plimsoll/internal/figure"
)

// space of a filesystem, in bytes.
type space struct{ capacity, used, free int64 }

func spaceOf(path string) (space, error) {
	var s syscall.Statfs_t
	if err := syscall.Statfs(path, &s); err != nil {
		return space{}, fmt.Errorf("cannot read the space of %s: %w", path, err)
	}
	block := int64(s.Bsize)
	return space{capacity: int64(s.Blocks) * block, used: int64(s.Blocks-s.Bfree) * block,
		free: int64(s.Bavail) * block}, nil
}

// checkSpace returns an error if disks do not have enough space when they are full. Their files are sparse, and a
// filesystem loses data if the file of its disk cannot grow. growth is how much other disks of the lab can still grow.
func checkSpace(dir string, need, growth int64) error {
	s, err := spaceOf(dir)
	if err != nil {
		return err
	}
	if s.free-growth >= need {
		return nil
	}
	others := ""
	if growth > 0 {
		others = fmt.Sprintf(", of which other disks of the lab may use %s", figure.Bytes(growth))
	}
	return fmt.Errorf("the disks can grow to %s, but %s has only %s free%s. "+
		"Use a smaller storage.size, fewer copies, or storage.dir on a larger disk",
		figure.Bytes(need), dir, figure.Bytes(s.free), others)
}
