package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/plimsoll-bench/plimsoll/capacity/predict"
	"github.com/plimsoll-bench/plimsoll/disk"
	"github.com/plimsoll-bench/plimsoll/disk/faultcut"
	"github.com/plimsoll-bench/plimsoll/disk/files"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/run"
	"github.com/plimsoll-bench/plimsoll/spec"
)

// diskFlags are the flags of `plimsoll disk`.
type diskFlags struct {
	settings                       settings
	force, quiet, iostat, noRecord bool
	out, format, faultSocket, web  string
	witness, session               string
	pods                           podFlags
	limit                          string   // of two directories
	packed                         string   // what the volume of this pod is
	predict                        []string // calibrations
	calibrations                   []predict.Calibration
}

// diskHelp is the beginning of the help.
const diskHelp = `Measure storage with the I/O patterns of MongoDB, without a database, and test whether the storage keeps
data that it reported as flushed.

DIR is a directory on the storage (default: the current directory). The test files are in a directory
below it, and are removed at the end. lab:NAME/VOLUME is a volume of a lab without a database.`

func newDiskCommand(env *environment) *cobra.Command {
	var f diskFlags
	cmd := &cobra.Command{
		Use:   "disk [DIR | DIR-A DIR-B | lab:NAME/VOLUME]",
		Short: "Measure storage for MongoDB, and test whether it keeps flushed data",
		Long: `If a lab without a database ('plimsoll lab up --engine none') has --faults, the probe also cuts the power of
the volume.

Profiles:

  random       random reads and durable writes with 1, 2, 4 … threads, like mongoperf
  journal      group commit of the journal with 1 … 256 clients, and the commits/s that the flush time predicts
  checkpoint   commits and cache misses at fixed rates during checkpoints
  sustained    writes for --duration, to use up caches and burst credits: give 10m or more

Each step takes --duration. Ctrl-C ends the current step and keeps the measured data.

With two directories, short probes of both (2 s for each step, files of 256 MiB) run in turn until it is known
which is better for the journal, for checkpoints and for random reads. 'plimsoll compare' of the directories
A and B below --out repeats the answer.

With --predict, the record has the throughput and the p99 of durable writes of an engine on this storage,
over workers, before the engine runs here. 'plimsoll compare RECORD RUN…' compares them with runs.

With --place kubernetes, a pod probes a new volume on each node for each --storage-class, one after the
other. The records and report.html, which compares them, are in --out. Volumes and pods are removed, also
after Ctrl-C. If the command was killed, 'plimsoll agent clean' removes them.

Exit codes: 0 objectives met, 1 other failure, 2 usage error or directory refused, 4 objective missed or
flushed data lost, 6 result invalid, 130 interrupted.`,
		Example: `  plimsoll disk /data
  plimsoll disk /data --profile random,journal --size 64GiB
  plimsoll disk /mnt/a /mnt/b
  plimsoll disk lab:stripes/vol-1 --profile random --threads 64
  plimsoll disk /data --profile journal --peer 2ms@0.5ms --peer 2ms@0.5ms --slo 'flush.p99<10ms'
  plimsoll disk /data --profile checkpoint --dirty 2GiB --commit-rate 500 --duration 5m
  plimsoll disk /data --profile sustained --duration 30m --size 200GiB
  plimsoll disk /data --profile journal --predict calibration-1,calibration-64 --out prediction
  plimsoll disk --place kubernetes:n1,n2 --storage-class fast,slow --profile random,journal`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 2 {
				return nil
			}
			return atMostOne("directory")(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := f.pods.check(cmd, args, inVolume...); err != nil {
				return err
			}
			if f.pods.place != "" {
				return f.runInPods(cmd, env)
			}
			dir := "."
			if len(args) == 2 {
				return f.alternate(cmd, env, args)
			}
			if len(args) == 1 {
				dir = args[0]
			}
			return f.run(cmd, env, dir)
		},
	}
	f.add(cmd)
	cmd.AddCommand(newMongoperfCommand(env), newWitnessCommand(env))
	return cmd
}

