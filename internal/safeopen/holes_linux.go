package safeopen

import (
	"errors"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

const holesAreSeen = true

// hasData reports whether a file has at least so many bytes that are no holes. A file system that knows no holes has
// data everywhere. The position is the beginning of the file before and after.
func hasData(f *os.File, size, least int64) bool {
	defer func() { _, _ = f.Seek(0, io.SeekStart) }() // it was there before
	for at := int64(0); at < size && least > 0; {
		begin, err := f.Seek(at, unix.SEEK_DATA)
		if err != nil {
			return !errors.Is(err, unix.ENXIO) // only a hole is left, or the file system does not tell
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
