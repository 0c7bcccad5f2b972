package main

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
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

var helpGroups = []string{studyGroup, searchGroup, faultsGroup, loadGroup, dataGroup, hostsGroup, storageGroup,
	durabilityGroup,
	randomGroup, journalGroup, checkpointGroup, powerGroup, resultsGroup, agentsGroup, podsGroup}

// flagsTitle is the title of the flags of a command without groups.
const flagsTitle = "Flags"

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
	if f.Annotations[groupOf] == nil && group != "" {
		f.Annotations[groupOf] = []string{group}
	}
	if brief {
		f.Annotations[inBrief] = nil
	}
}

// briefHelp gives a command a text for its short help, before its long text. brief are those of its flags without a
// group that the short help has too.
func briefHelp(cmd *cobra.Command, text string, brief ...string) {
	cmd.Annotations = map[string]string{inBrief: text}
	cmd.Long = strings.TrimSpace(text + "\n\n" + cmd.Long)
	cmd.Flags().VisitAll(func(f *pflag.Flag) { annotate(f, "", slices.Contains(brief, f.Name)) })
}

// addHelpAll gives a command --help-all. The help of a command with a short text names it.
func addHelpAll(cmd *cobra.Command) {
	if cmd.DisableFlagParsing {
		return
	}
	cmd.Flags().Var(&allHelp{cmd: cmd}, helpAll, "show all flags, details, examples and exit codes")
	f := cmd.Flags().Lookup(helpAll)
	_, brief := cmd.Annotations[inBrief]
	f.NoOptDefVal, f.Hidden = "true", !brief
}

// allHelp requests the help, with everything in it. cobra prints it before it looks at arguments.
type allHelp struct {
	cmd *cobra.Command
	all bool
}

func (a *allHelp) String() string { return strconv.FormatBool(a.all) }
func (a *allHelp) Type() string   { return "bool" }

func (a *allHelp) Set(text string) error {
	a.all = text == "true"
	a.cmd.InitDefaultHelpFlag()
	return a.cmd.Flags().Set("help", text)
}

func newHelpCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "help [COMMAND]",
		Short: "Describe a command",
		ValidArgsFunction: func(cmd *cobra.Command, args []string, _ string) (words []string, _ cobra.ShellCompDirective) {
			at, _ := named(cmd.Root(), args)
			for _, c := range at.Commands() {
				if c.IsAvailableCommand() || c.IsAdditionalHelpTopicCommand() {
					words = append(words, cobra.CompletionWithDesc(c.Name(), c.Short))
				}
			}
			return words, cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			at, rest := named(cmd.Root(), args)
			if len(rest) > 0 {
				return noArguments(at, rest)
			}
			return at.Help()
		},
	}
}

// named finds the command with a path below another one, and returns the words after the last known one.
func named(at *cobra.Command, path []string) (*cobra.Command, []string) {
	for i, word := range path {
		below := at.Commands()
		n := slices.IndexFunc(below, func(c *cobra.Command) bool { return c.Name() == word })
		if n < 0 {
			return at, path[i:]
		}
		at = below[n]
	}
	return at, nil
}

const (
	helpLines    = 50 // lines of a help, unless everything is requested
	mostExamples = 3  // examples in a short help
)

// printHelp prints the help of a command: everything if it was requested or fits, otherwise the short help.
func printHelp(cmd *cobra.Command, _ []string) {
	text := helpText(cmd, true)
	f := cmd.Flags().Lookup(helpAll)
	if strings.Count(text, "\n") > helpLines && f != nil && !f.Changed {
		text = helpText(cmd, false)
	}
	fmt.Fprint(cmd.OutOrStdout(), text)
}

