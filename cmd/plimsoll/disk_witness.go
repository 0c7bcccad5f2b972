package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"os"

	"github.com/spf13/cobra"

	"github.com/plimsoll-bench/plimsoll/disk/files"
	"github.com/plimsoll-bench/plimsoll/disk/witness"
	"github.com/plimsoll-bench/plimsoll/internal/figure"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/report"
)

// defaultSession is the name of a power cut test when none is given.
const defaultSession = "power-cut"

func newWitnessCommand(env *environment) *cobra.Command {
	var listen, verify, address, session, file, format string
	var keep bool
	cmd := &cobra.Command{
		Use:   "witness (--listen HOST:PORT | --verify DIR --witness HOST:PORT)",
		Short: "Prove with a real power cut that what was acknowledged is there",
		Long: `Prove with a real power cut that storage keeps what it acknowledged. It takes two machines.

  1. on a machine that keeps its power:   plimsoll disk witness --listen 0.0.0.0:7717
  2. on the machine that is tested:       plimsoll disk /data --witness OTHER:7717 --session first
  3. cut the power of the tested machine (the plug, or the reset of a virtual machine; not a shutdown)
  4. when it is up again:                 plimsoll disk witness --verify /data --witness OTHER:7717 --session first

The tested machine writes numbered records, makes each durable and tells the witness before it goes on.
Every number that the witness knows must be on the storage afterwards. The verdict is honest, or lying
with the number of missing records. The protocol is described in docs/disk.md; it has no encryption and
no password, and carries nothing but numbers.

Exit codes: 0 honest, 4 records are missing, 2 an argument is wrong, 3 the witness cannot be reached.`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			switch {
			case (listen == "") == (verify == ""):
				return usageError("a witness listens or verifies: give --listen HOST:PORT, or --verify DIR with --witness HOST:PORT")
			case listen != "":
				return listenWitness(cmd.Context(), env, listen, file)
			}
			return verifyWitness(cmd.Context(), env, verify, address, session, format, keep)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&listen, "listen", "", "listen at this address, such as 0.0.0.0:7717")
	flags.StringVar(&file, "state", "", "with --listen: file that keeps what was heard when the witness is started again")
	flags.StringVar(&verify, "verify", "", "directory that was written to before the power cut")
	flags.StringVar(&address, "witness", "", "with --verify: where the witness listens")
	flags.StringVar(&session, "session", defaultSession, "with --verify: name of the test")
	flags.BoolVar(&keep, "keep", false, "with --verify: keep the records")
	flags.StringVar(&format, "format", "text", "text, json")
	return cmd
}

// listenWitness hears until an interrupt.
func listenWitness(ctx context.Context, env *environment, address, file string) error {
	s, err := witness.NewServer(file)
	if err != nil {
		return withExit(exitFailure, err)
	}
	s.Log = func(text string) { fmt.Fprintln(env.stderr, report.Clean(text)) }
	l, err := net.Listen("tcp", address)
	if err != nil {
		return withExit(exitUsage, fmt.Errorf("--listen: %w", err))
	}
	fmt.Fprintf(env.stdout, "witness listens at %s\n", l.Addr())
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	signals, stop := env.signals()
	defer stop()
	go func() {
		select {
		case <-signals:
			cancel()
		case <-ctx.Done():
		}
	}()
	return withExit(exitFailure, s.Serve(ctx, l))
}

// verifyWitness compares what the witness knows with what is there.
func verifyWitness(ctx context.Context, env *environment, dir, address, session, format string, keep bool) error {
	if address == "" {
		return usageError("--verify needs to know where the witness listens: --witness HOST:PORT")
	}
	if format != "text" && format != "json" {
		return usageError("unknown format %q (known: text, json)", format)
	}
	c, err := witness.Dial(ctx, address, session)
	if err != nil {
		return withExit(exitUnreachable, err)
	}
	defer c.Close()
	d, err := witness.Verify(c, dir, session)
	if err != nil {
		return withExit(exitFailure, err)
	}
	if format == "json" {
		err = printJSON(env.stdout, d)
	} else {
		_, err = fmt.Fprintf(env.stdout, "%s: %s\n", d.Verdict, report.Clean(d.Text))
	}
	if err != nil {
		return err
	}
	if d.Verdict != record.Honest {
		return withExit(exitObjective, errSilent)
	}
	if !keep {
		return withExit(exitFailure, os.Remove(witness.FileName(dir, session)))
	}
	return nil
}

// witnessed writes records for a witness until somebody cuts the power, or until an interrupt.
func (f *diskFlags) witnessed(ctx context.Context, env *environment, dir string) error {
	session := cmp.Or(f.session, defaultSession)
	if err := files.Refuse(dir); err != nil && !f.force {
		return withExit(exitUsage, err)
	}
	if err := witness.CheckSession(session); err != nil {
		return withExit(exitUsage, err)
	}
	c, err := witness.Dial(ctx, f.witness, session)
	if err != nil {
		return withExit(exitUnreachable, err)
	}
	defer c.Close()
	ctx, stop := untilInterrupt(ctx, env)
	defer stop()
	next := fmt.Sprintf("plimsoll disk witness --verify %s --witness %s --session %s", dir, f.witness, session)
	fmt.Fprintf(env.stderr, "writing records for the witness; cut the power of this machine now, and afterwards run\n  %s\n", next)
	n, err := witness.Write(ctx, c, dir, session, func(n int64) {
		if env.terminal && !f.quiet {
			fmt.Fprintf(direct(env.stderr), "\r%s records", figure.Count(n))
		}
	})
	if err != nil {
		return withExit(exitFailure, err)
	}
	fmt.Fprintf(env.stdout, "%s records were written and acknowledged, and no power was cut\n", figure.Count(n))
	if errors.Is(ctx.Err(), context.Canceled) {
		return withExit(exitInterrupted, errSilent)
	}
	return nil
}
