package main

import "github.com/spf13/cobra"

// newDiskCommand will be filled in by the room it belongs to.
func newDiskCommand(env *environment) *cobra.Command {
	return &cobra.Command{Use: "disk", Hidden: true, Args: noArguments, RunE: func(*cobra.Command, []string) error { return nil }}
}
