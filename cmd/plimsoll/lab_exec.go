package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/plimsoll-bench/plimsoll/lab"
)

func newLabExecCommand(env *environment) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "exec NAME HOST|MEMBER -- COMMAND…",
		Short: "Run a program on a host of a lab",
		Long: `Run a program on a host of a lab. On an isolated host it runs in the host's network namespace and within its
limits of cores and memory. A member, or a role such as primary, means its host. The program has no input, and
its output is printed. Its environment has:

  PLIMSOLL_LAB, PLIMSOLL_LAB_URI            name and address of the lab, with user and password
  PLIMSOLL_LAB_HOST, PLIMSOLL_LAB_ADDRESS   name and IP address of the host
  PLIMSOLL_LAB_MEMBER                       name of the member, if you gave one
  PLIMSOLL_LAB_MEMBER_ADDRESS, …_PORT       its HOST:PORT, and the port alone
  PLIMSOLL_LAB_MEMBER_URI                   address of this member alone (not for PostgreSQL)

Exit codes: that of the program, 128 plus the signal that ended it, 127 program not found, 126 program not
executable, 3 host without power.`,
		Example: `  plimsoll lab exec three host1 -- ip address
  plimsoll lab exec three primary -- sh -c 'echo $PLIMSOLL_LAB_MEMBER_ADDRESS'`,
		Args: someArguments(true, "the name of a lab", "the name of a host or member", "a command"),
		ValidArgsFunction: func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			if len(args) > 1 {
				return nil, cobra.ShellCompDirectiveDefault
			}
			return labNames(env, labParts(env, hostNames, memberNames, roleNames))(cmd, args, "")
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			return labExec(cmd.Context(), env, args[0], args[1], args[2:])
		},
	}
	cmd.Flags().SetInterspersed(false) // flags after the host belong to the command
	return cmd
}

func labExec(ctx context.Context, env *environment, name, host string, command []string) error {
	if command[0] == "--" {
		command = command[1:]
	}
	if len(command) == 0 {
		return usageError("the command is missing: plimsoll lab exec %s %s -- COMMAND", name, host)
	}
	ctx, stop := interruptible(ctx, env)
	defer stop()
	return withLab(ctx, env, name, func(h *lab.Handle) error {
		path, err := findProgram(command[0]) // the lab has another working directory
		if err != nil {
			return err
		}
		code, err := h.Exec(ctx, lab.ExecRequest{Host: host, Command: append([]string{path}, command[1:]...)},
			direct(env.stdout))
		switch {
		case err != nil && code != 0:
			return withExit(code, err)
		case err != nil:
			return err
		case code != 0:
			return withExit(code, errSilent)
		}
		return nil
	})
}
