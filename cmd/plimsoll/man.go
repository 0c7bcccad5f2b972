package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/plimsoll-bench/plimsoll/internal/replace"
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
			if err := writeManPages(args[0], cmd.Root(), markdown); err != nil {
				return fmt.Errorf("cannot write the man pages: %w", err)
			}
			_, err := fmt.Fprintln(env.stdout, args[0])
			return err
		},
	}
	cmd.Flags().BoolVar(&markdown, "markdown", false, "write Markdown instead, for a site")
	return cmd
}

// writeManPages writes the page of a command, and those of the commands below it.
func writeManPages(dir string, cmd *cobra.Command, markdown bool) error {
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() && !c.IsAdditionalHelpTopicCommand() {
			if err := writeManPages(dir, c, markdown); err != nil {
				return err
			}
		}
	}
	if markdown {
		return replace.File(filepath.Join(dir, manName(cmd)+".md"), []byte(manMarkdown(cmd)), 0o644, false)
	}
	return replace.File(filepath.Join(dir, manName(cmd)+".1"), []byte(manPage(cmd)), 0o644, false)
}

func manName(cmd *cobra.Command) string { return strings.ReplaceAll(cmd.CommandPath(), " ", "-") }

// manPage is the man page of a command. Texts keep their lines, because they have examples and tables.
func manPage(cmd *cobra.Command) string {
	var b strings.Builder
	section := func(title, text string) {
		if text != "" {
			fmt.Fprintf(&b, ".SH %s\n.nf\n%s\n.fi\n", title, roff(text))
		}
	}
	fmt.Fprintf(&b, ".TH \"%s\" 1 \"\" \"plimsoll %s\" Plimsoll\n", strings.ToUpper(manName(cmd)), version)
	fmt.Fprintf(&b, ".SH NAME\n%s \\- %s\n", roff(manName(cmd)), roff(cmd.Short))
	section("SYNOPSIS", cmd.UseLine())
	section("DESCRIPTION", strings.TrimSpace(cmd.Long))
	if cmd.LocalFlags().HasAvailableFlags() {
		b.WriteString(".SH OPTIONS\n")
		cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
			if !f.Hidden {
				b.WriteString(manFlag(f))
			}
		})
	}
	section("EXAMPLES", cmd.Example)
	var also []string
	if cmd.HasParent() {
		also = append(also, roff(manName(cmd.Parent()))+"(1)")
	}
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() && !c.IsAdditionalHelpTopicCommand() {
			also = append(also, roff(manName(c))+"(1)")
		}
	}
	fmt.Fprintf(&b, ".SH SEE ALSO\n%s\n", strings.Join(also, ", "))
	return b.String()
}

func manFlag(f *pflag.Flag) string {
	name, usage := pflag.UnquoteUsage(f)
	flag := `\fB` + roff("--"+f.Name) + `\fR`
	if f.Shorthand != "" {
		flag = `\fB` + roff("-"+f.Shorthand) + `\fR, ` + flag
	}
	if name != "" {
		flag += ` \fI` + roff(name) + `\fR`
	}
	return fmt.Sprintf(".TP\n%s\n%s\n", flag, roff(usage))
}

// roff escapes a text: nothing in it is a request or an escape of the language of man pages.
func roff(text string) string {
	lines := strings.Split(strings.NewReplacer(`\`, `\e`, "-", `\-`).Replace(text), "\n")
	for i, line := range lines {
		if strings.HasPrefix(line, ".") || strings.HasPrefix(line, "'") {
			lines[i] = `\&` + line
		}
	}
	return strings.Join(lines, "\n")
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

// manMarkdown is the man page of a command as Markdown, for a site.
func manMarkdown(cmd *cobra.Command) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n\n%s\n", manName(cmd), cmd.Short)
	section := func(title, text string) {
		if text != "" {
			fmt.Fprintf(&b, "\n## %s\n\n```text\n%s\n```\n", title, text)
		}
	}
	section("Synopsis", cmd.UseLine())
	section("Description", strings.TrimSpace(cmd.Long))
	section("Options", strings.TrimRight(cmd.LocalFlags().FlagUsagesWrapped(helpColumns), "\n"))
	section("Examples", cmd.Example)
	return b.String()
}
