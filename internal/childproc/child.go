// Package childproc is the only place of Plimsoll that makes commands for other programs. It asks the permit of the
// context whether the program may be started.
//
// Programs started by [Start] do not outlive this process. On Linux the kernel kills them when this process ends, even
// by SIGKILL. Elsewhere they are ordinary children.
package childproc

import (
	"context"
	"os/exec"
	"syscall"

	"github.com/plimsoll-bench/plimsoll/internal/permit"
)

// Command is [exec.Command] for a program that ctx permits. Otherwise every start of the command returns the refusal.
func Command(ctx context.Context, name string, args ...string) *exec.Cmd {
	return checked(ctx, exec.Command(name, args...))
}

// CommandContext is [exec.CommandContext] for a program that ctx permits: the program is killed when ctx is done.
// Otherwise every start of the command returns the refusal.
func CommandContext(ctx context.Context, name string, args ...string) *exec.Cmd {
	return checked(ctx, exec.CommandContext(ctx, name, args...))
}

func checked(ctx context.Context, cmd *exec.Cmd) *exec.Cmd {
	if err := permit.Check(ctx, permit.Execute, cmd.Args[0]); err != nil {
		cmd.Err = err
	}
	return cmd
}

// Start starts a program that ends with this process. See [Attributes].
func Start(cmd *exec.Cmd) error {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	Attributes(cmd.SysProcAttr)
	return start(cmd)
}