func (f *diskFlags) add(cmd *cobra.Command) {
	usual, flags := disk.Defaults("."), cmd.Flags()
	f.settings = addSettings(cmd, &usual, probeSettings)
	grouped(cmd, journalGroup, func() {
		flags.StringSliceVar(&f.predict, "predict", nil, "predict durable writes of an engine on this storage, from these `records` of its runs on a filesystem in memory")
	})
	grouped(cmd, powerGroup, func() {
		flags.StringVar(&f.faultSocket, "fault-socket", "", "control `socket` of the plimsoll faultfs below DIR: cut the power of its disk and check the data")
		flags.StringVar(&f.witness, "witness", "", "`HOST:PORT` of a plimsoll disk witness: write numbered blocks until you cut the power")
		flags.StringVar(&f.session, "session", "", "`name` of the power cut test, with --witness (default power-cut)")
	}, "witness")
	flags.StringVar(&f.out, "out", "", "`directory` of the record (default plimsoll-data/runs/TIME-disk)")
	flags.StringVar(&f.limit, "for", "15m", "with two directories: longest `time`; without an answer until then, it is unknown")
	flags.BoolVar(&f.noRecord, "no-record", false, "write no record")
	resultFlags(flags, &f.format, formats()...)
	flags.BoolVarP(&f.quiet, "quiet", "q", false, "show no progress")
	flags.BoolVar(&f.iostat, "iostat", false, "print statistics of the devices every second, like iostat -x")
	flags.BoolVar(&f.force, "force", false, "probe a directory that has a database or is in memory")
	webFlag(cmd, &f.web)
	grouped(cmd, podsGroup, func() { f.pods.add(flags) }, "place", "storage-class")
	flags.StringVar(&f.packed, "packed", "", "print the record of a volume with this description for the log of a pod")
	_ = flags.MarkHidden("packed")
	briefHelp(cmd, diskHelp, "out", "format", "iostat")
}

func (f *diskFlags) spec(cmd *cobra.Command, dir string) (s record.ProbeSpec, err error) {
	return f.specOf(cmd, disk.Defaults(dir))
}

// specOf applies the flags to a specification with defaults.
func (f *diskFlags) specOf(cmd *cobra.Command, s record.ProbeSpec) (record.ProbeSpec, error) {
	if err := f.settings.apply(&s); err != nil {
		return s, err
	}
	if s.Forced = f.force; s.Log == spec.LogReserved {
		s.Log = ""
	}
	if err := f.calibrate(cmd, &s); err != nil {
		return s, err
	}
	if !cmd.Flags().Changed("checkpoint-period") { // several checkpoints within a short step
		s.Period = min(s.Period, s.Duration/4)
		s.Period = max(s.Period, int64(50*time.Millisecond))
	}
	if _, err := disk.ParseObjectives(strings.Join(s.Objectives, ",")); err != nil && len(s.Objectives) > 0 {
		return s, withExit(exitUsage, err)
	}
	return s, withExit(exitUsage, disk.Check(&s))
}

func (f *diskFlags) run(cmd *cobra.Command, env *environment, dir string) error {
	if f.witness != "" {
		return f.witnessed(cmd.Context(), env, dir)
	}
	place, err := findPlace(cmd.Context(), env, dir, f.force)
	if err != nil {
		return err
	}
	defer place.close()
	dir = place.dir
	spec, err := f.spec(cmd, dir)
	if err != nil {
		return err
	}
	cutter, err := f.cutter(cmd.Context(), place)
	if err != nil {
		return err
	}
	out := cmp.Or(f.out, run.NewRecordDir("disk", env.now()))
	if f.noRecord {
		out = ""
	}
	// Refuse the directory before a record is created.
	if err := files.Refuse(dir); err != nil && !f.force {
		return withExit(exitUsage, err)
	}
	p := newProbe(env, spec)
	p.Volume = cmp.Or(f.packed, place.volume)
	w, end, err := f.begin(env, out, p)
	if err != nil {
		return err
	}
	defer end()
	progress := newDiskProgress(env, f.quiet, f.iostat)
	progress.plan(spec)
	ctx, stop := untilInterrupt(cmd.Context(), env)
	defer stop()
	err = disk.Run(ctx, disk.Options{Writer: w, Progress: progress, Cutter: cutter, Live: f.iostat})
	progress.end()
	if err == nil && ctx.Err() == nil && len(f.calibrations) > 0 {
		p.Prediction = predict.Disk(p, f.calibrations, spec.Clients)
	}
	return f.finish(ctx, env, w, out, err)
}

