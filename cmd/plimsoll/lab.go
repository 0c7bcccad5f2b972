package main

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/plimsoll-bench/plimsoll/lab"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/record/schema"
	"github.com/plimsoll-bench/plimsoll/spec"
)

func newLabCommand(env *environment) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "lab",
		Short: "Start clusters on this machine and inject faults",
		Long: `Start clusters on this machine and inject faults.

A lab is a cluster of real servers: MongoDB, or FerretDB with PostgreSQL. Its hosts can lose power, its
network can be cut, and its volumes can follow a storage policy (mirrors, parity, stripes).

  plimsoll lab up --members 3 --name three    start a replica set on three hosts
  plimsoll run lab:three --workload a         load it
  plimsoll lab status three                   show hosts, members with role and lag, and volumes
  plimsoll lab fail three kill primary        inject a fault
  plimsoll lab revert three --all               revert all faults
  plimsoll lab down three                     remove the lab and its data

A lab keeps running when the terminal is closed. 'lab down' removes everything, also after a crash.`,
	}
	return group(cmd, newLabUpCommand(env), newLabPlanCommand(env), newLabInitCommand(env),
		newSchemaCommand(env, "of a lab file", schema.LabSpec),
		newLabListCommand(env), newLabStatusCommand(env), newLabConnectCommand(env), newLabExecCommand(env),
		newLabLogsCommand(env),
		newLabFailCommand(env), newLabHealCommand(env), newLabRepairCommand(env), newLabDownCommand(env))
}

func openLab(ctx context.Context, env *environment, name string) (*lab.Handle, error) {
	home, err := homeDir(env)
	if err != nil {
		return nil, err
	}
	if podLabs(home, nil).Has(name) {
		return nil, usageError("the lab %s is in Kubernetes, where this command does not work. Break it with plimsoll drill "+
			"k8s:NAMESPACE/%[1]s, and load it with plimsoll run lab:%[1]s", name)
	}
	h, err := lab.Open(ctx, home, name)
	return h, labError(err)
}

// withLab runs do with a running lab. Errors without an exit code get that of labs.
func withLab(ctx context.Context, env *environment, name string, do func(*lab.Handle) error) error {
	h, err := openLab(ctx, env, name)
	if err != nil {
		return err
	}
	defer h.Close()
	err = do(h)
	var coded *exitError
	if errors.As(err, &coded) {
		return err
	}
	return labError(err)
}

func labError(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, context.Canceled):
		return withExit(exitInterrupted, errors.New("interrupted"))
	case errors.Is(err, lab.ErrUnreachable):
		return withExit(exitUnreachable, err)
	case errors.Is(err, lab.ErrRefused), errors.Is(err, lab.ErrNoLab):
		return withExit(exitUsage, err)
	case errors.Is(err, lab.ErrGone):
		return withExit(exitUnreachable, err)
	}
	return err
}

// words are the completions of an argument after others.
type words func(cmd *cobra.Command, args []string) []string

// labNames completes the name of a lab, and the arguments after it with next.
func labNames(env *environment, next ...words) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, _ string) (found []string, _ cobra.ShellCompDirective) {
		if n := len(args); n == 0 {
			found = allLabs(env)
		} else if n <= len(next) {
			found = next[n-1](cmd, args)
		}
		return found, cobra.ShellCompDirectiveNoFileComp
	}
}

// targets completes the target of a run or drill.
func targets(env *environment) cobra.CompletionFunc {
	return func(_ *cobra.Command, args []string, _ string) (found []string, _ cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		for _, name := range allLabs(env) {
			found = append(found, spec.LabTarget(name))
		}
		return append(found, "mongodb://", "embedded:", "null:"), cobra.ShellCompDirectiveNoSpace
	}
}

func allLabs(env *environment) []string {
	home, err := homeDir(env)
	if err != nil {
		return nil
	}
	names, _ := lab.Names(home) // without names there is nothing to complete
	return append(names, podLabs(home, nil).Names()...)
}

// part is a kind of names in a lab, for completion.
type part int

const (
	hostNames part = iota
	memberNames
	roleNames
	volumeNames
	diskNames
)

// labParts are the names in the lab of the first argument.
func labParts(env *environment, wanted ...part) words {
	return func(cmd *cobra.Command, args []string) []string {
		var l record.Lab
		err := withLab(cmd.Context(), env, args[0], func(h *lab.Handle) (err error) {
			l, err = h.Describe(cmd.Context(), false)
			return err
		})
		if err != nil {
			return nil
		}
		return partsOf(l, wanted)
	}
}

func partsOf(l record.Lab, wanted []part) []string {
	names := map[part][]string{roleNames: {"primary", "secondary", "random"}}
	for _, x := range l.Hosts {
		names[hostNames] = append(names[hostNames], x.Name)
	}
	for _, m := range l.Members {
		names[memberNames] = append(names[memberNames], m.Name)
	}
	for _, v := range l.Volumes {
		names[volumeNames] = append(names[volumeNames], v.Name)
		for _, d := range v.Disks {
			names[diskNames] = append(names[diskNames], v.Name+"/"+d.Name)
		}
	}
	var all []string
	for _, w := range wanted {
		all = append(all, names[w]...)
	}
	return all
}

// someArguments requires the named positional arguments, and refuses further ones unless more is true.
func someArguments(more bool, what ...string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) < len(what) {
			return usageError("%s needs %s: %s", cmd.CommandPath(), what[len(args)], cmd.UseLine())
		}
		if len(args) > len(what) && !more {
			return usageError("%s takes no further argument, but got %q: %s", cmd.CommandPath(), args[len(what)], cmd.UseLine())
		}
		return nil
	}
}
