package lab

import (
	"context"
	"net"
	"os"
	"path/filepath"
)

// maxSocketPath is the length of a socket's path that every kernel accepts.
const maxSocketPath = 100

// listenIn listens on the socket in the directory of a lab. Only the owner may connect.
func listenIn(dir string) (net.Listener, error) {
	path, done, err := shortPath(dir)
	if err != nil {
		return nil, err
	}
	defer done()
	_ = os.Remove(filepath.Join(dir, socketFile)) // of a supervisor that was killed; there is only one at a time
	l, err := net.Listen("unix", path)
	if err != nil {
		return nil, err
	}
	l.(*net.UnixListener).SetUnlinkOnClose(false) // its path may lead through a descriptor that is closed
	return l, os.Chmod(filepath.Join(dir, socketFile), 0o600)
}

func dialIn(ctx context.Context, dir string) (net.Conn, error) {
	path, done, err := shortPath(dir)
	if err != nil {
		return nil, err
	}
	defer done()
	return new(net.Dialer).DialContext(ctx, "unix", path)
}