// newProbe is a probe that begins now.
func newProbe(env *environment, asked record.ProbeSpec) *record.Probe {
	return &record.Probe{Head: record.Head{Tool: tool(), Command: commandLine(env), Started: env.now().UTC(),
		Environment: record.NewEnvironment(map[string]string{"probe": asked.Directory})}, Specification: asked}
}

// endProbe writes how a probe ended: completely, by an interrupt, or by an error.
func endProbe(ctx context.Context, env *environment, w *record.ProbeWriter, failed error) error {
	switch {
	case failed != nil:
		return w.Finish(record.Failed, failed.Error(), env.now())
	case ctx.Err() != nil:
		return w.Finish(record.Interrupted, "", env.now())
	}
	return w.Finish(record.Complete, "", env.now())
}

// begin creates the record and its page. This process holds the record until end is called.
func (f *diskFlags) begin(env *environment, out string,
	p *record.Probe) (w *record.ProbeWriter, end func(), err error) {
	if out == "" {
		if f.web != "" {
			return nil, nil, usageError("--web needs a record, and --no-record writes none: remove one of them")
		}
		w, err = record.CreateProbe("", p)
		return w, func() {}, err
	}
	shut, err := startWeb(env, f.web, out)
	if err != nil {
		return nil, nil, err
	}
	release, err := record.Hold(out)
	if err != nil {
		shut()
		return nil, nil, withExit(exitFailure, err)
	}
	end = func() { release(); shut() }
	if w, err = record.CreateProbe(out, p); err != nil {
		end()
		return nil, nil, withExit(exitFailure, err)
	}
	return w, end, nil
}

// cutter returns what can cut the power of the disk below the directory, or nil.
func (f *diskFlags) cutter(ctx context.Context, place probePlace) (disk.PowerCutter, error) {
	switch {
	case f.faultSocket == "":
		return place.cutter, nil
	case place.volume != "":
		return nil, usageError("--fault-socket is not for volumes of a lab: remove it, and start the lab with --faults")
	}
	c, err := faultcut.Dial(ctx, f.faultSocket)
	if err == nil {
		err = c.Check(ctx, place.dir)
	}
	if err != nil {
		return nil, withExit(exitUsage, err)
	}
	return c, nil
}

func (f *diskFlags) finish(ctx context.Context, env *environment, w *record.ProbeWriter, out string,
	failed error) error {
	if err := endProbe(ctx, env, w, failed); err != nil {
		return withExit(exitFailure, errors.Join(failed, err))
	}
	if failed != nil && len(w.Probe.Steps) == 0 {
		if err := withoutRecord(out, failed); err != nil {
			return withExit(exitFailure, errors.Join(failed, err))
		}
		return diskError(failed)
	}
	if f.packed != "" {
		return errors.Join(packRecord(env, out), ending(w.Probe.Conclude()))
	}
	if err := printRecord(env.stdout, out, w.Probe, f.format); err != nil {
		return err
	}
	if out != "" {
		leaves(env, f.quiet, out, nil)
	}
	if failed != nil {
		return diskError(failed)
	}
	return ending(w.Probe.Conclude())
}

// withoutRecord removes the record of a probe that was refused, so that the corrected command can have the same --out.
func withoutRecord(out string, failed error) error {
	var refused *files.RefusedError
	var full *files.FullError
	if out == "" || !errors.As(failed, &refused) && !errors.As(failed, &full) {
		return nil
	}
	return record.Remove(filepath.Dir(out), filepath.Base(out))
}

// diskError separates usage errors from other failures.
func diskError(err error) error {
	var refused *files.RefusedError
	var direct *files.NoDirectError
	if errors.As(err, &refused) || errors.As(err, &direct) {
		return withExit(exitUsage, err)
	}
	return withExit(exitFailure, err)
}

func untilInterrupt(ctx context.Context, env *environment) (context.Context, func()) {
	return interruptible(ctx, env, func() {
		fmt.Fprintln(env.stderr, "\nplimsoll: ending the step; measured data is kept, test files are removed")
	})
}
