package main

import (
	"os"
	"os/exec"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/plimsoll-bench/plimsoll/drill"
	"github.com/plimsoll-bench/plimsoll/run/fleet"
)

// clientCommand is the hidden command that a run with several clients starts this program with.
const clientCommand = "load-client"

// clientLauncher starts this program once more for each client of a run. What the clients are told, with the
// credentials of the target, goes through their standard input: command lines can be read by everybody.
func clientLauncher() fleet.Launcher {
	return func() *exec.Cmd {
		self, err := os.Executable()
		if err != nil {
			self = os.Args[0]
		}
		cmd := exec.Command(self, clientCommand)
		cmd.Args[0] = "plimsoll" // its name, whatever the file is called
		return cmd
	}
}

// newClientCommand is the other half of clientLauncher.
func newClientCommand(env *environment) *cobra.Command {
	return &cobra.Command{
		Use:    clientCommand,
		Short:  "Run a part of a load, as specified on standard input",
		Hidden: true,
		Args:   noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			// Whoever started this process is told, and decides; if that is gone, the end of the input ends it.
			signal.Ignore(os.Interrupt, syscall.SIGHUP, syscall.SIGTERM)
			return fleet.Serve(cmd.Context(), env.stdin, direct(env.stdout), drill.Duties())
		},
	}
}
