package main

import (
	"context"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

func mainRun(ctx context.Context, env *environment) int {
	defer keepFromGit()()
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
		Long: `A run sends operations to one target and measures them. A study compares settings by repeated runs. A
drill injects faults during a run, and finds lost writes. A probe measures storage without a database. A
suite is a folder of studies, drills and probes that repeats a published measurement. A lab is a cluster
that plimsoll starts on this machine.

Each result is a directory, called a record, by default below ./plimsoll-data, with the documents of the
embedded store. Engines, labs and the calibration of this machine are in PLIMSOLL_HOME (default
~/.local/share/plimsoll). Nothing else is written, and nothing leaves the machine.`,
		SilenceErrors:     true,
		SilenceUsage:      true,
		DisableAutoGenTag: true,
		Args:              noArguments,
		PersistentPreRunE: prepare,
	}
	helpOrVersion(root, env)
	root.SuggestionsMinimumDistance = 3
	root.SetFlagErrorFunc(flagError)
	addGroup(root, "measure", "Measure:", newCapacityCommand(env), newRunCommand(env), newABCommand(env), newStudyCommand(env),
		newSuiteCommand(env), newDrillCommand(env), newDiskCommand(env), newYCSBCommand(env))
	addGroup(root, "results", "Use results:", newShowCommand(env), newReportCommand(env), newServeCommand(env),
		newCompareCommand(env), newHistoryCommand(env), newCICommand(env), newSizeCommand(env))
	addGroup(root, "prepare", "Prepare:", newDoctorCommand(env), newWorkloadCommand(env),
		newCalibrateCommand(env), newAgentCommand(env), newEngineCommand(env),
		newLabCommand(env), newPlatformCommand(env), newFaultfsCommand(env))
	root.AddCommand(newVersionCommand(env), newCompletionCommand(env), newManCommand(env),
		newExitCodesTopic(),
		newResponderCommand(env), newClientCommand(env), newPersonsCommand(env), newSupervisorCommand(env)) // hidden
	root.SetHelpCommand(newHelpCommand())
	root.InitDefaultHelpCmd()
	root.Annotations, root.Long = map[string]string{inBrief: rootHelp}, rootHelp+"\n\n"+root.Long
	finishFlags(root)
	root.SetHelpFunc(printHelp)
	return root
}

// rootHelp is the beginning of the help.
const rootHelp = `Plimsoll measures how much load a MongoDB deployment safely carries. Begin with one of these:

  plimsoll doctor                                 is this machine ready to measure?
  plimsoll run --workload a                       load an embedded database on this machine's disk
  plimsoll capacity mongodb://host/               find the highest load that a deployment carries
  plimsoll drill lab:NAME --fault kill:primary    inject a fault under load; measure outage and data loss
  plimsoll serve                                  browse all results`

// finishFlags keeps the order of flags in the help, adds --help-all, and completes formats.
func finishFlags(cmd *cobra.Command) {
	cmd.Flags().SortFlags = false
	addHelpAll(cmd)
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if v, ok := f.Value.(*formatValue); ok {
			_ = cmd.RegisterFlagCompletionFunc(f.Name, completions(v.known...))
		}
	})
	for _, c := range cmd.Commands() {
		finishFlags(c)
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
