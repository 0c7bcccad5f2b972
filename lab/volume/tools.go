package volume

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/plimsoll-bench/plimsoll/lab/process"
)

// tools run the system's programs, or those of a directory.
type tools struct{ dir string }

// run runs a program to its end and returns what it printed.
func (t tools) run(ctx context.Context, args ...string) (string, error) {
	path, err := lookProgram(t.dir, args[0])
	if err != nil {
		return "", fmt.Errorf("%s is not installed: %w", args[0], err)
	}
	// A language of its own would change what is parsed; LVM would complain about descriptors that are not its own.
	env := []string{"LC_ALL=C", "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "LVM_SUPPRESS_FD_WARNINGS=1"}
	out, err := process.Run(ctx, process.Spec{Role: args[0], Path: path, Args: args[1:], Env: env}, io.Discard)
	return string(out), err
}

// runAll runs commands in order until one fails.
func (t tools) runAll(ctx context.Context, commands [][]string) error {
	for _, c := range commands {
		if _, err := t.run(ctx, c...); err != nil {
			return err
		}
	}
	return nil
}

// pause waits a moment before something is asked again.
func pause(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(200 * time.Millisecond):
		return ctx.Err()
	}
}
