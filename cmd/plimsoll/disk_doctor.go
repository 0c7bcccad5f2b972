package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/plimsoll-bench/plimsoll/disk/device"
	"github.com/plimsoll-bench/plimsoll/disk/doctor"
	"github.com/plimsoll-bench/plimsoll/internal/permit"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/run"
	"github.com/plimsoll-bench/plimsoll/run/observe"
	"github.com/plimsoll-bench/plimsoll/server"
	"github.com/plimsoll-bench/plimsoll/store"
)

func newDoctorCommand(env *environment) *cobra.Command {
	var uri, probe, data, format string
	var pods podFlags
	cmd := &cobra.Command{
		Use:   "doctor [DIR]",
		Short: "Check this host and a server against MongoDB's recommendations",
		Long: `Check this host and the storage of a directory (default: the current one) against MongoDB's recommendations.
For each finding, print the value, the recommended value, the reason and the command that changes it.
Nothing is changed.

With --uri, also check a server and its machine, as far as the server reports them. If the server runs on
this host, DIR is its dbPath by default; if it does not, only the server is checked. With --probe, include
the results of plimsoll disk.

With --diagnostic-data, read the directory diagnostic.data of a server, or a copy of it, and report how much
load it had in the days that the files cover, what was busiest, where operations waited, and when the server
wrote nothing. Nothing else is checked.

With --place kubernetes, a pod examines each node, with a new volume of each --storage-class. The result is
one table.

Exit codes: 0 no warning, 1 other failure, 2 usage error, 3 server unreachable, 4 warning, 6 critical
finding.` + addressHelp,
		Example: `  plimsoll doctor /data
  plimsoll doctor /data --uri mongodb://localhost/
  plimsoll doctor --uri env:MONGODB_URI
  plimsoll doctor --diagnostic-data /data/diagnostic.data
  plimsoll disk /data --out probe && plimsoll doctor /data --probe probe
  plimsoll doctor --place kubernetes --storage-class fast`,
		Args: atMostOne("directory"),
		RunE: func(cmd *cobra.Command, args []string) error {
			dir := ""
			if len(args) == 1 {
				dir = args[0]
			}
			if err := pods.check(cmd, args, "uri", "probe", "diagnostic-data"); err != nil {
				return err
			}
			if data != "" {
				if dir != "" || uri != "" || probe != "" {
					return usageError("--diagnostic-data reads files only: omit the directory, --uri and --probe")
				}
				d, err := readDiagnosis(cmd.Context(), env, data)
				if err != nil {
					return withExit(exitUsage, err)
				}
				return printResult(env.stdout, d, format)
			}
			if pods.place != "" {
				return examineInPods(cmd, env, &pods, format)
			}
			if err := readAddresses(env, &uri); err != nil {
				return err
			}
			warnOfFaults(env, uri)
			result, err := examine(cmd.Context(), env, dir, uri, probe)
			if err != nil {
				return err
			}
			if err := printResult(env.stdout, result, format); err != nil {
				return err
			}
			return doctorEnd(result)
		},
	}
	cmd.Flags().StringVar(&uri, "uri", "", "`address` of a server; env:NAME, @FILE or @- hide it")
	cmd.Flags().StringVar(&data, "diagnostic-data", "", "`directory` diagnostic.data of a server, or a copy of it")
	cmd.Flags().StringVar(&probe, "probe", "", "`record` of plimsoll disk, for measured values")
	resultFlags(cmd.Flags(), &format, "text", "md", "json")
	pods.add(cmd.Flags())
	return cmd
}

// readDiagnosis reads the diagnostic data of a server.
func readDiagnosis(ctx context.Context, env *environment, dir string) (*record.Diagnosis, error) {
	if err := permit.Check(ctx, permit.Read, dir); err != nil {
		return nil, err
	}
	ctx, stop := interruptible(ctx, env)
	defer stop()
	d, err := observe.ReadHistory(ctx, dir)
	if d != nil {
		d.Tool = tool()
	}
	return d, err
}

// doctorEnd is the exit of an examination.
func doctorEnd(d *record.Doctor) error {
	switch d.Worst {
	case record.DoctorCritical:
		return withExit(exitInvalid, errSilent)
	case record.DoctorWarning:
		return withExit(exitObjective, errSilent)
	}
	return nil
}

// examine collects all facts and judges them. With a server, this machine is judged only if the server runs on it;
// another machine is judged by what its server reports.
func examine(ctx context.Context, env *environment, dir, uri, probe string) (*record.Doctor, error) {
	out := &record.Doctor{SchemaVersion: record.SchemaVersion, Kind: record.KindDoctor, Tool: tool(), Probe: probe}
	in := doctor.Input{Now: time.Now()}
	if probe != "" {
		var err error
		if in.Probe, err = record.OpenProbe(probe); err != nil {
			return nil, withExit(exitUsage, err)
		}
	}
	if uri != "" {
		if err := noteOptions(env, uri); err != nil {
			return nil, err
		}
		out.URI = store.Redact(uri)
		var facts server.Facts
		var err error
		run.TellIfSlow(func() {
			fmt.Fprintf(env.stderr, "plimsoll: %s has not answered yet; retrying for up to %v\n", out.URI, serverPatience)
		}, func() { facts, err = queryServer(ctx, uri) })
		if wrong := (*exitError)(nil); errors.As(err, &wrong) {
			return nil, err
		}
		if err != nil {
			return nil, withExit(exitUnreachable, err)
		}
		in.Server = &facts
		in.Process = doctor.Running(device.Here(), facts)
	}
	if in.Server == nil || in.Process != nil {
		switch {
		case dir == "" && in.Process != nil:
			dir = in.Process.DBPath // empty for a router, which has no disk
		case dir == "":
			dir = "."
		}
		var err error
		if in.Host, err = doctor.Look(device.Here(), dir); err != nil {
			return nil, withExit(exitUsage, err)
		}
		out.Directory = dir
	}
	out.Findings = doctor.Check(in)
	out.Worst = doctor.Worst(out.Findings)
	return out, nil
}
