package main

import (
	"github.com/spf13/cobra"

	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/suite"
)

func newSuitePlanCommand(env *environment) *cobra.Command {
	var flags suiteFlags
	var format string
	cmd := &cobra.Command{
		Use:   "plan FOLDER",
		Short: "Show the parts, their time and needs, and the parts that cannot run here",
		Long: `Show the parts of a suite, their time and needs, and everything that is scaled down or left out on this
machine, with the reason. Nothing is run, and no target is contacted.

Exit codes: 0 valid plan, 2 error in a file.`,
		Example: `  plimsoll suite plan examples/write-concern --quick
  plimsoll suite plan examples/policy-storage --scale data=1/64,workers=1/4
  plimsoll suite plan examples/storage-io --format json`,
		Args: exactlyOne("folder of a suite"),
		RunE: func(cmd *cobra.Command, args []string) error {
			p, err := flags.plan(cmd.Context(), env, args[0], newDir("suites", "suite", env.now()))
			if err != nil {
				return err
			}
			return planSuite(env, p, format)
		},
	}
	flags.add(cmd)
	formatFlag(cmd.Flags(), &format, "plan", "text", "md", "json")
	return cmd
}

func planSuite(env *environment, p *suite.Plan, format string) error {
	shown := p.Shown()
	var why []string
	for _, l := range p.Left {
		why = append(why, l.Why)
	}
	shown.Install, shown.Command = installLine(why...), performing(env, "run")
	return printResult(env.stdout, shown, format)
}

const suiteStatus = `Show the progress of a suite, also while it runs: the status of each part, the time used of the budget, and
how to continue.`

func newSuiteShowCommand(env *environment) *cobra.Command {
	var format string
	cmd := &cobra.Command{
		Use:   "show DIR",
		Short: "Print the statements of the document and the results here",
		Long: `Print the record of a suite again: the parts with their sizes and results, and for each statement and advice of
the document whether the results agree. 'plimsoll show DIR' prints a record of any kind in the same way.`,
		Args: exactlyOne("directory of a suite"),
		RunE: func(_ *cobra.Command, args []string) error {
			r, err := record.Open(args[0])
			if err != nil {
				return withExit(exitUsage, err)
			}
			if kind := r.Common().Kind; kind != record.KindSuite {
				return usageError("%s is the record of a %s, not of a suite: print it with plimsoll show %s", args[0], kind, args[0])
			}
			return showResult(env, args[0], r, format)
		},
	}
	resultFlags(cmd.Flags(), &format, formats()...)
	return cmd
}
