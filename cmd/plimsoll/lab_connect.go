package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/plimsoll-bench/plimsoll/internal/childproc"
	"github.com/plimsoll-bench/plimsoll/internal/nearest"
	"github.com/plimsoll-bench/plimsoll/lab"
	"github.com/plimsoll-bench/plimsoll/run"
	"github.com/plimsoll-bench/plimsoll/spec"
)

func newLabConnectCommand(env *environment) *cobra.Command {
	var level string
	cmd := &cobra.Command{
		Use:   "connect NAME [-- PROGRAM…]",
		Short: "Print the address of a lab with user and password, or start a program with it",
		Long: `Print the address of a lab with user and password, or start a program with it.

The program gets the address in PLIMSOLL_LAB_URI, and in place of each {} in its arguments. mongosh and mongo get
it as their first argument.

With documentdb, each durability level has its own address ('plimsoll lab status' lists them). With mongod, the
address gets the options w and journal of the level. With a single member, majority is the same as durable.

Exit codes: that of the program, 127 program not found, 126 program not executable.`,
		Example: `  plimsoll lab connect three
  plimsoll lab connect three --durability durable
  plimsoll lab connect three -- mongosh
  plimsoll lab connect three -- mongodump --uri={} --out=dump`,
		Args:              someArguments(true, "the name of a lab"),
		ValidArgsFunction: labNames(env),
		RunE: func(cmd *cobra.Command, args []string) error {
			uri, err := labAddress(cmd.Context(), env, args[0], level)
			if err != nil {
				return err
			}
			if len(args) == 1 {
				_, err := fmt.Fprintln(direct(env.stdout), uri)
				return err
			}
			return startWith(cmd.Context(), env, args[1:], args[0], uri)
		},
	}
	cmd.Flags().StringVar(&level, "durability", "", "durability `level` of the address: throughput, balanced, durable or majority")
	_ = cmd.RegisterFlagCompletionFunc("durability", completions("throughput", "balanced", "durable", "majority"))
	return cmd
}

// labAddress returns the address of a lab for a durability level.
func labAddress(ctx context.Context, env *environment, name, level string) (string, error) {
	var addresses map[string]string
	err := withLab(ctx, env, name, func(h *lab.Handle) (err error) {
		addresses, err = h.Addresses(ctx)
		return err
	})
	if err != nil {
		return "", err
	}
	if len(addresses) == 0 {
		return "", withExit(exitUsage, noDatabase(name))
	}
	if uri, ok := addresses[level]; ok {
		return uri, nil
	}
	known := slices.DeleteFunc(slices.Sorted(maps.Keys(addresses)), func(s string) bool { return s == "" })
	if len(known) == 0 { // one address for all levels: its options set the level
		known = slices.Sorted(maps.Keys(levels))
		if d, ok := levels[level]; ok {
			return run.WithConcern(addresses[""], run.Concern(d))
		}
	}
	return "", usageError("--durability: unknown level %q%s (known: %s)", level, nearest.DidYouMean(level, known), strings.Join(known, ", "))
}

// levels are the durability levels that options of a mongod address can set.
var levels = map[string]spec.Durability{
	"throughput": {Name: "throughput"}, "balanced": {Name: "balanced"}, "durable": {Name: "durable"}, "majority": {W: "majority"},
}

func noDatabase(name string) error {
	return fmt.Errorf("the lab %s has no database (engine: none), so it has no address; probe its volumes with plimsoll disk lab:%[1]s/VOLUME", name)
}

// startWith runs a program with an address, on this terminal.
func startWith(ctx context.Context, env *environment, words []string, name, uri string) error {
	args := slices.Clone(words[1:])
	for i, a := range args {
		args[i] = strings.ReplaceAll(a, "{}", uri)
	}
	if base := filepath.Base(words[0]); base == "mongosh" || base == "mongo" {
		args = append([]string{uri}, args...)
	}
	path, err := findProgram(words[0])
	if err != nil {
		return err
	}
	cmd := childproc.Command(ctx, path, args...)
	cmd.Env = append(cmd.Environ(), "PLIMSOLL_LAB="+name, "PLIMSOLL_LAB_URI="+uri)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = env.stdin, direct(env.stdout), direct(env.stderr)
	signals, stop := env.signals() // Ctrl-C is for the program, which has the same terminal
	defer stop()
	_ = signals
	return programError(words[0], cmd.Run())
}

// Exit codes of shells for programs that cannot be started.
const (
	exitNotExecutable = 126
	exitNotFound      = 127
)

// findProgram searches PATH, like a shell.
func findProgram(name string) (path string, err error) {
	path, err = exec.LookPath(name)
	if err == nil {
		path, err = filepath.Abs(path)
	}
	switch {
	case errors.Is(err, exec.ErrNotFound), errors.Is(err, fs.ErrNotExist):
		return "", withExit(exitNotFound, fmt.Errorf("cannot start %s: program not found", name))
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EISDIR):
		return "", withExit(exitNotExecutable, fmt.Errorf("cannot start %s: not executable", name))
	case err != nil:
		return "", usageError("cannot start %s: %w", name, err)
	}
	return path, nil
}

// programError passes on the exit code of a program.
func programError(name string, err error) error {
	var e *exec.ExitError
	if errors.As(err, &e) && e.ExitCode() > 0 {
		return withExit(e.ExitCode(), errSilent)
	}
	if errors.Is(err, syscall.ENOEXEC) || errors.Is(err, fs.ErrPermission) {
		return withExit(exitNotExecutable, fmt.Errorf("cannot start %s: not a program for this machine: %w", name, err))
	}
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}
