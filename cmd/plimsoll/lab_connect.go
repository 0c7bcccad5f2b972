package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/plimsoll-bench/plimsoll/internal/nearest"
	"github.com/plimsoll-bench/plimsoll/lab"
)

func newLabConnectCommand(env *environment) *cobra.Command {
	var level string
	cmd := &cobra.Command{
		Use:   "connect NAME [-- PROGRAM…]",
		Short: "Print the address of a lab with user and password, or start a program with it",
		Long: `Print the address of a lab with user and password, or start a program with it.

The program finds the address in PLIMSOLL_LAB_URI and wherever {} stands among its arguments; mongosh and mongo get
it as their first argument. Its exit code is that of this command.`,
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
				_, err := fmt.Fprintln(env.stdout, uri)
				return err
			}
			return startWith(env, args[1:], args[0], uri)
		},
	}
	cmd.Flags().StringVar(&level, "durability", "", "the level that its servers are to stand for, where each level has servers of its own (documentdb)")
	return cmd
}

// labAddress is the address of a lab for a durability level.
func labAddress(ctx context.Context, env *environment, name, level string) (string, error) {
	h, err := openLab(ctx, env, name)
	if err != nil {
		return "", err
	}
	defer h.Close()
	addresses, err := h.Addresses(ctx)
	if err != nil {
		return "", labError(err)
	}
	if uri, ok := addresses[level]; ok {
		return uri, nil
	}
	known := slices.DeleteFunc(slices.Sorted(maps.Keys(addresses)), func(s string) bool { return s == "" })
	if len(known) == 0 {
		return "", usageError("the servers of %s have every durability at one address; leave --durability out, and clients say it with each write", name)
	}
	return "", usageError("--durability: unknown level %q%s (known: %s)", level, nearest.DidYouMean(level, known), strings.Join(known, ", "))
}

// startWith runs a program that uses an address, on this terminal.
func startWith(env *environment, words []string, name, uri string) error {
	args := slices.Clone(words[1:])
	for i, a := range args {
		args[i] = strings.ReplaceAll(a, "{}", uri)
	}
	if base := filepath.Base(words[0]); base == "mongosh" || base == "mongo" {
		args = append([]string{uri}, args...)
	}
	path, err := exec.LookPath(words[0])
	if err != nil {
		return usageError("cannot start %s: %w", words[0], err)
	}
	cmd := exec.Command(path, args...)
	cmd.Env = append(cmd.Environ(), "PLIMSOLL_LAB="+name, "PLIMSOLL_LAB_URI="+uri)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = env.stdin, env.stdout, env.stderr
	signals, stop := env.signals() // Ctrl-C is for the program, which has this terminal too
	defer stop()
	_ = signals
	return programError(words[0], cmd.Run())
}

// programError makes the exit code of a program that of this command.
func programError(name string, err error) error {
	var e *exec.ExitError
	if errors.As(err, &e) && e.ExitCode() > 0 {
		return withExit(e.ExitCode(), errSilent)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

func newLabExecCommand(env *environment) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "exec NAME HOST -- COMMAND…",
		Short: "Run a program on a host of a lab",
		Long: `Run a program on a host of a lab: on isolated hosts in its network namespace and with its limits of cores and
memory, on plain hosts beside its servers. It has no input; what it says is printed, and its exit code is that of
this command. PLIMSOLL_LAB_URI has the address of the lab.`,
		Example: `  plimsoll lab exec three host1 -- ip address
  plimsoll lab exec three host1 -- sh -c 'echo $PLIMSOLL_LAB_ADDRESS'`,
		Args: someArguments(true, "the name of a lab", "the name of a host", "a command"),
		ValidArgsFunction: func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			switch len(args) {
			case 0:
				return allLabs(env), cobra.ShellCompDirectiveNoFileComp
			case 1:
				return labParts(cmd.Context(), env, args[0], true), cobra.ShellCompDirectiveNoFileComp
			}
			return nil, cobra.ShellCompDirectiveDefault
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			return labExec(cmd.Context(), env, args[0], args[1], args[2:])
		},
	}
	cmd.Flags().SetInterspersed(false) // what follows the host belongs to the command
	return cmd
}

func labExec(ctx context.Context, env *environment, name, host string, command []string) error {
	if command[0] == "--" {
		command = command[1:]
	}
	if len(command) == 0 {
		return usageError("what is to be run? plimsoll lab exec %s %s -- COMMAND", name, host)
	}
	ctx, stop := interruptible(ctx, env)
	defer stop()
	h, err := openLab(ctx, env, name)
	if err != nil {
		return err
	}
	defer h.Close()
	path, err := exec.LookPath(command[0]) // the lab has another working directory
	if err != nil {
		return usageError("cannot start %s: %w", command[0], err)
	}
	if path, err = filepath.Abs(path); err != nil {
		return err
	}
	command = append([]string{path}, command[1:]...)
	code, err := h.Exec(ctx, lab.ExecRequest{Host: host, Command: command}, env.stdout)
	if err != nil {
		return labError(err)
	}
	if code != 0 {
		return withExit(code, errSilent)
	}
	return nil
}

// lastBytes copies the last lines of a file, at most so many, and returns where it ended.
func lastLines(w io.Writer, name string, lines int) (end int64, err error) {
	const window = 1 << 20
	f, err := os.Open(name)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	size, err := f.Seek(0, io.SeekEnd)
	if err != nil {
		return 0, err
	}
	text := make([]byte, min(size, window))
	if _, err := f.ReadAt(text, size-int64(len(text))); err != nil && !errors.Is(err, io.EOF) {
		return 0, err
	}
	begin := len(text)
	for n := 0; begin > 0; begin-- {
		if text[begin-1] == '\n' && begin < len(text) {
			if n++; n == lines {
				break
			}
		}
	}
	_, err = w.Write(text[begin:])
	return size, err
}
