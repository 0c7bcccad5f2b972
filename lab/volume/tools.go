package volume

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/plimsoll-bench/plimsoll/lab/process"
)

// tools runs programs of a directory; of the system if dir is empty.
type tools struct{ dir string }

// run runs a program to its end and returns its output.
func (t tools) run(ctx context.Context, args ...string) (string, error) {
	path, err := findProgram(t.dir, args[0])
	if err != nil {
		return "", fmt.Errorf("%s is not installed: %w", args[0], err)
	}
	// LC_ALL, because the output is parsed. LVM prints warnings about inherited descriptors otherwise.
	env := []string{"LC_ALL=C", "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
		"LVM_SUPPRESS_FD_WARNINGS=1"}
	out, err := process.Run(ctx, process.Spec{Role: args[0], Path: path, Args: args[1:], Env: env}, io.Discard)
	return string(out), err
}

func (t tools) runAll(ctx context.Context, commands [][]string) error {
	for _, c := range commands {
		if _, err := t.run(ctx, c...); err != nil {
			return err
		}
	}
	return nil
}

func pause(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(200 * time.Millisecond):
		return ctx.Err()
	}
}
