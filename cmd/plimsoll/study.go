package main

import (
	"github.com/spf13/cobra"
)

// newStudyCommand is the group of everything about studies.
func newStudyCommand(env *environment) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "study",
		Short: "Find a baseline, change one thing at a time, and say what is really different",
		Long: `Find a baseline, change one thing at a time, and say what is really different.

A study is a YAML file: a base run, the factors that change it with their levels, and how often
each point is run. Studies, drills and probes that together repeat a published measurement are a
suite; see 'plimsoll suite --help'.

  plimsoll study init study.yaml  write one with every key explained
  plimsoll study plan study.yaml  show every trial, the order, time, disk and power; run nothing
  plimsoll study run study.yaml   do it
  plimsoll study status DIR       how far it is
  plimsoll study resume DIR       go on after Ctrl-C, a crash, a full disk, …`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newStudyInitCommand(env), newStudyPlanCommand(env), newStudySchemaCommand(env),
		newStudyRunCommand(env), newStudyResumeCommand(env), newStudyStatusCommand(env)) // a subcommand lives in a file of its own: study_*.go
	return cmd
}
