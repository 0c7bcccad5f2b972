package safeopen

import (
	"errors"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

const holesAreSeen = true

// hasData reports whether a file has at least least bytes outside of holes. A file system without holes has data
// everywhere. The position of f is its start before and after.
func hasData(f *os.File, size, least int64) bool {
	defer func() { _, _ = f.Seek(0, io.SeekStart) }()
	for at := int64(0); at < size && least > 0; {
		begin, err := f.Seek(at, unix.SEEK_DATA)
		if err != nil {
			return !errors.Is(err, unix.ENXIO) // ENXIO: the rest is a hole; otherwise the file system does not report holes
		}
		end, err := f.Seek(begin, unix.SEEK_HOLE)
		if err != nil {
			return true
		}
		least -= end - begin
		at = end
	}
	return least <= 0
}
