package main

import (
	"context"
	"errors"
	"io"

	"github.com/spf13/cobra"

	"github.com/plimsoll-bench/plimsoll/ycsb"
)

const ycsbHelp = `Run YCSB workloads with the command line and the output of bin/ycsb. The documents are the same too, so
scripts for bin/ycsb keep working:

  plimsoll ycsb load mongodb -P workloads/workloada -p mongodb.url=mongodb://host/ycsb -threads 16
  plimsoll ycsb run  mongodb -P workloads/workloada -p mongodb.url=mongodb://host/ycsb -threads 16 -target 5000 -s

Databases: mongodb, mongodb-async (the same), and embedded with -p embedded.dir=DIR (a directory on this
machine; needs no server). The form -db site.ycsb.db.MongoDbClient -load|-t is accepted too.

  -P file         property file of the workload (repeatable); later files override earlier ones.
                  workloada … workloadf are built in
  -p name=value   property; overrides all files
  -threads n      property threadcount: number of threads
  -target n       property target: operations per second of all threads together
  -s              property status: print a status line on standard error every status.interval seconds
  -l label        property label: beginning of the status lines
  -cp, -jvm-args  ignored

Properties of plimsoll:
  plimsoll.client=driver|wire       MongoDB client: the official driver (default) or plimsoll's faster one
  plimsoll.seed=n                   seed of the operations
  plimsoll.timeout=60s              deadline of each operation
  plimsoll.out=DIR                  directory of a record, for 'plimsoll show DIR'
  plimsoll.ycsb.version=0.17|0.18   version of YCSB's output (default 0.18)
  plimsoll.strict=true              refuse properties that look misspelled

Other users of this machine can read command lines. To hide an address with a password, use
-p mongodb.url=env:NAME (an environment variable), -p mongodb.url=@FILE (the line in a file),
-p mongodb.url=@- (a line of standard input), or mongodb.url in a property file (-P).

Exit codes (YCSB returns 0 for almost everything): 0 done, even if some operations of a run failed; 1 load
incomplete; 2 usage error; 3 target unreachable; 6 no operation succeeded; 130 interrupted. docs/ycsb.md
lists the differences from YCSB.
`

func newYCSBCommand(env *environment) *cobra.Command {
	return &cobra.Command{
		Use:                "ycsb load|run DATABASE [-P file]... [-p name=value]... [-threads n] [-target n] [-s]",
		Short:              "Run YCSB workloads with YCSB's command line and output",
		Long:               ycsbHelp,
		DisableFlagParsing: true, // flags of YCSB are -threads, not --threads
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

var ycsbCodes = map[ycsb.Kind]int{
	ycsb.Usage: exitUsage, ycsb.Unreachable: exitUnreachable, ycsb.Short: exitFailure, ycsb.Nothing: exitInvalid,
	ycsb.Interrupted: exitInterrupted,
}

func ycsbExit(err error) error {
	var e *ycsb.Error
	if errors.As(err, &e) {
		return withHint(ycsbCodes[e.Kind], err, e.Hint)
	}
	return err
}
