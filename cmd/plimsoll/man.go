package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
)

func newManCommand(env *environment) *cobra.Command {
	markdown := false
	cmd := &cobra.Command{
		Use:   "man DIR",
		Short: "Write the man pages of all commands into a directory",
		Args:  exactlyOne("directory"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := os.MkdirAll(args[0], 0o755); err != nil {
				return err
			}
			ver, _ := toolVersion()
			header := &doc.GenManHeader{Section: "1", Source: "plimsoll " + ver, Manual: "Plimsoll"}
			write := func() error { return doc.GenManTree(cmd.Root(), header, args[0]) }
			if markdown {
				write = func() error { return doc.GenMarkdownTree(cmd.Root(), args[0]) }
			}
			if err := write(); err != nil {
				return fmt.Errorf("cannot write the man pages: %w", err)
			}
			_, err := fmt.Fprintln(env.stdout, args[0])
			return err
		},
	}
	cmd.Flags().BoolVar(&markdown, "markdown", false, "write Markdown instead, for a site")
	return cmd
}

// newExitCodesTopic is a help topic, `plimsoll help exit-codes`.
func newExitCodesTopic() *cobra.Command {
	return &cobra.Command{
		Use:   "exit-codes",
		Short: "List the exit codes and their meanings",
		Long: `Exit codes for scripts. They do not change between releases:

  0    success: all objectives met
  1    other failure: see the message
  2    usage error: wrong command line, address or file; nothing was run
  3    target unreachable within its timeout, or credentials refused
  4    objective missed, or a verdict of --fail-if
  5    acknowledged write lost that had to survive (drills)
  6    result invalid: the findings of the result give the reasons
  130  interrupted by Ctrl-C or a signal; the record has the data up to then

If several apply, 130 precedes 6, and 6 precedes 4: an invalid result neither meets nor misses an
objective.`,
	}
}