// helpText is the help of a command. The short one has few examples, a line for each flag, and only the important
// flags if the command says which.
func helpText(cmd *cobra.Command, all bool) string {
	var b strings.Builder
	text, examples := cmp.Or(cmd.Long, cmd.Short+"."), strings.Split(cmd.Example, "\n")
	if !all {
		if brief, ok := cmd.Annotations[inBrief]; ok {
			text = brief
		} else {
			text, _, _ = strings.Cut(text, "\n\n")
		}
		examples = examples[:min(mostExamples, len(examples))]
	}
	usage := cmd.UseLine()
	if cmd.HasAvailableSubCommands() && cmd.Example == "" {
		usage = cmd.CommandPath() + " COMMAND"
	}
	var flags strings.Builder
	if writeFlags(&flags, cmd, all); flags.Len() == 0 {
		usage = strings.TrimSuffix(usage, " [flags]")
	}
	fmt.Fprintln(&b, strings.TrimSpace(text))
	if cmd.Runnable() {
		fmt.Fprintf(&b, "\nUsage: %s\n", usage)
	}
	if cmd.Example != "" {
		fmt.Fprintf(&b, "\n%s\n", strings.Join(examples, "\n"))
	}
	writeCommands(&b, cmd)
	b.WriteString(flags.String())
	switch {
	case !all:
		fmt.Fprintf(&b, "\n'%s --%s' has all flags, details, examples and exit codes.\n", cmd.CommandPath(), helpAll)
	case cmd.HasAvailableSubCommands():
		fmt.Fprintf(&b, "\n'%s COMMAND --help' describes a command.\n", cmd.CommandPath())
	}
	return b.String()
}

// writeCommands writes the commands below a command, in their groups.
func writeCommands(b *strings.Builder, cmd *cobra.Command) {
	line := func(name, text string) { fmt.Fprintf(b, "  %-12s %s\n", name, text) }
	rest := &cobra.Group{Title: "Commands:"}
	if len(cmd.Groups()) > 0 {
		rest.Title = "Other:"
	}
	for _, group := range append(cmd.Groups(), rest) {
		title := "\n" + group.Title + "\n"
		for _, c := range cmd.Commands() {
			if c.GroupID == group.ID && c.IsAvailableCommand() {
				fmt.Fprint(b, title)
				line(c.Name(), c.Short)
				title = ""
			}
		}
		for _, c := range cmd.Commands() {
			if group.ID == "" && c.IsAdditionalHelpTopicCommand() {
				line(c.Name(), c.Short+": "+cmd.CommandPath()+" help "+c.Name())
			}
		}
	}
}

// writeFlags writes the flags of a command in their groups: with their whole help, or in a line each.
func writeFlags(b *strings.Builder, cmd *cobra.Command, all bool) {
	byGroup := map[string]*pflag.FlagSet{}
	some, grouped := false, false
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		_, brief := f.Annotations[inBrief]
		some, grouped = some || brief, grouped || f.Annotations[groupOf] != nil
	})
	rest := flagsTitle
	if grouped {
		rest = resultsGroup
	}
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		_, brief := f.Annotations[inBrief]
		if f.Hidden || f.Name == "help" || f.Name == helpAll || some && !brief && !all {
			return
		}
		group := rest
		if in := f.Annotations[groupOf]; len(in) > 0 {
			group = in[0]
		}
		if byGroup[group] == nil {
			byGroup[group] = pflag.NewFlagSet("", pflag.ContinueOnError)
			byGroup[group].SortFlags = false
		}
		byGroup[group].AddFlag(f)
	})
	for _, group := range append(helpGroups, flagsTitle) {
		switch flags := byGroup[group]; {
		case flags == nil:
		case all:
			fmt.Fprintf(b, "\n%s:\n%s", group, flags.FlagUsagesWrapped(helpColumns))
		default:
			fmt.Fprintf(b, "\n%s:\n", group)
			flags.VisitAll(func(f *pflag.Flag) { fmt.Fprintln(b, flagLine(f)) })
		}
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
	end, depth := 0, 0
	for i, r := range text {
		if utf8.RuneCountInString(text[:i]) > width-2 {
			break
		}
		switch r {
		case '(':
			depth++
		case ')':
			depth--
		}
		ends := depth == 0 && strings.ContainsRune(";:,", r) && strings.HasPrefix(text[i+1:], " ")
		if ends || depth == 1 && r == '(' {
			end = i
		}
	}
	return strings.TrimSpace(text[:end]) + " …"
}
