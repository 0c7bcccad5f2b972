//go:build !linux

package childproc

import (
	"os/exec"
	"syscall"
)

// Attributes put a child into a process group of its own, so that an interrupt typed at the terminal reaches this
// process alone.
func Attributes(a *syscall.SysProcAttr) { a.Setpgid = true }

// OwnThread runs f in a goroutine: there is no parent-death signal to keep a thread for.
func OwnThread(f func()) { go f() }

func start(cmd *exec.Cmd) error { return cmd.Start() }
