package main

import (
	"github.com/spf13/cobra"
)

func newStudyCommand(env *environment) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "study",
		Short: "Compare settings by repeated runs in random order",
		Long: `Compare settings by repeated runs in random order.

A study is a YAML file with a base run, the factors that change it, their levels, and the number of
trials. A factor is a setting, such as the number of workers. A level is one value of it. A trial is
one run. The verdict of each level is better, worse, equivalent or inconclusive, against the baseline.

  plimsoll study init study.yaml  write an example with all keys explained
  plimsoll study plan study.yaml  show all trials, their time, and the smallest difference they can find; run nothing
  plimsoll study run study.yaml   run all trials and print the verdicts
  plimsoll study status DIR       show the progress
  plimsoll study resume DIR       continue after Ctrl-C, a crash or a full disk`,
	}
	return group(cmd, newStudyInitCommand(env), newStudyPlanCommand(env), newStudySchemaCommand(env),
		newStudyRunCommand(env), newStudyResumeCommand(env), newStudyStatusCommand(env))
}
