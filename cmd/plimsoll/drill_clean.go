package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/plimsoll-bench/plimsoll/drill"
	"github.com/plimsoll-bench/plimsoll/internal/redact"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/run"
	"github.com/plimsoll-bench/plimsoll/spec"
)

// drillCleanOptions are the flags of plimsoll drill clean.
type drillCleanOptions struct {
	database string
	yes      bool
}

func newDrillCleanCommand(env *environment) *cobra.Command {
	var o drillCleanOptions
	cmd := &cobra.Command{
		Use:   "clean RECORD|TARGET [TARGET]",
		Short: "Remove the documents that drills left in a database",
		Long: `Remove the documents that drills left in a database: the seed documents, and the ledger of writes. The audit
needs them, and they show lost writes, so a drill does not remove them itself.

RECORD is the directory of a drill, also of one that was killed. Only the documents of this drill are removed.
Records keep no passwords: if the address has one, give it as TARGET. In the collections of a workload other
than ledger, the documents that the drill inserted are removed, and the counters that it added to others.
Documents that the load phase loaded stay, as after 'plimsoll run'.

Without a record, TARGET alone lists what all drills left in the collections of the workload ledger, and
removes it with --yes. Do not remove documents of a drill that is running.

Each document is removed only if its content proves that a drill wrote it.` + addressHelp,
		Example: `  plimsoll drill clean plimsoll-data/drills/20261129-120000-kill
  plimsoll drill clean plimsoll-data/drills/20261129-120000-kill env:MONGODB_URI
  plimsoll drill clean env:MONGODB_URI --yes`,
		Args: someArguments(true, "a record or a target"),
		RunE: func(cmd *cobra.Command, args []string) error { return o.run(cmd.Context(), env, args) },
	}
	fs := cmd.Flags()
	fs.StringVar(&o.database, "database", "", "database, without a record (default plimsoll)")
	fs.BoolVar(&o.yes, "yes", false, "without a record, remove what all drills left. None of them may be running")
	return cmd
}

func (o *drillCleanOptions) run(ctx context.Context, env *environment, args []string) (result error) {
	asked := spec.Run{Database: o.database}
	var clean drill.Cleaning
	var err error
	dir := args[0]
	recorded := holds(dir, record.DrillFile)
	switch {
	case len(args) > 2:
		return usageError("plimsoll drill clean takes a record and a target, but got %q too", args[2])
	case recorded && o.database != "":
		return usageError("--database: the record names the database. Remove the flag")
	case recorded:
		if asked, clean, err = cleaningOf(dir, args[1:]); err != nil {
			return withExit(exitUsage, err)
		}
	case len(args) == 2:
		return usageError("%s is not the record of a drill", dir)
	default:
		asked.Target = args[0]
	}
	if err := readTarget(ctx, env, &asked.Target, ""); err != nil {
		return err
	}
	whole := spec.Drill{Run: asked}
	pods, err := openPods(ctx, &whole)
	if err != nil {
		return withExit(exitUnreachable, err)
	}
	if pods != nil {
		defer func() { result = errors.Join(result, pods.Close()) }()
	}
	asked = whole.Run
	if name, ok := spec.LabOf(asked.Target); ok {
		if asked.Target, err = labAddress(ctx, env, name, ""); err != nil {
			return err
		}
	}
	asked.Defaults()
	switch t, err := run.ParseTarget(asked.Target); {
	case err != nil:
		return withExit(exitUsage, err)
	case t.Kind != "mongodb":
		return usageError("%s is not the record of a drill, and not an address of MongoDB", t)
	}
	if err := run.Reach(ctx, asked); err != nil {
		return runError(&run.Error{Stage: run.Reaching, Err: err})
	}
	clean.URI, clean.Database, clean.Seed = asked.Target, asked.Database, asked.Workload.Seed
	clean.Look = !recorded && !o.yes
	done, err := drill.Clean(ctx, clean)
	if done != nil {
		o.print(env, done, clean)
	}
	if err != nil {
		return withExit(exitFailure, fmt.Errorf("not everything was removed: %w. Run the command again", err))
	}
	if clean.Look && len(done.Removed) > 0 {
		return usageError("nothing was removed: without its record, it is not known whether one of these drills is running. If none is, add --yes")
	}
	return nil
}

// cleaningOf is what a record says of the documents of its drill. rest may have the address.
func cleaningOf(dir string, rest []string) (asked spec.Run, clean drill.Cleaning, err error) {
	d, err := record.OpenDrill(dir)
	if err != nil {
		return asked, clean, err
	}
	if d.Status == record.Running {
		return asked, clean, fmt.Errorf("nothing was removed: the drill of %s is running. Wait until it has ended", dir)
	}
	if clean, err = drill.CleaningOf(d); err != nil {
		return asked, clean, fmt.Errorf("%s: %w. List what all drills left with: plimsoll drill clean TARGET", dir, err)
	}
	asked = d.Specification.Run
	switch {
	case len(rest) > 0:
		asked.Target = rest[0]
	case strings.Contains(asked.Target, redact.Hidden):
		return asked, clean, fmt.Errorf("records keep no passwords. Give the address too: plimsoll drill clean %s env:NAME, with the address %s in "+
			"the variable NAME", dir, asked.Target)
	}
	return asked, clean, nil
}

func (o *drillCleanOptions) print(env *environment, done *drill.Cleaned, asked drill.Cleaning) {
	verb := "removed"
	if asked.Look {
		verb = "found"
	}
	for _, text := range done.Removed {
		fmt.Fprintf(env.stdout, "%s %s\n", verb, text)
	}
	if len(done.Removed) == 0 {
		fmt.Fprintf(env.stdout, "no document of a drill is in the database %s, so nothing was removed\n", asked.Database)
	}
	for _, text := range done.Kept {
		fmt.Fprintln(env.stdout, "kept", text)
	}
}

// nameRemains adds to an error of a drill the command that removes what the drill left.
func nameRemains(err error, d *record.Drill) error {
	var e *exitError
	for _, f := range d.Validity {
		if f.ID == drill.DataLeft && errors.As(err, &e) && e.hint == "" {
			return withHint(e.code, err, f.Text)
		}
	}
	return err
}
