package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/plimsoll-bench/plimsoll/workload"
)

func newWorkloadsCommand(env *environment) *cobra.Command {
	return &cobra.Command{
		Use:   "workloads [NAME]",
		Short: "List the workloads, or the parameters of one",
		Args:  atMostOne("workload"),
		ValidArgsFunction: func(cmd *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
			return workloadNames(cmd, args, word), cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(_ *cobra.Command, args []string) error {
			t := table{left: 3}
			if len(args) == 0 {
				for _, w := range workload.Names() {
					t.row(w.Name, w.Help)
				}
				t.write(env.stdout, "")
				return nil
			}
			params, err := workload.ParamsOf(args[0])
			if err != nil {
				return withExit(exitUsage, err)
			}
			t.row("parameter", "default", "meaning")
			for _, p := range params {
				t.row(p.Name, p.Default, p.Help)
			}
			t.write(env.stdout, "")
			fmt.Fprintln(env.stdout, "\nSet one with --set name=value, or under workload.params in a specification.")
			return nil
		},
	}
}
