package childproc

import (
	"os/exec"
	"runtime"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// Attributes make a child end with the thread that starts it, and put it into a process group of its own, so that an
// interrupt typed at the terminal reaches this process alone. Start the child with [Start], or in [OwnThread] if the
// function waits for the child: the kernel sends the parent-death signal when the thread ends, not the process, and the
// runtime of Go ends a thread together with a goroutine that is locked to it.
func Attributes(a *syscall.SysProcAttr) { a.Setpgid, a.Pdeathsig = true, syscall.SIGKILL }

// OwnThread runs f in a goroutine on a thread that nothing else uses and that ends with f. It is never the main thread,
// because that thread cannot end, and /proc/self shows its namespaces.
func OwnThread(f func()) {
	go func() {
		runtime.LockOSThread()
		if unix.Gettid() != unix.Getpid() {
			f() // returns without unlocking, which ends the thread
			return
		}
		done := make(chan struct{}) // occupy the main thread while another one is found
		OwnThread(func() { defer close(done); f() })
		<-done
		runtime.UnlockOSThread()
	}()
}

type request struct {
	cmd     *exec.Cmd
	started chan error
}

// starter serves the requests of start on one thread that never ends.
var starter = sync.OnceValue(func() chan<- request {
	requests := make(chan request)
	OwnThread(func() {
		for r := range requests {
			r.started <- r.cmd.Start()
		}
	})
	return requests
})

func start(cmd *exec.Cmd) error {
	r := request{cmd, make(chan error)}
	starter() <- r
	return <-r.started
}
