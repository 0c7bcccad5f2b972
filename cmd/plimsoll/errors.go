package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/plimsoll-bench/plimsoll/internal/redact"
)

// mostLines is how many lines of an error are printed: one line for each mistake of a specification.
const mostLines = 40

// printError prints an error that reached the top: first what happened, then what to do. Lines after the first are
// indented, so that no text within an error looks like a message of its own. The secrets of the command line, and of addresses that were read, are hidden
// wherever an error repeats them. An error without text only carries an exit code; the result was printed already.
func printError(env *environment, err error, root *cobra.Command) {
	known := env.secrets
	if msg := err.Error(); msg != "" && !errors.Is(err, syscall.EPIPE) { // who has closed the output knows
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
	if more := len(lines) - mostLines; more > 0 {
		lines = append(lines[:mostLines], fmt.Sprintf("… (%s more)", plural(more, "line")))
	}
	fmt.Fprintf(env.stderr, "plimsoll: %s\n", strings.Join(lines, "\n  "))
}

// secretsOf learns the secrets of a command line.
func secretsOf(words []string) *redact.Known {
	var known redact.Known
	for _, w := range words {
		if i := redact.AddressIn(w); i >= 0 {
			w = w[i:] // an address at the beginning may have anything in its password
		}
		known.Learn(w)
	}
	return &known
}

// takesAddress lists the commands that take an address of MongoDB, and those that hand words to a program.
var takesAddress = []string{"plimsoll run", "plimsoll drill", "plimsoll doctor", "plimsoll ycsb", "plimsoll lab exec", "plimsoll lab connect"}

// addressFlags are the flags whose values may hold an address of MongoDB. What a record keeps of them has no secrets.
var addressFlags = []string{"uri", "target", "set", "label"}

// checkWords refuses words of the command line that cannot be meant: an empty one, which a variable of the shell that is not
// set leaves, and an address of MongoDB in a place that takes none. Nothing was done until then.
func checkWords(cmd *cobra.Command, args []string) error {
	if strings.HasPrefix(cmd.Name(), cobra.ShellCompRequestCmd) {
		return nil // the word that is being completed may well be empty
	}
	if slices.Contains(args, "") && !slices.Contains(takesAddress[3:], cmd.CommandPath()) {
		return usageError("%s: an argument is empty. Is a shell variable not set? Set it, or remove the argument", cmd.CommandPath())
	}
	if i := slices.IndexFunc(args, func(w string) bool { return redact.AddressIn(w) == 0 }); i >= 0 && !slices.Contains(takesAddress, cmd.CommandPath()) {
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

// misplacedAddress says what to do with an address that was given to a command that takes none, "" if there is no such
// address.
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
