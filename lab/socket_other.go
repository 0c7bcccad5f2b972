//go:build !linux

package lab

import (
	"fmt"
	"path/filepath"
)

// shortPath is the path of the socket in dir, if the kernel can take it.
func shortPath(dir string) (path string, done func(), err error) {
	path = filepath.Join(dir, socketFile)
	if len(path) > maxSocketPath {
		return "", nil, fmt.Errorf("the path %s is too long for a socket. Set PLIMSOLL_HOME to a shorter path", path)
	}
	return path, func() {}, nil
}
