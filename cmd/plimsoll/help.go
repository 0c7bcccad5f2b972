package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Groups of flags in the help, in their order.
const (
	loadGroup       = "Load"
	dataGroup       = "Data"
	durabilityGroup = "Durability"
	faultsGroup     = "Faults"
	searchGroup     = "Search"
	storageGroup    = "Storage"
	hostsGroup      = "Hosts and members"
	studyGroup      = "Plan"
	randomGroup     = "Profile random"
	journalGroup    = "Profile journal"
	checkpointGroup = "Profile checkpoint"
	powerGroup      = "Power cuts"
	podsGroup       = "Kubernetes"
	resultsGroup    = "Results"
	agentsGroup     = "Agents"
)

var helpGroups = []string{studyGroup, searchGroup, faultsGroup, loadGroup, dataGroup, storageGroup, hostsGroup,
	durabilityGroup,
	randomGroup, journalGroup, checkpointGroup, powerGroup, resultsGroup, agentsGroup, podsGroup}

// Annotations of flags: the group in the help, and whether the short help has the flag.
const (
	groupOf = "plimsoll-group"
	inBrief = "plimsoll-brief"
)

// helpAll is the flag for the help with all flags.
const helpAll = "help-all"

// helpColumns is the width of the descriptions of flags.
const helpColumns = 112

// grouped puts the flags that add defines into a group of the help. brief are those that the short help has too.
func grouped(cmd *cobra.Command, group string, add func(), brief ...string) {
	had := map[string]bool{}
	cmd.Flags().VisitAll(func(f *pflag.Flag) { had[f.Name] = true })
	add()
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if !had[f.Name] {
			annotate(f, group, slices.Contains(brief, f.Name))
		}
	})
}

func annotate(f *pflag.Flag, group string, brief bool) {
	if f.Annotations == nil {
		f.Annotations = map[string][]string{}
	}
	if f.Annotations[groupOf] == nil {
		f.Annotations[groupOf] = []string{group}
	}
	if brief {
		f.Annotations[inBrief] = nil
	}
}

// briefHelp gives a command a short help, which begins with text, and --help-all for the rest: text, then its long
// text, with all examples and flags. Flags without a group become those of results. brief are those of them that the
// short help has too.
func briefHelp(cmd *cobra.Command, text string, brief ...string) {
	cmd.Annotations = map[string]string{inBrief: text}
	cmd.Long = strings.TrimSpace(text + "\n\n" + cmd.Long)
	cmd.Flags().Var(&allHelp{cmd: cmd}, helpAll, "show all flags, details, examples and exit codes")
	cmd.Flags().Lookup(helpAll).NoOptDefVal = "true"
	cmd.Flags().VisitAll(func(f *pflag.Flag) { annotate(f, resultsGroup, slices.Contains(brief, f.Name)) })
}

// allHelp requests the help, with everything in it. cobra prints it before it looks at arguments.
type allHelp struct {
	cmd *cobra.Command
	all bool
}

func (a *allHelp) String() string { return fmt.Sprint(a.all) }
func (a *allHelp) Type() string   { return "bool" }

func (a *allHelp) Set(text string) error {
	a.all = text == "true"
	return a.cmd.Flags().Set("help", text)
}

// mostExamples is the number of examples in the short help.
const mostExamples = 3

// printHelp prints the help of a command with groups of flags, and of the others as cobra does.
func printHelp(usual func(*cobra.Command, []string)) func(*cobra.Command, []string) {
	return func(cmd *cobra.Command, args []string) {
		if brief, ok := cmd.Annotations[inBrief]; ok {
			all := cmd.Flags().Lookup(helpAll).Value.(*allHelp).all
			writeHelp(cmd.OutOrStdout(), cmd, brief, all)
			return
		}
		usual(cmd, args)
	}
}

func writeHelp(w io.Writer, cmd *cobra.Command, brief string, all bool) {
	examples := strings.Split(cmd.Example, "\n")
	if all {
		brief = cmd.Long
	} else {
		examples = examples[:min(mostExamples, len(examples))]
	}
	fmt.Fprintf(w, "%s\n\nUsage: %s\n\n%s\n", brief, cmd.UseLine(), strings.Join(examples, "\n"))
	if cmd.HasAvailableSubCommands() {
		fmt.Fprint(w, "\nCommands:\n")
		for _, c := range cmd.Commands() {
			if c.IsAvailableCommand() {
				fmt.Fprintf(w, "  %-12s %s\n", c.Name(), c.Short)
			}
		}
	}
	for _, group := range helpGroups {
		flags := flagsOf(cmd, group, all)
		switch {
		case !flags.HasFlags():
		case all:
			fmt.Fprintf(w, "\n%s:\n%s", group, flags.FlagUsagesWrapped(helpColumns))
		default:
			fmt.Fprintf(w, "\n%s:\n", group)
			flags.VisitAll(func(f *pflag.Flag) { fmt.Fprintln(w, flagLine(f)) })
		}
	}
	if !all {
		fmt.Fprintf(w, "\n'%s --%s' has all flags, details, examples and exit codes.\n", cmd.CommandPath(), helpAll)
	}
}

// flagLine is a flag in one line of the short help.
func flagLine(f *pflag.Flag) string {
	value, help := pflag.UnquoteUsage(f)
	help = strings.TrimSuffix(help, repeatable)
	left := "      --" + f.Name
	if f.Shorthand != "" {
		left = "  -" + f.Shorthand + ", --" + f.Name
	}
	left = fmt.Sprintf("%-32s  ", strings.TrimRight(left+" "+value, " "))
	return left + fitting(help, helpColumns-utf8.RuneCountInString(left))
}

// fitting is a text, or as many of its parts as fit into a width.
func fitting(text string, width int) string {
	if utf8.RuneCountInString(text) <= width {
		return text
	}
	end := 0
	for i := range text {
		if utf8.RuneCountInString(text[:i]) > width-2 {
			break
		}
		if rest := text[i:]; rest[0] == '(' || len(rest) > 1 && strings.ContainsRune(";:,", rune(rest[0])) && rest[1] == ' ' {
			end = i
		}
	}
	return strings.TrimSpace(text[:end]) + " …"
}

// flagsOf are the flags of a group: all, or those of the short help.
func flagsOf(cmd *cobra.Command, group string, all bool) *pflag.FlagSet {
	fs := pflag.NewFlagSet("", pflag.ContinueOnError)
	fs.SortFlags = false
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		_, brief := f.Annotations[inBrief]
		if in := f.Annotations[groupOf]; (all || brief) && len(in) > 0 && in[0] == group {
			fs.AddFlag(f)
		}
	})
	return fs
}
