package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/plimsoll-bench/plimsoll/internal/figure"
	"github.com/plimsoll-bench/plimsoll/internal/redact"
)

// maxErrorLines bounds the printed lines of an error: a specification has one line for each mistake.
const maxErrorLines = 40

// printError prints an error that reached the top, then the next step. Lines after the first are indented, so no text
// within an error can look like another message. Secrets of the command line and of addresses are hidden. An error
// without text only carries an exit code.
func printError(env *environment, err error, root *cobra.Command) {
	known := env.secrets
	if msg := err.Error(); msg != "" && !errors.Is(err, syscall.EPIPE) { // the reader has closed the output
		printMessage(env, known.Hide(redact.InText(msg)))
	}
	var e *exitError
	if !errors.As(err, &e) {
		return
	}
	if e.hint != "" {
		printMessage(env, known.Hide(redact.InText(e.hint)))
	}
	if e.code == exitUsage {
		if hint := misplacedAddress(root, env.args); hint != "" {
			printMessage(env, hint)
		}
	}
}

func printMessage(env *environment, text string) {
	lines := strings.Split(text, "\n")
	if more := len(lines) - maxErrorLines; more > 0 {
		lines = append(lines[:maxErrorLines], fmt.Sprintf("… (%s more)", figure.Plural(more, "line")))
	}
	fmt.Fprintf(env.stderr, "plimsoll: %s\n", strings.Join(lines, "\n  "))
}

func secretsOf(words []string) *redact.Known {
	var known redact.Known
	for _, w := range words {
		if i := redact.AddressIn(w); i >= 0 {
			w = w[i:] // the password of an address can contain any character
		}
		known.Learn(w)
	}
	return &known
}

// takesWords lists the commands that pass words to a program, takesAddress those and the commands that take an address
// of MongoDB.
var (
	takesWords   = []string{"plimsoll ycsb", "plimsoll lab exec", "plimsoll lab connect"}
	takesAddress = append([]string{"plimsoll ab", "plimsoll capacity", "plimsoll drill clean", "plimsoll workload record",
		"plimsoll run", "plimsoll drill", "plimsoll doctor"}, takesWords...)
)

// addressFlags are the flags whose values may contain an address of MongoDB. Records store them without secrets.
var addressFlags = []string{"uri", "now", "target", "set", "label", "a", "b"}

// checkArguments refuses empty words, which unset shell variables leave, and addresses of MongoDB for commands and
// flags that take none. Nothing has been done before.
func checkArguments(cmd *cobra.Command, args []string) error {
	if strings.HasPrefix(cmd.Name(), cobra.ShellCompRequestCmd) {
		return nil // the word to complete may be empty
	}
	if slices.Contains(args, "") && !slices.Contains(takesWords, cmd.CommandPath()) {
		return usageError("%s: an argument is empty. Is a shell variable not set? Set it, or remove the argument", cmd.CommandPath())
	}
	if i := slices.IndexFunc(args, func(w string) bool { return redact.AddressIn(w) == 0 }); i >= 0 &&
		!slices.Contains(takesAddress, cmd.CommandPath()) {
		return usageError("%s does not take an address of MongoDB, but got %s", cmd.CommandPath(), args[i])
	}
	var err error
	cmd.Flags().Visit(func(f *pflag.Flag) {
		switch value := f.Value.String(); {
		case value == "":
			err = errors.Join(err, usageError("%s: the value of --%s is empty. Is a shell variable not set? Set it, or remove the flag", cmd.CommandPath(), f.Name))
		case redact.AddressIn(value) >= 0 && !slices.Contains(addressFlags, f.Name):
			err = errors.Join(err, usageError("%s: --%s does not take an address of MongoDB, but got %s", cmd.CommandPath(), f.Name, value))
		}
	})
	return err
}

// misplacedAddress returns a hint if an address was given to a command that takes none, else "".
func misplacedAddress(root *cobra.Command, args []string) string {
	if !slices.ContainsFunc(args, func(w string) bool { return redact.AddressIn(w) == 0 }) {
		return ""
	}
	cmd, _, err := root.Find(args)
	if err == nil && slices.Contains(takesAddress, cmd.CommandPath()) {
		return ""
	}
	return "did you mean plimsoll run ADDRESS?"
}
