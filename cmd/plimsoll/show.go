package main

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/plimsoll-bench/plimsoll/record"
)

func newShowCommand(env *environment) *cobra.Command {
	var format string
	cmd := &cobra.Command{
		Use:   "show DIR",
		Short: "Print a recorded result again",
		Long: `Print a recorded result again, in any format. The checksums of the record are verified; the results
of a run that was killed are recovered from what it left.

Exit codes are those of the run: 0 objectives met, 4 an objective is missed, 6 the result must not
be believed, 130 interrupted or killed, 1 failed.`,
		Args: exactlyOne("record directory"),
		RunE: func(_ *cobra.Command, args []string) error {
			if err := checkFormat(format); err != nil {
				return err
			}
			r, err := record.Open(args[0])
			if err != nil {
				return withExit(exitUsage, err)
			}
			r.Specification.Out = args[0]
			if err := printResult(env, r, format); err != nil {
				return err
			}
			return verdictOf(r, nil)
		},
	}
	cmd.Flags().StringVar(&format, "format", "text", strings.Join(formats(), ", "))
	return cmd
}
