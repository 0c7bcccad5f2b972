//go:build unix && !linux

package fleet

import (
	"os/exec"
	"syscall"
)

// attach keeps Ctrl-C on a terminal from the process: this one passes it on in its own way. That it dies with
// this one is its own business here: its input ends.
func attach(cmd *exec.Cmd) {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Setpgid = true
}

// onOwnThread runs f in a goroutine.
func onOwnThread(f func()) { go f() }
