package fleet

import (
	"os/exec"
	"runtime"
	"syscall"
)

// attach makes the process die with this one, even if this one is killed. Ctrl-C on a terminal goes to this
// process alone, which passes it on in its own way.
func attach(cmd *exec.Cmd) {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Setpgid, cmd.SysProcAttr.Pdeathsig = true, syscall.SIGKILL
}

// onOwnThread runs f in a goroutine with a thread of its own. The kernel sends the signal of attach when the
// thread that started the process ends, not when the whole program does.
func onOwnThread(f func()) {
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		f()
	}()
}
