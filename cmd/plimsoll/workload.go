package main

import "github.com/spf13/cobra"

func newWorkloadCommand(env *environment) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "workload",
		Short: "Check workload files, and record your own workload",
	}
	return group(cmd, newWorkloadCheckCommand(env), newWorkloadShowCommand(env), newWorkloadSampleCommand(env),
		newWorkloadRecordCommand(env), newWorkloadCompareCommand(env))
}
