package main

import (
	"context"
	"io"
	"os"

	"github.com/plimsoll-bench/plimsoll/internal/replace"
)

// writeOutput writes to what a person named with a flag such as -o: a file, or what stands at its name (see
// [replace.Output]), or standard output for "-".
func writeOutput(ctx context.Context, env *environment, path string, mode os.FileMode,
	write func(io.Writer) error) error {
	if isStdout(env, path) {
		return write(env.stdout)
	}
	return replace.Named(ctx, path, mode, write)
}

// isStdout reports whether a name is that of standard output: "-", /dev/stdout, or the file to which the shell sends
// it. A second description of the same file would overwrite what is in it.
func isStdout(env *environment, path string) bool {
	if path == "-" {
		return true
	}
	f, ok := direct(env.stdout).(*os.File)
	if !ok {
		return false
	}
	own, err := f.Stat()
	named, err2 := os.Stat(path)
	return err == nil && err2 == nil && os.SameFile(own, named)
}
