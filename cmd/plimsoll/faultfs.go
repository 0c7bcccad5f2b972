package main

import "github.com/spf13/cobra"

// newFaultfsCommand will be filled in by the room it belongs to.
func newFaultfsCommand(env *environment) *cobra.Command {
	return &cobra.Command{Use: "faultfs", Hidden: true, Args: noArguments, RunE: func(*cobra.Command, []string) error { return nil }}
}
