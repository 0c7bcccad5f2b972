package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/plimsoll-bench/plimsoll/fault"
	"github.com/plimsoll-bench/plimsoll/lab"
	"github.com/plimsoll-bench/plimsoll/report"
	"github.com/plimsoll-bench/plimsoll/spec"
)

type failFlags struct{ settings }

func newLabFailCommand(env *environment) *cobra.Command {
	var f failFlags
	cmd := &cobra.Command{
		Use:   "fail NAME ACTION [TARGET]",
		Short: "Inject a fault into a lab",
		Long:  failHelp(),
		Example: `  plimsoll lab fail three kill primary --for 10s
  plimsoll lab fail three power-off host2
  plimsoll lab fail three cut primary --from host2 --direction in --for 30s
  plimsoll lab fail three disk-fail rs0-1/d1
  plimsoll lab fail three disk-slow primary --delay 20ms --ops flush --for 30s
  plimsoll lab fail three power-loss primary --keep 0.5`,
		Args: someArguments(true, "the name of a lab", "an action: "+strings.Join(labActions(), ", ")),
		ValidArgsFunction: labNames(env, func(*cobra.Command, []string) []string { return labActions() },
			labParts(env, hostNames, memberNames, roleNames, diskNames)),
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd, env, args) },
	}
	f.register(cmd)
	cmd.Annotations = map[string]string{inBrief: failBegin + actionTable(false)}
	return cmd
}

// labActions are the names of the actions that a lab does by itself.
func labActions() (names []string) {
	for _, a := range fault.All() {
		if a.InLab() {
			names = append(names, a.Name)
		}
	}
	return names
}

// failBegin is the beginning of the help.
const failBegin = "Inject a fault into a lab. With --for, the lab reverts the fault after that time, even if this command has exited.\n\n"

// actionTable has a line for each action of a lab: whole, or what fits into a line.
func actionTable(whole bool) string {
	var b strings.Builder
	for _, a := range fault.All() {
		if text := a.Help; a.InLab() {
			if !whole {
				text = fitting(text, helpColumns-24)
			}
			fmt.Fprintf(&b, "  %-20s %s\n", a.Usage(), text)
		}
	}
	return b.String()
}

// failHelp is made from the table of actions.
func failHelp() string {
	needs := map[fault.Need][]string{}
	for _, a := range fault.All() {
		if a.InLab() {
			needs[a.Needs] = append(needs[a.Needs], a.Name)
		}
	}
	return failBegin + actionTable(true) + `
TARGET is a name that 'plimsoll lab status' shows, a role (primary, secondary, router, gateway, config or
SET/primary), or random (a member with data, chosen by --seed). If an action needs a host, a member or role means
its host. DISK is MEMBER/DISK, for example rs0-1/d1 or primary/d1, or MEMBER for all disks of its volume. --ops
limits a fault to some kinds of requests, --probability to a share of them.
` + wrap("These actions need isolated hosts: "+strings.Join(needs[fault.NeedsIsolated], ", ")+
		". These need a lab started with --faults: "+strings.Join(needs[fault.NeedsFaults], ", ")+".", 110, "")
}

// register adds a flag for each detail of an action. Details are keys of a fault.
func (f *failFlags) register(cmd *cobra.Command) {
	table := []setting{key("for", "for", "revert the fault after this time, for example 10s (default: never)").inBrief(),
		key("seed", "seed", "seed of random choices: random targets, roles with several members, --probability and --keep")}
	for _, d := range fault.Details {
		s := key(d.Name, d.Name, d.Usage())
		s.brief = slices.Contains([]string{"from", "direction", "delay", "ops", "keep"}, d.Name)
		if d.Name == "rate" {
			s = single(s, s.at, func(to *spec.Size, text string) (err error) {
				*to, err = spec.ParseSize(strings.TrimSuffix(text, "/s"))
				return err
			})
		}
		table = append(table, s)
	}
	f.settings = addSettings(cmd, &spec.Fault{}, table)
}

func (f *failFlags) fault(args []string) (spec.Fault, error) {
	x := spec.Fault{Action: spec.Action{Name: args[1]}}
	switch a := fault.Find(args[1]); {
	case len(args) > 3:
		return x, usageError("one fault at a time: remove %q", args[3])
	case len(args) == 3:
		x.Action.Target = args[2]
	case a != nil && a.Implied != "":
		x.Action.Target = a.Implied
	default:
		return x, usageError("the target is missing: plimsoll lab fail %s %s TARGET", args[0], args[1])
	}
	err := f.apply(&x)
	if err == nil {
		err = fault.Check(x)
	}
	return x, withExit(exitUsage, err)
}

