package main

import (
	"context"
	"errors"
	"io"

	"github.com/spf13/cobra"

	"github.com/plimsoll-bench/plimsoll/disk/device"
	"github.com/plimsoll-bench/plimsoll/disk/doctor"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/report"
	"github.com/plimsoll-bench/plimsoll/store"
)

func newDoctorCommand(env *environment) *cobra.Command {
	var uri, probe, format string
	cmd := &cobra.Command{
		Use:   "doctor [DIR]",
		Short: "Hold this host and a server against what MongoDB recommends",
		Long: `Look at this host, at the storage below a directory (the current one if absent) and, with --uri, at a
server, and say what differs from what MongoDB recommends: what is, what should be, why, and how to
change it. With --probe, the record of plimsoll disk, it says what was measured about it. Nothing is
changed.

Exit codes: 0 nothing worse than advice, 4 there is a warning, 6 something is critical, 2 an argument is
wrong, 3 the server cannot be reached.`,
		Example: `  plimsoll doctor /data --uri mongodb://localhost/
  plimsoll disk /data --out probe && plimsoll doctor /data --probe probe`,
		Args: atMostOne("directory"),
		RunE: func(cmd *cobra.Command, args []string) error {
			dir := "."
			if len(args) == 1 {
				dir = args[0]
			}
			if format != "text" && format != "json" && format != "md" {
				return usageError("unknown format %q (known: text, md, json)", format)
			}
			result, err := examine(cmd.Context(), dir, uri, probe)
			if err != nil {
				return err
			}
			if err := printDoctor(env.stdout, result, format); err != nil {
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
	cmd.Flags().StringVar(&uri, "uri", "", "address of the server that is looked at")
	cmd.Flags().StringVar(&probe, "probe", "", "record of plimsoll disk, for what was measured")
	cmd.Flags().StringVar(&format, "format", "text", "text, md, json")
	return cmd
}

// examine collects all facts and judges them.
func examine(ctx context.Context, dir, uri, probe string) (*record.Doctor, error) {
	out := &record.Doctor{SchemaVersion: record.SchemaVersion, Kind: record.KindDoctor, Tool: tool(), Directory: dir, Probe: probe}
	var in doctor.Input
	var err error
	if in.Host, err = doctor.Look(device.Here(), dir); err != nil {
		return nil, withExit(exitUsage, err)
	}
	if probe != "" {
		if in.Probe, err = record.OpenProbe(probe); err != nil {
			return nil, withExit(exitUsage, err)
		}
	}
	if uri != "" {
		out.URI = store.Redact(uri)
		var wrong *exitError
		if in.Server, err = askServer(ctx, uri); errors.As(err, &wrong) {
			return nil, err
		}
		if err != nil {
			return nil, withExit(exitUnreachable, err)
		}
	}
	out.Findings = doctor.Check(in)
	out.Worst = doctor.Worst(out.Findings)
	return out, nil
}

func printDoctor(w io.Writer, d *record.Doctor, format string) error {
	switch format {
	case "json":
		return printJSON(w, d)
	case "md":
		return report.DoctorMarkdown(w, d)
	}
	return writeSections(w, report.DoctorTitle(d), report.DoctorSections(d))
}
