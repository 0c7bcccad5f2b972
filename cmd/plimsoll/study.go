package main

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/plimsoll-bench/plimsoll/internal/shellword"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/report"
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
		newStudyRunCommand(env), newStudyResumeCommand(env), newStatusCommand(env, "study", studyStatus, record.OpenStudy))
}

const studyStatus = `Show the progress of a study, also while it runs: trials that are done, running, failed or lost, and how
to continue. 'plimsoll show DIR' prints the result.`

// newStatusCommand makes the command that shows how far a study or a suite has come.
func newStatusCommand[R record.Result](
	env *environment, kind, long string, open func(dir string) (R, error),
) *cobra.Command {
	var format string
	cmd := &cobra.Command{
		Use:   "status DIR",
		Short: "Show the progress of a " + kind,
		Long:  long,
		Args:  exactlyOne("directory of a " + kind),
		RunE: func(_ *cobra.Command, args []string) error {
			if kind == record.KindStudy && holds(args[0], record.SuiteFile) {
				return ofSuite("status", args[0])
			}
			r, err := open(args[0])
			if err != nil {
				return withExit(exitUsage, err)
			}
			return printResult(env.stdout, &report.Progress{Record: r, Dir: args[0], Now: env.now()}, format)
		},
	}
	formatFlag(cmd.Flags(), &format, "status", "text", "md", "json")
	return cmd
}

// performing is the command that does what a command planned: its own with another verb, without its format.
func performing(env *environment, verb string) string {
	words := redactAll(env.args)
	for i := 0; i < len(words); i++ {
		switch {
		case words[i] == "--format":
			words = slices.Delete(words, i, min(i+2, len(words)))
			i--
		case strings.HasPrefix(words[i], "--format="):
			words = slices.Delete(words, i, i+1)
			i--
		case words[i] == "plan" && i == 1:
			words[i] = verb
		}
	}
	return shellword.Join(append([]string{"plimsoll"}, words...))
}
