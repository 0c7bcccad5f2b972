package main

import "github.com/spf13/cobra"

// newSupervisorCommand will be filled in by the room it belongs to.
func newSupervisorCommand(env *environment) *cobra.Command {
	return &cobra.Command{Use: "lab-supervisor", Hidden: true, Args: noArguments, RunE: func(*cobra.Command, []string) error { return nil }}
}
