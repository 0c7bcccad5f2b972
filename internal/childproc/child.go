// Package childproc starts programs that must not outlive this process. On Linux the kernel kills them when this
// process ends, even by SIGKILL. Elsewhere they are ordinary children.
package childproc

import (
	"os/exec"
	"syscall"
)

// Start starts a program that ends with this process. See [Attributes].
func Start(cmd *exec.Cmd) error {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	Attributes(cmd.SysProcAttr)
	return start(cmd)
}
