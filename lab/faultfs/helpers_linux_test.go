package faultfs

import (
	"os"
	"os/exec"
	"testing"

	"golang.org/x/sys/unix"
)

func fdatasync(f *os.File) error { return unix.Fdatasync(int(f.Fd())) }

func punchHole(f *os.File, off, n int64) error {
	return unix.Fallocate(int(f.Fd()), punch|keepSize, off, n)
}

// commandStart starts a program that is expected to be ended by the test.
func commandStart(t *testing.T, name string, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(name, args...)
	must(t, cmd.Start())
	return cmd
}
