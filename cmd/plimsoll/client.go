package main

import (
	"context"
	"os"
	"os/exec"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/plimsoll-bench/plimsoll/drill"
	"github.com/plimsoll-bench/plimsoll/fleet"
	"github.com/plimsoll-bench/plimsoll/internal/childproc"
)

// clientCommand is the hidden command that a run with several clients starts.
const clientCommand = "load-client"

// clientLauncher starts this program again for each client of a run. The clients get their task, with the credentials
// of the target, on standard input, because other users can read command lines.
func clientLauncher() fleet.Launcher {
	return func(ctx context.Context) *exec.Cmd {
		self, err := os.Executable()
		if err != nil {
			self = os.Args[0]
		}
		cmd := childproc.Command(ctx, self, clientCommand)
		cmd.Args[0] = "plimsoll" // the name in the list of processes
		return cmd
	}
}

// clientPlaces finds where the clients of a run are placed.
func clientPlaces() fleet.Placers { return fleet.Processes(clientLauncher()) }

// newClientCommand is the command that [clientLauncher] runs.
func newClientCommand(env *environment) *cobra.Command {
	return &cobra.Command{
		Use:    clientCommand,
		Short:  "Run a part of a load, as specified on standard input",
		Hidden: true,
		Args:   noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			// The parent process handles signals. If it dies, standard input closes and this process ends.
			signal.Ignore(os.Interrupt, syscall.SIGHUP, syscall.SIGTERM)
			agent := fleet.Agent{Local: true, Duties: drill.Duties(), Service: startService}
			return agent.Serve(cmd.Context(), fleet.Pipe(env.stdin, direct(env.stdout)))
		},
	}
}
