package witness

import (
	"os"

	"golang.org/x/sys/unix"
)

// dataSync makes a file durable as WiredTiger does.
func dataSync(f *os.File) error { return unix.Fdatasync(int(f.Fd())) }
