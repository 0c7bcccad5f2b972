package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/plimsoll-bench/plimsoll/disk/device"
	"github.com/plimsoll-bench/plimsoll/disk/doctor"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/run"
	"github.com/plimsoll-bench/plimsoll/server"
	"github.com/plimsoll-bench/plimsoll/store"
)

func newDoctorCommand(env *environment) *cobra.Command {
	var uri, probe, format string
	cmd := &cobra.Command{
		Use:   "doctor [DIR]",
		Short: "Hold this host and a server against what MongoDB recommends",
		Long: `Compare this host, and the storage below a directory (the current one if absent), with what MongoDB
recommends: what is, what should be, why, and how to change it. With --uri, judge a server by what it says
of itself and of its machine. This host is judged beside it only if the server runs here; the directory is
then the server's dbPath unless you name another. With --probe, the record of plimsoll disk, show what
was measured. Nothing is changed.

Exit codes: 0 nothing worse than advice, 4 there is a warning, 6 something is critical, 2 an argument is
wrong, 3 the server cannot be reached.` + addressHelp,
		Example: `  plimsoll doctor /data --uri mongodb://localhost/
  plimsoll doctor --uri env:MONGODB_URI
  plimsoll disk /data --out probe && plimsoll doctor /data --probe probe`,
		Args: atMostOne("directory"),
		RunE: func(cmd *cobra.Command, args []string) error {
			dir := ""
			if len(args) == 1 {
				dir = args[0]
			}
			if format != "text" && format != "json" && format != "md" {
				return usageError("unknown format %q (known: text, md, json)", format)
			}
			if err := readAddresses(env, &uri); err != nil {
				return err
			}
			result, err := examine(cmd.Context(), env, dir, uri, probe)
			if err != nil {
				return err
			}
			if err := printResult(env.stdout, result, format); err != nil {
				return err
			}
			switch result.Worst {
			case record.DoctorCritical:
				return withExit(exitInvalid, errSilent)
			case record.DoctorWarning:
				return withExit(exitObjective, errSilent)
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&uri, "uri", "", "address of the server that is looked at; env:NAME, @FILE or @- keeps it out of the command line")
	cmd.Flags().StringVar(&probe, "probe", "", "record of plimsoll disk, for what was measured")
	cmd.Flags().StringVar(&format, "format", "text", "text, md, json")
	return cmd
}

// examine collects all facts and judges them. Where a server is named, a machine is judged only if the server runs on it:
// of another machine there is what its server says of it.
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
		out.URI = store.Redact(uri)
		var facts server.Facts
		var err error
		run.TellIfSlow(func() {
			fmt.Fprintf(env.stderr, "plimsoll: %s has not answered yet; it is tried again for up to %v\n", out.URI, serverPatience)
		}, func() { facts, err = askServer(ctx, uri) })
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
			dir = in.Process.DBPath // none of a router: no disk of this machine matters to it
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
