package lab

import (
	"context"
	"io/fs"
	"path/filepath"
	"syscall"
)

// bytesIn is the disk usage of a directory in bytes, as du counts it: a file with several hard links once, and no
// holes. If ctx ends, it is the usage that was found by then.
func bytesIn(ctx context.Context, dir string) int64 {
	var sum int64
	linked := map[uint64]bool{}
	_ = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if ctx.Err() != nil {
			return filepath.SkipAll
		}
		if err != nil {
			return nil // a server removes files all the time
		}
		info, err := d.Info()
		if err != nil {
			return nil
		}
		st, ok := info.Sys().(*syscall.Stat_t)
		if !ok {
			sum += info.Size()
			return nil
		}
		if !d.IsDir() && st.Nlink > 1 {
			if linked[st.Ino] {
				return nil
			}
			linked[st.Ino] = true
		}
		sum += st.Blocks * 512
		return nil
	})
	return sum
}

// filesystemOf is the device number of the filesystem of a directory.
func filesystemOf(dir string) (uint64, error) {
	var st syscall.Stat_t
	if err := syscall.Stat(dir, &st); err != nil {
		return 0, &fs.PathError{Op: "stat", Path: dir, Err: err}
	}
	return uint64(st.Dev), nil
}