func (f *failFlags) run(cmd *cobra.Command, env *environment, args []string) error {
	x, err := f.fault(args)
	if err != nil {
		return err
	}
	return withLab(cmd.Context(), env, args[0], func(h *lab.Handle) error {
		done, err := h.Fail(cmd.Context(), x, x.For.Std())
		if err != nil {
			return err
		}
		if done.ID == 0 {
			fmt.Fprintln(env.stdout, report.FaultText(done))
			return nil
		}
		fmt.Fprintln(env.stdout, "fault", report.FaultText(done))
		if done.Until == nil {
			fmt.Fprintf(env.stdout, "revert it with: plimsoll lab revert %s %d\n", args[0], done.ID)
		}
		return nil
	})
}

func newLabHealCommand(env *environment) *cobra.Command {
	var all bool
	cmd := &cobra.Command{
		Use:   "revert NAME [ID|TARGET]",
		Short: "Revert faults: one, those of a target, or all",
		Long: `Revert faults: the one with an ID, those of a host, member or disk, or all. The command returns when hosts have
power and members have joined again. A disk that works again may have old data; then run 'lab repair'.`,
		Example: `  plimsoll lab revert three 1
  plimsoll lab revert three host2
  plimsoll lab revert three --all`,
		Args: someArguments(true, "the name of a lab"),
		ValidArgsFunction: labNames(env, func(cmd *cobra.Command, args []string) []string {
			return healable(cmd, env, args[0])
		}),
		RunE: func(cmd *cobra.Command, args []string) error {
			what, err := healing(args, all)
			if err != nil {
				return err
			}
			return withLab(cmd.Context(), env, args[0], func(h *lab.Handle) error {
				healed, err := h.Heal(cmd.Context(), what)
				for _, f := range healed {
					fmt.Fprintf(env.stdout, "reverted fault %d: %s %s\n", f.ID, f.Action, f.Target)
				}
				if err == nil && len(healed) == 0 {
					fmt.Fprintln(env.stdout, "no fault was in effect")
				}
				return err
			})
		},
	}
	cmd.Flags().BoolVar(&all, "all", false, "revert all faults")
	return cmd
}

func healing(args []string, all bool) (lab.Healing, error) {
	switch {
	case len(args) > 2:
		return lab.Healing{}, usageError("one fault or target at a time, or --all: remove %q", args[2])
	case all == (len(args) == 2):
		return lab.Healing{}, usageError("give the ID of a fault, a target, or --all")
	case all:
		return lab.Healing{All: true}, nil
	}
	if id, err := strconv.Atoi(args[1]); err == nil {
		return lab.Healing{ID: id}, nil
	}
	return lab.Healing{Target: args[1]}, nil
}

// healable completes faults, their targets and dead members.
func healable(cmd *cobra.Command, env *environment, name string) []string {
	var names []string
	_ = withLab(cmd.Context(), env, name, func(h *lab.Handle) error { // without the lab there is nothing to complete
		l, err := h.Describe(cmd.Context(), false)
		for _, f := range l.Faults {
			names = append(names, strconv.Itoa(f.ID)+"\t"+report.FaultText(f), f.Target)
		}
		for _, m := range l.Members {
			if m.State == "dead" {
				names = append(names, m.Name+"\tis dead")
			}
		}
		return err
	})
	return names
}

func newLabRepairCommand(env *environment) *cobra.Command {
	return &cobra.Command{
		Use:   "repair NAME VOLUME",
		Short: "Repair a volume after a disk failure",
		Long: `Repair a volume: synchronize the copies on all working disks, and replace failed disks by new ones. The command
returns when the volume is repaired.`,
		Example:           `  plimsoll lab repair three rs0-1`,
		Args:              someArguments(false, "the name of a lab", "the name of a volume"),
		ValidArgsFunction: labNames(env, labParts(env, volumeNames)),
		RunE: func(cmd *cobra.Command, args []string) error {
			return withLab(cmd.Context(), env, args[0], func(h *lab.Handle) error {
				text, err := h.Repair(cmd.Context(), args[1])
				if err == nil {
					_, err = fmt.Fprintln(env.stdout, text)
				}
				return err
			})
		},
	}
}
