package main

import "github.com/spf13/cobra"

func newWorkloadCommand(env *environment) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "workload",
		Short: "Check workload files, and record your own workload",
		Args:  noArguments,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	return group(cmd, newWorkloadCheckCommand(env), newWorkloadShowCommand(env), newWorkloadSampleCommand(env),
		newWorkloadRecordCommand(env), newWorkloadCompareCommand(env))
}
