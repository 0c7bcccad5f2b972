package main

import "github.com/spf13/cobra"

// newLabCommand will be filled in by the room it belongs to.
func newLabCommand(env *environment) *cobra.Command {
	return &cobra.Command{Use: "lab", Hidden: true, Args: noArguments, RunE: func(*cobra.Command, []string) error { return nil }}
}
