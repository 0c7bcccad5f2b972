package main

import (
	"github.com/spf13/cobra"

	"github.com/plimsoll-bench/plimsoll/record/schema"
	"github.com/plimsoll-bench/plimsoll/workload"
)

func newWorkloadCommand(env *environment) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "workload",
		Short: "List workloads, write and check workload files, record your own workload",
		Long: `List workloads, write and check workload files, record your own workload.

  plimsoll workload list                        the built-in workloads
  plimsoll workload init my.yaml                write an example of a workload file
  plimsoll workload record mongodb://host/db    make a workload file from what a deployment does
  plimsoll run TARGET --workload my.yaml        run it`,
	}
	return group(cmd, newWorkloadListCommand(env), newWorkloadInitCommand(env), newWorkloadCheckCommand(env),
		newWorkloadShowCommand(env), newWorkloadSampleCommand(env), newWorkloadRecordCommand(env),
		newWorkloadCompareCommand(env), newSchemaCommand(env, "of a workload file", schema.Workload))
}

func newWorkloadListCommand(env *environment) *cobra.Command {
	return &cobra.Command{
		Use:   "list",
		Short: "List the built-in workloads",
		Args:  noArguments,
		RunE: func(*cobra.Command, []string) error {
			t := table{left: 3}
			for _, w := range workload.Names() {
				t.row(w.Name, w.Help)
			}
			t.write(env.stdout, "")
			nextStep(env.stdout, "plimsoll workload show person", "its parameters")
			return nil
		},
	}
}

// showParameters prints the parameters of a built-in workload.
func showParameters(env *environment, name string) error {
	params, err := workload.ParamsOf(name)
	if err != nil {
		return withExit(exitUsage, err)
	}
	t := table{left: 3}
	t.row("parameter", "default", "meaning")
	for _, p := range params {
		t.row(p.Name, p.Default, p.Help)
	}
	t.write(env.stdout, "")
	nextStep(env.stdout, "plimsoll run --workload "+name+" --set NAME=VALUE", "also workload.params in a specification")
	return nil
}
