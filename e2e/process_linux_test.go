//go:build !race

package e2e

import (
	"os/exec"
	"runtime"
	"syscall"
)

// startDying starts a program that the kernel kills with the tests, so no server remains. The kernel does so when the
// starting thread ends. Threads can end with goroutines that lock them, as those do that enter namespaces, so the
// program gets its own thread, which never ends.
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
