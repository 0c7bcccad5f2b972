// Command usage runs a command and prints what it used: processor time in µs, elapsed time in µs and the peak of its
// memory in KiB, then its exit code. It is a program of its own because the kernel counts the memory of the process
// that starts another one as that of the new one, and this one is small.
package main

import (
	"fmt"
	"os"
	"syscall"
	"time"
)

func main() {
	if len(os.Args) < 2 {
		fmt.Fprintln(os.Stderr, "usage: usage PROGRAM [ARGUMENT...]")
		os.Exit(2)
	}
	nothing, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	began := time.Now()
	p, err := os.StartProcess(os.Args[1], os.Args[1:], &os.ProcAttr{Files: []*os.File{nil, nothing, nothing}})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	state, err := p.Wait()
	took := time.Since(began)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	memory := int64(0)
	if u, ok := state.SysUsage().(*syscall.Rusage); ok {
		memory = u.Maxrss
	}
	fmt.Println((state.UserTime() + state.SystemTime()).Microseconds(), took.Microseconds(), memory, state.ExitCode())
}
