package main

import (
	"github.com/spf13/cobra"

	"github.com/plimsoll-bench/plimsoll/lab"
)

// newSupervisorCommand is the process that keeps one lab. `plimsoll lab up` starts it; nobody types it.
func newSupervisorCommand(env *environment) *cobra.Command {
	return &cobra.Command{
		Use:    "lab-supervisor DIR",
		Short:  "Keep a lab; started by plimsoll lab up",
		Hidden: true,
		Args:   exactlyOne("directory of a lab"),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx, stop := interruptible(cmd.Context(), env)
			defer stop()
			return lab.Supervise(ctx, args[0])
		},
	}
}
