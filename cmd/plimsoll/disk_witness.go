package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"

	"github.com/spf13/cobra"

	"github.com/plimsoll-bench/plimsoll/disk/files"
	"github.com/plimsoll-bench/plimsoll/disk/witness"
	"github.com/plimsoll-bench/plimsoll/internal/figure"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/report"
)

const defaultSession = "power-cut"

func newWitnessCommand(env *environment) *cobra.Command {
	var listen, verify, address, session, file, format string
	var keep bool
	cmd := &cobra.Command{
		Use:   "witness (--listen HOST:PORT | --verify DIR --witness HOST:PORT)",
		Short: "Test with a real power cut whether storage keeps acknowledged data",
		Long: `Test with a real power cut whether storage keeps acknowledged data. This needs two machines.

  1. on a machine that keeps its power:   plimsoll disk witness --listen 0.0.0.0:7717
  2. on the tested machine:               plimsoll disk /data --witness OTHER:7717 --session first
  3. cut the power of the tested machine (pull the plug or reset the virtual machine; no shutdown)
  4. when it is up again:                 plimsoll disk witness --verify /data --witness OTHER:7717 --session first

The tested machine writes numbered blocks. It makes each block durable and sends its number to the
witness before it writes the next one. After the power cut, each of these blocks must be on the storage.
It also writes blocks without making them durable, of which the power cut must lose some. The
verdict is honest, lying with the number of missing blocks, or not-provable-here if nothing was lost,
because then the power was not cut. The protocol (docs/disk.md) has no
encryption and no password, and carries only numbers.

Exit codes: 0 honest, 1 other failure, 2 usage error, 3 witness unreachable, 4 blocks missing,
6 nothing was lost, so the power was not cut.`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			switch {
			case (listen == "") == (verify == ""):
				return usageError("give --listen HOST:PORT, or --verify DIR with --witness HOST:PORT")
			case listen != "":
				return listenWitness(cmd.Context(), env, listen, file)
			}
			return verifyWitness(cmd.Context(), env, verify, address, session, format, keep)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&listen, "listen", "", "`address` to listen at, such as 0.0.0.0:7717")
	flags.StringVar(&file, "state", "", "with --listen: `file` that keeps the numbers when the witness restarts")
	flags.StringVar(&verify, "verify", "", "`directory` of the records, after the power cut")
	flags.StringVar(&address, "witness", "", "with --verify: `HOST:PORT` of the witness")
	flags.StringVar(&session, "session", defaultSession, "with --verify: `name` of the power cut test")
	flags.BoolVar(&keep, "keep", false, "with --verify: keep the records")
	formatFlag(flags, &format, "result", "text", "json")
	return cmd
}

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
	ctx, stop := interruptible(ctx, env)
	defer stop()
	return withExit(exitFailure, s.Serve(ctx, l))
}

// verifyWitness compares the numbers of the witness with the records on the storage.
func verifyWitness(ctx context.Context, env *environment, dir, address, session, format string, keep bool) error {
	if address == "" {
		return usageError("--verify needs --witness HOST:PORT")
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
	switch d.Verdict {
	case record.Lying:
		return withExit(exitObjective, errSilent)
	case record.NotProvable: // the files stay for another verification
		return withExit(exitInvalid, errSilent)
	}
	if !keep {
		return withExit(exitFailure, witness.Remove(dir, session))
	}
	return nil
}

// witnessed writes records for a witness until the power is cut, or until an interrupt.
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
	fmt.Fprintf(env.stderr, "writing records for the witness; cut the power of this machine now, then run\n  %s\n", next)
	n, err := witness.Write(ctx, c, dir, session, func(n int64) {
		if env.terminal && !f.quiet {
			fmt.Fprintf(direct(env.stderr), "\r%s records", figure.Count(n))
		}
	})
	if err != nil {
		return withExit(exitFailure, err)
	}
	fmt.Fprintf(env.stdout, "%s records were written and acknowledged; the power was not cut\n", figure.Count(n))
	if errors.Is(ctx.Err(), context.Canceled) {
		return withExit(exitInterrupted, errSilent)
	}
	return nil
}
