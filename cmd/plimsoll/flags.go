package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/plimsoll-bench/plimsoll/internal/nearest"
)

// flagError makes a usage error of an error of the flag parser, and suggests the nearest flag.
func flagError(cmd *cobra.Command, err error) error {
	msg := err.Error()
	name, unknown := strings.CutPrefix(msg, "unknown flag: --")
	if !unknown {
		return withHint(exitUsage, fmt.Errorf("%s: %w", cmd.CommandPath(), err), "see '"+cmd.CommandPath()+" --help'")
	}
	var names []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
	hint := "see '" + cmd.CommandPath() + " --help'"
	if n := nearest.Word(name, names); n != "" {
		hint = "did you mean --" + n + "?"
	}
	return withHint(exitUsage, fmt.Errorf("%s: unknown flag --%s", cmd.CommandPath(), name), hint)
}

// formatFlag adds --format with the known formats of a result; the first one is the default.
func formatFlag(fs *pflag.FlagSet, format *string, of string, known ...string) {
	*format = known[0]
	fs.Var(&formatValue{format, known}, "format", "`format` of the "+of+": "+strings.Join(known, ", "))
}

// resultFlags adds the format of a result, and --verbose, which prints everything in the format text.
func resultFlags(fs *pflag.FlagSet, format *string, known ...string) {
	formatFlag(fs, format, "result", known...)
	fs.Var(verboseValue{format}, "verbose", "print all findings with their texts, settings and tables (format text)")
	fs.Lookup("verbose").NoOptDefVal = "true"
}

// verbose is the format that --verbose makes of text.
const verbose = "verbose"

// verboseValue is the switch between the formats text and verbose.
type verboseValue struct{ format *string }

func (v verboseValue) String() string {
	return strconv.FormatBool(v.format != nil && *v.format == verbose)
}
func (v verboseValue) Type() string { return "bool" }

func (v verboseValue) Set(text string) error {
	on, err := strconv.ParseBool(text)
	switch {
	case err != nil:
		return err
	case on && *v.format == "text":
		*v.format = verbose
	case !on && *v.format == verbose:
		*v.format = "text"
	}
	return nil
}

type formatValue struct {
	format *string
	known  []string
}

func (v *formatValue) String() string { return *v.format }
func (v *formatValue) Type() string   { return "string" }

func (v *formatValue) Set(text string) error {
	if !slices.Contains(v.known, text) {
		return fmt.Errorf("unknown format %q%s (known: %s)", text, nearest.DidYouMean(text, v.known), strings.Join(v.known, ", "))
	}
	if text != "text" || *v.format != verbose {
		*v.format = text
	}
	return nil
}

// parseFlag parses the text of a flag, unless it is empty.
func parseFlag[T, To ~int64](to *To, flag, text string, parse func(string) (T, error)) error {
	if text == "" {
		return nil
	}
	v, err := parse(text)
	if err != nil {
		return usageError("--%s: %w", flag, err)
	}
	*to = To(v)
	return nil
}

// group makes a command that does nothing but have others.
func group(cmd *cobra.Command, commands ...*cobra.Command) *cobra.Command {
	cmd.Args = noArguments
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	cmd.AddCommand(commands...)
	return cmd
}

// noArguments refuses positional arguments. For a group command it suggests the nearest subcommand.
func noArguments(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	if !cmd.HasSubCommands() {
		return usageError("%s takes no argument, but got %q", cmd.CommandPath(), args[0])
	}
	var names []string
	for _, c := range cmd.Commands() {
		if !c.Hidden {
			names = append(names, c.Name())
		}
	}
	return usageError("unknown command %q for %q%s (known: %s)", args[0], cmd.CommandPath(),
		nearest.DidYouMean(args[0], names), strings.Join(names, ", "))
}

func atMostOne(what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) > 1 {
			return usageError("%s takes at most one %s, but got %d: %s", cmd.CommandPath(), what, len(args), strings.Join(args, " "))
		}
		return nil
	}
}

func atLeastOne(what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return usageError("%s takes at least one %s", cmd.CommandPath(), what)
		}
		return nil
	}
}

func exactlyOne(what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) != 1 {
			return usageError("%s takes one %s, but got %d arguments", cmd.CommandPath(), what, len(args))
		}
		return nil
	}
}

// oneWord requires one argument, which is one of the known words.
func oneWord(what string, known ...string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		switch {
		case len(args) != 1:
			return usageError("%s needs one %s: %s", cmd.CommandPath(), what, strings.Join(known, ", "))
		case !slices.Contains(known, args[0]):
			return usageError("unknown %s %q%s (known: %s)", what, args[0], nearest.DidYouMean(args[0], known),
				strings.Join(known, ", "))
		}
		return nil
	}
}

// completions completes one of some words.
func completions(words ...string) cobra.CompletionFunc {
	return cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp)
}

// specificationFiles completes specifications.
var specificationFiles = cobra.FixedCompletions([]string{"yaml", "yml", "json"}, cobra.ShellCompDirectiveFilterFileExt)
