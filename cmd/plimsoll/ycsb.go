package main

import (
	"context"
	"errors"
	"io"

	"github.com/spf13/cobra"

	"github.com/plimsoll-bench/plimsoll/ycsb"
)

const ycsbHelp = `plimsoll ycsb takes the command line of YCSB's launcher, writes the same records and prints the same
lines, so that scripts made for bin/ycsb keep working:

  plimsoll ycsb load mongodb -P workloads/workloada -p mongodb.url=mongodb://host/ycsb -threads 16
  plimsoll ycsb run  mongodb -P workloads/workloada -p mongodb.url=mongodb://host/ycsb -threads 16 -target 5000 -s

Databases: mongodb, mongodb-async (the same), and embedded with -p embedded.dir=DIR (a directory on this
machine, no server needed). Without the launcher's words, -db site.ycsb.db.MongoDbClient -load|-t works too.

  -P file         properties of the workload; may be repeated, later files win.
                  workloada … workloadf are built in where there is no such file
  -p name=value   one property; wins over all files
  -threads n      the property threadcount
  -target n       the property target: operations per second of all threads together
  -s              the property status: a line on standard error every status.interval seconds
  -l label        the property label: what status lines begin with
  -cp, -jvm-args  are accepted and ignored

Properties beyond those of YCSB:
  plimsoll.client=driver|wire       the official driver (default), or the fast client
  plimsoll.seed=n                   the same operations again
  plimsoll.timeout=60s              longest time for one operation
  plimsoll.out=DIR                  keep a record, for 'plimsoll show DIR'
  plimsoll.ycsb.version=0.17|0.18   whose lines to print (default 0.18)
  plimsoll.strict=true              a property that looks misspelled is an error

Command lines can be read by every user of the machine. Keep an address with a password out of them:
-p mongodb.url=env:NAME takes it from an environment variable, -p mongodb.url=@FILE from the line in a file,
-p mongodb.url=@- from standard input, and a property file (-P) can hold mongodb.url too.

Exit codes, where YCSB has 0 for nearly everything: 0 done, also if some operations of a run failed; 1 a load
came short; 2 wrong arguments or properties; 3 the target cannot be reached; 6 nothing was done, or all of it
failed; 130 interrupted. docs/ycsb.md lists what differs from YCSB and why.
`

func newYCSBCommand(env *environment) *cobra.Command {
	return &cobra.Command{
		Use:                "ycsb load|run DATABASE [-P file]... [-p name=value]... [-threads n] [-target n] [-s]",
		Short:              "Take the command line of YCSB and print what YCSB prints",
		Long:               ycsbHelp,
		DisableFlagParsing: true, // YCSB's arguments are -threads, not --threads
		RunE: func(cmd *cobra.Command, args []string) error {
			return ycsbExit(runYCSB(cmd.Context(), env, args))
		},
	}
}

func runYCSB(ctx context.Context, env *environment, words []string) error {
	args, err := ycsb.ParseArgs(words)
	if err != nil {
		return err
	}
	if args.Help {
		_, err := io.WriteString(env.stdout, ycsbHelp)
		return err
	}
	return ycsb.Run(ctx, args, ycsb.Process{
		Stdout: env.stdout, Stderr: env.stderr, Now: env.now, Tool: tool(),
		Address: func(word string) (string, error) { return addressOf(env, word) },
		Interrupts: func(ctx context.Context) (context.Context, <-chan struct{}, func()) {
			return endOrAbort(ctx, env)
		},
	})
}

// ycsbCodes are the exit codes of the ways in which a call ends.
var ycsbCodes = map[ycsb.Kind]int{
	ycsb.Usage: exitUsage, ycsb.Unreachable: exitUnreachable, ycsb.Short: exitFailure, ycsb.Nothing: exitInvalid,
	ycsb.Interrupted: exitInterrupted,
}

// ycsbExit gives an error of package ycsb its exit code and its hint.
func ycsbExit(err error) error {
	var e *ycsb.Error
	if errors.As(err, &e) {
		return withHint(ycsbCodes[e.Kind], err, e.Hint)
	}
	return err
}
