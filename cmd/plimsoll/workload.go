package main

import "github.com/spf13/cobra"

func newWorkloadCommand(env *environment) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "workload",
		Short: "Record your own workload, and compare workload files",
		Args:  noArguments,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	return group(cmd, newWorkloadRecordCommand(env), newWorkloadCompareCommand(env))
}
