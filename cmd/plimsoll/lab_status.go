package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/plimsoll-bench/plimsoll/drill"
	"github.com/plimsoll-bench/plimsoll/internal/wait"
	"github.com/plimsoll-bench/plimsoll/lab"
	"github.com/plimsoll-bench/plimsoll/lab/topology"
	"github.com/plimsoll-bench/plimsoll/report"
	"github.com/plimsoll-bench/plimsoll/spec"
)

const watchEvery = time.Second

func newLabStatusCommand(env *environment) *cobra.Command {
	var watch bool
	var format string
	cmd := &cobra.Command{
		Use:   "status NAME",
		Short: "Show hosts, members with role and lag, volumes and faults",
		Long: `Show hosts, members with role and lag, volumes with health, and faults. If the supervisor of the lab has died,
this is the last known state. Passwords are not shown; 'plimsoll lab connect' prints the address with them.`,
		Args:              someArguments(false, "the name of a lab"),
		ValidArgsFunction: labNames(env),
		RunE: func(cmd *cobra.Command, args []string) error {
			home, err := homeDir(env)
			if err != nil {
				return err
			}
			if watch {
				return watchLab(cmd.Context(), env, args[0], format)
			}
			v, err := statusOf(cmd.Context(), home, args[0])
			if err != nil {
				return labError(err)
			}
			if err := printResult(env.stdout, v, format); err != nil || !v.Dead {
				return err
			}
			return supervisorDied(args[0])
		},
	}
	formatFlag(cmd.Flags(), &format, "status", "text", "md", "json")
	cmd.Flags().BoolVar(&watch, "watch", false, "refresh every second, until Ctrl-C or the end of the lab")
	return cmd
}

// statusOf queries a lab and its servers. If that fails, it reads the last known state.
func statusOf(ctx context.Context, home, name string) (*report.LabView, error) {
	if podLabs(home, nil).Has(name) {
		return podStatus(ctx, home, name)
	}
	h, err := lab.Open(ctx, home, name)
	if err == nil {
		defer h.Close()
		var v *report.LabView
		if v, err = viewOf(ctx, h); err == nil {
			return v, nil
		}
	}
	e, err := lab.Find(ctx, home, name)
	return &report.LabView{Lab: e.Lab, Dead: !e.Alive}, err
}

// viewOf queries a running lab and its servers.
func viewOf(ctx context.Context, h *lab.Handle) (*report.LabView, error) {
	l, err := h.Describe(ctx, true)
	if err != nil {
		return nil, err
	}
	v := &report.LabView{Lab: l, Levels: map[string]string{}}
	if v.Usage, err = h.Usage(ctx); err != nil {
		return nil, err
	}
	addresses, err := h.Addresses(ctx)
	for _, uri := range addresses {
		v.Secret = v.Secret || lab.Redact(uri) != uri
	}
	members := 1
	if t := l.Specification.Topology; t.Kind == spec.LabReplicaSet {
		members = int(t.Members)
	}
	for level := range l.URIs {
		v.Levels[level] = topology.LevelMeaning(level, members)
	}
	return v, err
}

// watchLab prints a lab again and again; on a terminal it overwrites the last output.
func watchLab(ctx context.Context, env *environment, name, format string) error {
	ctx, stop := interruptible(ctx, env)
	defer stop()
	home, err := homeDir(env)
	if err != nil {
		return err
	}
	tick := time.NewTicker(watchEvery)
	defer tick.Stop()
	for first := true; ; first = false {
		v, err := statusOf(ctx, home, name)
		if ctx.Err() != nil {
			return nil // Ctrl-C
		}
		if !first && errors.Is(err, lab.ErrNoLab) {
			return nil // the lab was removed
		}
		if err != nil {
			return labError(err)
		}
		if v.Dead && (!first && waitRemoved(ctx, home, name) || ctx.Err() != nil) {
			return nil
		}
		if env.terminal && format == "text" {
			fmt.Fprint(direct(env.stdout), "\x1b[H\x1b[2J")
		}
		err = printResult(env.stdout, v, format)
		if err != nil {
			return err
		}
		if v.Dead {
			return supervisorDied(name)
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
		}
		if ctx.Err() != nil {
			return nil
		}
	}
}

// removalLimit is how long the removal of a lab may take after its supervisor stops answering.
const removalLimit = 10 * time.Second

// waitRemoved waits until a lab that does not answer is removed, and reports whether it was.
func waitRemoved(ctx context.Context, home, name string) bool {
	for limit := time.Now().Add(removalLimit); time.Now().Before(limit) && ctx.Err() == nil; {
		if _, err := lab.Find(ctx, home, name); errors.Is(err, lab.ErrNoLab) {
			return true
		}
		_ = wait.Sleep(ctx, followEvery)
	}
	return false
}

func supervisorDied(name string) error {
	return withExit(exitUnreachable, fmt.Errorf("the supervisor of %s has died; remove the rest of the lab with: plimsoll lab down %[1]s", name))
}

func newLabListCommand(env *environment) *cobra.Command {
	var format string
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List all labs",
		Args:  noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			home, err := homeDir(env)
			if err != nil {
				return err
			}
			entries, err := lab.List(cmd.Context(), home)
			if err != nil {
				return labError(err)
			}
			all := &report.Labs{Now: env.now(), None: "start one with: plimsoll lab up" + lab.LabsOfRoot(os.Geteuid())}
			for _, e := range entries {
				if owner, _ := drill.Left(&e.Lab); owner != "" {
					all.Notes = append(all.Notes, fmt.Sprintf("%s was left by the drill in %s, which has ended: remove it with plimsoll lab down %[1]s",
						e.Name, owner))
				}
				all.Labs = append(all.Labs, &report.LabView{Lab: e.Lab, Dead: !e.Alive})
			}
			labs := podLabs(home, nil)
			for _, name := range labs.Names() {
				l, err := labs.Find(name)
				if err != nil {
					return err
				}
				all.Labs = append(all.Labs, &report.LabView{Lab: *l})
			}
			return printResult(env.stdout, all, format)
		},
	}
	formatFlag(cmd.Flags(), &format, "list", "text", "md", "json")
	return cmd
}
