//go:build !race

package e2e

import (
	"os/exec"
	"syscall"
)

// dieWithParent kills a program when the tests are killed, so that no server is left.
func dieWithParent(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}
