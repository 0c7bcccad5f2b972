package lab

import (
	"fmt"
	"os"
	"path/filepath"
)

// shortPath is a path of the socket in dir that is short enough for the kernel. A long path is replaced by one through
// a descriptor of the directory, which done closes.
func shortPath(dir string) (path string, done func(), err error) {
	path = filepath.Join(dir, socketFile)
	if len(path) <= maxSocketPath {
		return path, func() {}, nil
	}
	d, err := os.Open(dir)
	if err != nil {
		return "", nil, err
	}
	return fmt.Sprintf("/proc/self/fd/%d/%s", d.Fd(), socketFile), func() { d.Close() }, nil
}
