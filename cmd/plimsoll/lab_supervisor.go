package main

import (
	"github.com/spf13/cobra"

	"github.com/plimsoll-bench/plimsoll/lab"
)

// newSupervisorCommand is the supervisor process of a lab, which `plimsoll lab up` starts.
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
