//go:build !race

package e2e

import (
	"os/exec"
	"runtime"
	"syscall"
)

// startDying starts a program that is killed when the tests are, so that no server is left. The kernel kills it when
// the thread ends that started it, and threads of the runtime end with goroutines that took one for themselves, as
// those do that enter namespaces. So it gets a thread that nothing else uses and that never ends.
func startDying(cmd *exec.Cmd) error {
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	started := make(chan error)
	go func() {
		runtime.LockOSThread()
		started <- cmd.Start()
		select {}
	}()
	return <-started
}
