package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
)

// newManCommand writes the man pages of all commands, for packages and for `make man`.
func newManCommand(env *environment) *cobra.Command {
	return &cobra.Command{
		Use:   "man DIR",
		Short: "Write the man pages of all commands into a directory",
		Args:  exactlyOne("directory"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := os.MkdirAll(args[0], 0o755); err != nil {
				return err
			}
			ver, _ := toolVersion()
			header := &doc.GenManHeader{Section: "1", Source: "plimsoll " + ver, Manual: "Plimsoll"}
			if err := doc.GenManTree(cmd.Root(), header, args[0]); err != nil {
				return fmt.Errorf("write the man pages: %w", err)
			}
			_, err := fmt.Fprintln(env.stdout, args[0])
			return err
		},
	}
}

// newExitCodesTopic is a help topic: `plimsoll help exit-codes`.
func newExitCodesTopic() *cobra.Command {
	return &cobra.Command{
		Use:   "exit-codes",
		Short: "What the exit codes mean",
		Long: `Exit codes are a contract with scripts:

  0    done; every objective is met
  1    something failed that no other code names; the message says what
  2    the command line, an address or a file given to it is wrong; nothing was done
  3    the target cannot be reached within its timeout, or refuses the credentials
  4    measured, but an objective is missed, or --fail-if found what it looks for
  5    a write that was acknowledged and had to survive is gone (drills)
  6    measured, but the result must not be believed; its validity says why
  130  ended by Ctrl-C or a signal; what was measured until then is in the record

Where several apply, the order is 130, 6, 4: a result that is not valid can neither meet nor miss an
objective.`,
	}
}
