package main

import (
	"context"

	"github.com/spf13/cobra"
)

// mainRun runs one command line and returns the exit code.
func mainRun(ctx context.Context, env *environment) int {
	env = filtered(env)
	root := newRootCommand(env)
	root.SetArgs(env.args)
	root.SetIn(env.stdin)
	root.SetOut(env.stdout)
	root.SetErr(env.stderr)
	err := root.ExecuteContext(ctx)
	if err != nil {
		printError(env, err, root)
	}
	return exitCode(err)
}

func newRootCommand(env *environment) *cobra.Command {
	root := &cobra.Command{
		Use:   "plimsoll",
		Short: "How much load a MongoDB deployment safely carries",
		Long: `Plimsoll says how much load a MongoDB deployment safely carries: on its real storage, topology
and durability, and what the numbers are worth.

  plimsoll run --workload a                       try it: documents on this machine's disk
  plimsoll run mongodb://host/ --workload b       load a deployment
  plimsoll ycsb run mongodb -P workloada          the command line of YCSB, as it is
  plimsoll study init study.yaml                  a study to start from: what makes a difference
  plimsoll suite run examples/storage-io --quick  repeat a published measurement (in a clone, as root)
  plimsoll lab up --members 3                     a real cluster on this machine, to be broken
  plimsoll drill lab:NAME --fault kill:primary    fail it under load, and know what was lost
  plimsoll disk DIR                               what a disk can do, and whether it tells the truth
  plimsoll show DIR                               print a recorded result again
  plimsoll report DIR                             a page with charts, to decide from
  plimsoll serve                                  all records in the browser, and what runs now`,
		SilenceErrors:     true,
		SilenceUsage:      true,
		DisableAutoGenTag: true,
		Args:              noArguments,
		PersistentPreRunE: checkWords,
	}
	helpOrVersion(root, env)
	root.SuggestionsMinimumDistance = 3
	root.SetFlagErrorFunc(flagError)
	root.CompletionOptions.HiddenDefaultCmd = false
	root.AddCommand(
		newRunCommand(env),
		newStudyCommand(env),
		newSuiteCommand(env),
		newDrillCommand(env),
		newYCSBCommand(env),
		newCalibrateCommand(env),
		newResponderCommand(env),
		newClientCommand(env),
		newPersonsCommand(env),
		newLabCommand(env),
		newSupervisorCommand(env),
		newFaultfsCommand(env),
		newDiskCommand(env),
		newDoctorCommand(env),
		newShowCommand(env),
		newReportCommand(env),
		newServeCommand(env),
		newCompareCommand(env),
		newHistoryCommand(env),
		newSizeCommand(env),
		newWorkloadsCommand(env),
		newEngineCommand(env),
		newVersionCommand(env),
		newManCommand(env),
		newExitCodesTopic(),
	)
	return root
}

// helpOrVersion is what plimsoll does without a command.
func helpOrVersion(root *cobra.Command, env *environment) {
	version := root.Flags().Bool("version", false, "print the version of plimsoll")
	root.RunE = func(cmd *cobra.Command, _ []string) error {
		if *version {
			return printVersion(env)
		}
		return cmd.Help()
	}
}
