package main

import (
	"context"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

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

// Help lists commands and flags in the order of their definition: the common ones first.
func init() { cobra.EnableCommandSorting = false }

func newRootCommand(env *environment) *cobra.Command {
	root := &cobra.Command{
		Use:   "plimsoll",
		Short: "Measure how much load a MongoDB deployment safely carries",
		Long: `Plimsoll measures how much load a MongoDB deployment safely carries: on its storage, with its topology
and durability, and while parts of it fail. Each result states whether it is valid, and why not.

  plimsoll run --workload a                       load an embedded database on this machine's disk
  plimsoll run mongodb://host/ --workload b       load a MongoDB deployment
  plimsoll show DIR                               print a stored result again
  plimsoll report DIR                             write a result as an HTML page with charts
  plimsoll serve                                  browse all results, and follow running ones

  plimsoll study init study.yaml                  compare settings by repeated runs
  plimsoll lab up --members 3                     start a replica set on this machine
  plimsoll drill lab:NAME --fault kill:primary    inject a fault under load; measure outage and data loss
  plimsoll disk DIR                               measure a disk, and test whether it keeps flushed data
  plimsoll ycsb run mongodb -P workloada          use the command line of YCSB
  plimsoll suite run examples/storage-io --quick  repeat a published measurement (in a clone, as root)

A run sends operations to one target and measures them. A study compares settings by repeated runs. A
drill injects faults during a run, and finds lost writes. A probe measures storage without a database. A
suite is a folder of studies, drills and probes that repeats a published measurement. A lab is a cluster
that plimsoll starts on this machine.

Each result is stored in a directory, by default below plimsoll-data. Such a directory is called a record.`,
		SilenceErrors:     true,
		SilenceUsage:      true,
		DisableAutoGenTag: true,
		Args:              noArguments,
		PersistentPreRunE: prepare,
	}
	helpOrVersion(root, env)
	root.SuggestionsMinimumDistance = 3
	root.SetFlagErrorFunc(flagError)
	root.CompletionOptions.HiddenDefaultCmd = false
	addGroup(root, "measure", "Measure:", newCapacityCommand(env), newRunCommand(env), newABCommand(env), newStudyCommand(env),
		newSuiteCommand(env), newDrillCommand(env), newDiskCommand(env), newYCSBCommand(env))
	addGroup(root, "results", "Use results:", newShowCommand(env), newReportCommand(env), newServeCommand(env),
		newCompareCommand(env), newHistoryCommand(env), newCICommand(env), newSizeCommand(env))
	addGroup(root, "prepare", "Prepare:", newWorkloadsCommand(env), newWorkloadCommand(env), newCalibrateCommand(env),
		newDoctorCommand(env), newAgentCommand(env), newAgentsCommand(env), newEngineCommand(env),
		newLabCommand(env), newPlatformCommand(env), newFaultfsCommand(env))
	root.AddCommand(newVersionCommand(env), newManCommand(env), newExitCodesTopic(),
		newResponderCommand(env), newClientCommand(env), newPersonsCommand(env), newSupervisorCommand(env)) // hidden
	keepFlagOrder(root)
	root.SetHelpFunc(printHelp(root.HelpFunc()))
	return root
}

// keepFlagOrder keeps the order of flags in the help, and completes formats.
func keepFlagOrder(cmd *cobra.Command) {
	cmd.Flags().SortFlags = false
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if v, ok := f.Value.(*formatValue); ok {
			_ = cmd.RegisterFlagCompletionFunc(f.Name, cobra.FixedCompletions(v.known, cobra.ShellCompDirectiveNoFileComp))
		}
	})
	for _, c := range cmd.Commands() {
		keepFlagOrder(c)
	}
}

// addGroup adds commands under one title in the help.
func addGroup(root *cobra.Command, id, title string, commands ...*cobra.Command) {
	root.AddGroup(&cobra.Group{ID: id, Title: title})
	for _, c := range commands {
		c.GroupID = id
	}
	root.AddCommand(commands...)
}

func helpOrVersion(root *cobra.Command, env *environment) {
	version := root.Flags().Bool("version", false, "print the version")
	root.RunE = func(cmd *cobra.Command, _ []string) error {
		if *version {
			return printVersion(env)
		}
		return cmd.Help()
	}
}
