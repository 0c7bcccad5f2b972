package main

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"github.com/plimsoll-bench/plimsoll/fault"
	"github.com/plimsoll-bench/plimsoll/spec"
)

// Help and completion have every action of the table, and every detail is a flag that says whose it is.
func TestHelpHasEveryAction(t *testing.T) {
	env, _, _ := engineEnvironment(t.TempDir())
	fail, drill := newLabFailCommand(env), newDrillCommand(env)
	completed, _ := fail.ValidArgsFunction(fail, []string{"three"}, "")
	for _, a := range fault.All() {
		if line := "  " + a.Usage(); a.InLab() && !slices.ContainsFunc(strings.Split(fail.Long, "\n"), func(l string) bool {
			return strings.HasPrefix(l, line+" ") && strings.HasSuffix(l, " "+a.Help)
		}) {
			t.Errorf("the help of lab fail has no line for %s", a.Name)
		}
		if !slices.Contains(strings.FieldsFunc(drill.Long, func(r rune) bool { return strings.ContainsRune(" ,.:\n", r) }),
			a.Name) {
			t.Errorf("the help of drill lacks %s", a.Name)
		}
		if slices.Contains(completed, cobra.Completion(a.Name)) != a.InLab() {
			t.Errorf("%s is completed: %v", a.Name, !a.InLab())
		}
	}
	for _, d := range fault.Details {
		f := fail.Flags().Lookup(d.Name)
		if f == nil || !strings.HasPrefix(f.Usage, d.Usage()) || !strings.HasPrefix(f.Usage, "for ") {
			t.Errorf("the flag of %s is %+v", d.Name, f)
		}
	}
}

// A fault is read once, from the flags.
func TestFailFlags(t *testing.T) {
	for _, c := range []struct {
		args string
		want spec.Fault
		says string // of the error
	}{
		{"three kill primary --for 10s", spec.Fault{Action: spec.ParseAction("kill:primary"), For: spec.Duration(10 * time.Second)}, ""},
		{"three step-down", spec.Fault{Action: spec.ParseAction("step-down:primary")}, ""},
		{"three slow host1 --rate 1MB/s", spec.Fault{Action: spec.ParseAction("slow:host1"), Rate: 1e6}, ""},
		{"three disk-slow primary --delay 20ms --seed 3", spec.Fault{Action: spec.ParseAction("disk-slow:primary"), Delay: spec.Duration(20 * time.Millisecond), Seed: 3}, ""},
		{"three kill", spec.Fault{}, "plimsoll lab fail three kill TARGET"},
		{"three kil primary", spec.Fault{}, "did you mean kill?"},
		{"three kill primary secondary", spec.Fault{}, "one fault at a time"},
		{"three kill primary --for ever", spec.Fault{}, "--for"},
		{"three cut host1 --direction up", spec.Fault{}, "both, in or out"},
		{"three kill primary --keep 0.5", spec.Fault{}, "kill does not accept keep (only: power-loss)"},
	} {
		var f failFlags
		cmd := &cobra.Command{}
		f.register(cmd)
		var got spec.Fault
		err := withExit(exitUsage, cmd.ParseFlags(strings.Fields(c.args)))
		if err == nil {
			got, err = f.fault(cmd.Flags().Args())
		}
		var exit *exitError
		switch {
		case c.says == "" && (err != nil || got.Action != c.want.Action || got.For != c.want.For || got.Rate != c.want.Rate ||
			got.Delay != c.want.Delay || got.Seed != c.want.Seed):
			t.Errorf("%s: %+v, %v", c.args, got, err)
		case c.says != "" && (!errors.As(err, &exit) || exit.code != exitUsage || !strings.Contains(err.Error(), c.says)):
			t.Errorf("%s: %v, want %q", c.args, err, c.says)
		}
	}
}
