package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/plimsoll-bench/plimsoll/drill"
	"github.com/plimsoll-bench/plimsoll/internal/wait"
	"github.com/plimsoll-bench/plimsoll/lab"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/spec"
)

const watchEvery = time.Second

func newLabStatusCommand(env *environment) *cobra.Command {
	var asJSON, watch bool
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
				return watchLab(cmd.Context(), env, args[0], asJSON)
			}
			e, err := statusOf(cmd.Context(), home, args[0])
			if err != nil {
				return labError(err)
			}
			if asJSON {
				err = printJSON(env.stdout, e)
			} else {
				err = writeLabStatus(env.stdout, e)
			}
			if err == nil && !e.Alive {
				return supervisorDied(args[0])
			}
			return err
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the lab as JSON")
	cmd.Flags().BoolVar(&watch, "watch", false, "refresh every second, until Ctrl-C or the end of the lab")
	return cmd
}

// statusOf queries a lab and its servers. If that fails, it reads the last known state.
func statusOf(ctx context.Context, home, name string) (lab.Entry, error) {
	if podLabs(home, nil).Has(name) {
		return podStatus(ctx, home, name)
	}
	h, err := lab.Open(ctx, home, name)
	if err == nil {
		defer h.Close()
		var l record.Lab
		if l, err = h.Describe(ctx, true); err == nil {
			return lab.Entry{Lab: l, Alive: true}, nil
		}
	}
	return lab.Find(ctx, home, name)
}

func writeLabStatus(w io.Writer, e lab.Entry) error {
	var b strings.Builder
	if !e.Alive {
		e.State = "dead (was " + e.State + ")"
	}
	writeLabHead(&b, e.Lab)
	writeAddresses(&b, e.Lab, nil)
	writeLabTables(&b, e.Lab)
	_, err := io.WriteString(w, b.String())
	return err
}

// watchLab prints a lab again and again; on a terminal it overwrites the last output.
func watchLab(ctx context.Context, env *environment, name string, asJSON bool) error {
	ctx, stop := interruptible(ctx, env)
	defer stop()
	home, err := homeDir(env)
	if err != nil {
		return err
	}
	tick := time.NewTicker(watchEvery)
	defer tick.Stop()
	for first := true; ; first = false {
		e, err := statusOf(ctx, home, name)
		if ctx.Err() != nil {
			return nil // Ctrl-C
		}
		if !first && errors.Is(err, lab.ErrNoLab) {
			return nil // the lab was removed
		}
		if err != nil {
			return labError(err)
		}
		if !e.Alive && (!first && waitRemoved(ctx, home, name) || ctx.Err() != nil) {
			return nil
		}
		switch {
		case asJSON:
			err = printJSON(env.stdout, e)
		case env.terminal:
			fmt.Fprint(direct(env.stdout), "\x1b[H\x1b[2J")
			err = writeLabStatus(env.stdout, e)
		default:
			err = writeLabStatus(env.stdout, e)
			fmt.Fprintln(env.stdout)
		}
		if err != nil {
			return err
		}
		if !e.Alive {
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
	var asJSON bool
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
			inPods, err := listPodLabs(home)
			if err != nil {
				return err
			}
			entries = append(entries, inPods...)
			if asJSON {
				if entries == nil {
					entries = []lab.Entry{}
				}
				return printJSON(env.stdout, entries)
			}
			return writeLabList(env.stdout, entries, env.now())
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the labs as JSON")
	return cmd
}

func labKind(e lab.Entry) string {
	if e.Engine == spec.LabNone {
		return topologyText(e.Specification)
	}
	return e.Engine + " " + topologyText(e.Specification)
}

func writeLabList(w io.Writer, entries []lab.Entry, now time.Time) error {
	if len(entries) == 0 {
		_, err := fmt.Fprintln(w, "no labs; start one with: plimsoll lab up"+lab.LabsOfRoot(os.Geteuid()))
		return err
	}
	var b strings.Builder
	t := &table{left: 100}
	t.row("lab", "state", "age", "what", "hosts", "address")
	var dead, left []string
	for _, e := range entries {
		state := e.State
		if owner, _ := drill.Left(&e.Lab); owner != "" {
			left = append(left, fmt.Sprintf("%s was left by the drill in %s, which has ended: remove it with plimsoll lab down %[1]s\n", e.Name, owner))
		}
		if !e.Alive {
			state = "dead"
			dead = append(dead, e.Name)
		}
		age := "-"
		if !e.Started.IsZero() {
			age = clock(now.Sub(e.Started))
		}
		t.row(e.Name, state, age, labKind(e), cmp.Or(e.Specification.Hosts.Mode, "-"), cmp.Or(e.URI, "-"))
	}
	t.write(&b, "")
	if len(dead) > 0 {
		fmt.Fprintf(&b, "\nThe supervisor of a dead lab has died. Remove the rest of the lab: plimsoll lab down %s\n", strings.Join(dead, " "))
	}
	if len(left) > 0 {
		b.WriteString("\n" + strings.Join(left, ""))
	}
	_, err := io.WriteString(w, b.String())
	return err
}
