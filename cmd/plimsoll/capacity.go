package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	driver "go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/plimsoll-bench/plimsoll/campaign"
	"github.com/plimsoll-bench/plimsoll/drill"
	"github.com/plimsoll-bench/plimsoll/internal/dial"
	"github.com/plimsoll-bench/plimsoll/internal/figure"
	"github.com/plimsoll-bench/plimsoll/internal/permit"
	"github.com/plimsoll-bench/plimsoll/load"
	"github.com/plimsoll-bench/plimsoll/loadline"
	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/platform"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/report"
	"github.com/plimsoll-bench/plimsoll/run"
	"github.com/plimsoll-bench/plimsoll/server"
	"github.com/plimsoll-bench/plimsoll/spec"
	"github.com/plimsoll-bench/plimsoll/store"
)

type capacityOptions struct {
	spec   specFlags
	format string
	quiet  bool
	dry    bool
	events bool // the user named events
	// confirm changes a capacity of a lab to confirm its limit.
	confirm bool

	present presentFlags
}

func newCapacityCommand(env *environment) *cobra.Command {
	var o capacityOptions
	cmd := &cobra.Command{
		Use:   "capacity [SPEC|TARGET|DIR]",
		Short: "Find the highest load that a deployment carries",
		Long: `Each step is an open loop at one rate. A test on its seconds decides it: met, missed or undecided, with an error of
5 %. The search raises the rate until it is missed, narrows it, and confirms the answer by fresh trials just below and
just above it, in turn. The answer has a 95 % interval, and the probability that it is wrong by more than 5 %. The
search ends when that probability is at most 5 %, or with --within.

With --while, further lines say which load the deployment carries while an event lasts. Their steps are drills at a
rate: the objectives hold outside of the outage of a failover, acknowledged writes survive, and redundancy returns. The
safe load is the low end of the lowest line.

Each line states what limits it: the load generator, the network, a processor, a disk, tickets, locks, conflicts, or
"unknown". A label needs two independent signals. With --confirm, the capacity that limits a lab is reduced by 25 % for
20 s, and the label is confirmed if the throughput follows.

With --now, the present load of the target is read before the search, and the answer states how much of the line it is.
DIR is the record of a search: then nothing is searched, and --now names the deployment or a recording. Reads of the
oplog, mirrored reads, heartbeats and monitoring are not counted. If the operations are not those of the workload that
was measured, the answer states how they differ, and between which ends the share is. The record keeps the present load.

Ctrl-C ends the search with the answer so far. 'plimsoll capacity resume DIR' continues it, also one whose time was not
enough.

Exit codes: 0 each line that counts was found, 1 other failure, 2 usage error, 3 target unreachable, 4 no rate holds the
objectives, or the present load is above the line of DIR, 6 the time was not enough to confirm a line, or the result is
invalid, 130 interrupted.`,
		Example: `  plimsoll capacity
  plimsoll capacity mongodb://db1/ --workload b --slo 'p99<20ms,errors<0.1%' --within 15m
  plimsoll capacity lab:three --while kill:secondary --while kill:primary
  plimsoll capacity capacity.yaml
  plimsoll capacity my-capacity --now mongodb://db1/ --growth 4%/month
  plimsoll capacity resume plimsoll-data/capacities/20260301-120000-capacity`,
		Args: func(cmd *cobra.Command, args []string) error {
			o.present.take(&args)
			return atMostOne("file, target or record")(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			o.present.take(&args)
			if err := o.present.check(); err != nil {
				return err
			}
			if len(args) == 1 && record.KindIn(args[0]) == record.KindCapacity {
				return capacityNow(cmd.Context(), env, args[0], &o.present, o.format)
			}
			return o.run(cmd, env, args)
		},
	}
	o.spec.addFileFlags(cmd, "capacity")
	var usual spec.Capacity
	usual.Defaults()
	o.spec.settings = addSettings(cmd, &usual, completed(capacitySettings, "while", faultWords(env)))
	o.present.add(cmd.Flags())
	resultFlags(cmd.Flags(), &o.format, "text", "md", "json")
	cmd.Flags().BoolVarP(&o.quiet, "quiet", "q", false, "show no progress")
	cmd.Flags().BoolVar(&o.confirm, "confirm", false,
		"confirm the limit of a lab: measure with 25 % less of the capacity that limits")
	cmd.Flags().BoolVar(&o.dry, "print-spec", false, "print the specification with all defaults as YAML and exit")
	cmd.AddCommand(newCapacityResumeCommand(env))
	briefHelp(cmd, `Find the highest load that a deployment carries with its objectives, and say how sure that is.

TARGET is lab:NAME, mongodb://…, embedded:DIR, env:NAME, @FILE or @-. Without it, Plimsoll's
embedded store on this disk is measured. SPEC is a YAML file.`, "format")
	cmd.ValidArgsFunction = targets(env)
	return cmd
}

func newCapacityResumeCommand(env *environment) *cobra.Command {
	var o capacityOptions
	cmd := &cobra.Command{
		Use:     "resume DIR",
		Short:   "Continue a search that ended early, or is not sure",
		Long:    "Finished steps are kept. Lines that are not confirmed or not sure get as much time as the search had. The stored specification has no credentials: if the target needs them, give the file again.",
		Example: "  plimsoll capacity resume plimsoll-data/capacities/20260301-120000-capacity",
		Args:    exactlyOne("directory of a capacity"),
		RunE:    func(cmd *cobra.Command, args []string) error { return o.resume(cmd, env, args[0]) },
	}
	cmd.Flags().StringVarP(&o.spec.file, "file", "f", "", "`file` of the capacity, for its credentials or a record of another user (- for standard input)")
	resultFlags(cmd.Flags(), &o.format, "text", "md", "json")
	cmd.Flags().BoolVarP(&o.quiet, "quiet", "q", false, "show no progress")
	return cmd
}

// read merges the file, the flags and the defaults.
func (o *capacityOptions) read(cmd *cobra.Command, env *environment, args []string) (asked spec.Capacity, err error) {
	file, target := o.spec.file, ""
	if len(args) == 1 && isDrillFile(args[0]) && file == "" {
		file = args[0]
	} else if len(args) == 1 {
		target = args[0]
	}
	if file != "" {
		hint := labHint("for the lab of that name, write lab:%s", file)
		if asked, err = readSpec(env, file, "capacity", hint, spec.ReadCapacity); err != nil {
			return asked, err
		}
	}
	asked.Platform = platformOf(file, asked.Platform)
	if err := o.spec.complete(cmd.Context(), env, target, &asked, &asked.Run); err != nil {
		return asked, err
	}
	o.events = asked.While != nil
	if asked.While == nil && singleMember(cmd.Context(), env, asked.Run.Target) {
		asked.While = []spec.Action{{Name: spec.NoEvents}}
	}
	return asked, withExit(exitUsage, o.spec.settings.named(asked.Complete()))
}

// singleMember reports whether a target is a lab without a secondary.
func singleMember(ctx context.Context, env *environment, target string) bool {
	name, ok := spec.LabOf(target)
	if !ok {
		return false
	}
	l, err := openLab(ctx, env, name)
	if err != nil {
		return false // the search says it
	}
	defer l.Close()
	d, err := l.Describe(ctx, false)
	if err != nil {
		return false
	}
	data := 0
	for _, m := range d.Members {
		if m.Role == "primary" || m.Role == "secondary" {
			data++
		}
	}
	return data < 2
}

func (o *capacityOptions) run(cmd *cobra.Command, env *environment, args []string) error {
	asked, err := o.read(cmd, env, args)
	if err != nil {
		return err
	}
	if o.dry {
		asked.Run.Target, asked.Run.Workload.File = store.Redact(asked.Run.Target), nil
		return printYAML(env.stdout, asked)
	}
	if err := checkLabTarget(cmd.Context(), env, asked.Run.Target); err != nil {
		return err
	}
	warnOfFaults(env, asked.Run.Target)
	if o.events {
		if err := checkEvents(cmd.Context(), env, asked); err != nil {
			return err
		}
	}
	dir := cmp.Or(asked.Out, newDir("capacities", asked.Name, env.now()))
	return o.conduct(cmd.Context(), env, dir, &asked, func(ctx context.Context,
		l loadline.Options) (*record.Capacity, error) {
		return loadline.Run(ctx, asked, l)
	})
}

func (o *capacityOptions) resume(cmd *cobra.Command, env *environment, dir string) error {
	of, err := record.OpenCapacity(dir)
	if err != nil {
		return withExit(exitUsage, err)
	}
	var given *spec.Capacity
	asked := of.Specification
	if o.spec.file != "" {
		again, err := o.read(cmd, env, nil)
		if err != nil {
			return err
		}
		given, asked = &again, &again
	}
	if asked == nil {
		return usageError("the record in %s has no specification: give the file again (--file)", dir)
	}
	return o.conduct(cmd.Context(), env, dir, asked, func(ctx context.Context, l loadline.Options) (*record.Capacity,
		error) {
		return loadline.Resume(ctx, given, l)
	})
}

func (o *capacityOptions) conduct(ctx context.Context, env *environment, dir string, asked *spec.Capacity,
	perform func(context.Context, loadline.Options) (*record.Capacity, error)) (result error) {
	ctx, abort, stop := endOrAbort(ctx, env)
	defer stop()
	home, err := homeDir(env)
	if err != nil {
		return err
	}
	l := loadline.Options{Dir: dir, Key: recordKey(home), Run: runsOf(env, abort)}
	l.Run.Lab = findLab(env)
	progress := newProgressLines(env)
	if !o.quiet {
		l.Progress, l.Run.Progress = capacityProgress{progress}, stepProgress{progress}
		ctx = progress.listening(ctx)
		defer progress.end()
	}
	l.Ask = asking(env, asked.Run)
	if o.confirm {
		if l.Change, err = changing(env, asked.Run.Target); err != nil {
			return err
		}
	}
	if len(asked.While) > 0 {
		broken, err := openEvents(ctx, env, asked)
		if err != nil {
			return err
		}
		if broken != nil {
			defer func() { result = errors.Join(result, broken.Close()) }()
		}
		l.Drill = capacityDrill(env, home, l.Run, broken)
	}
	if err := o.present.read(ctx, env, asked.Run.Target); err != nil {
		return err
	}
	c, err := perform(ctx, l)
	if c == nil {
		return withExit(exitOf[campaign.ConcludeError(err)], err)
	}
	o.present.place(ctx, env, dir, c)
	if perr := printRecord(env.stdout, dir, c, o.format); perr != nil {
		return perr
	}
	leaves(env, o.quiet, dir, &asked.Run)
	if err != nil && !errors.As(err, new(*campaign.Stop)) {
		return withExit(exitOf[campaign.ConcludeError(err)], err)
	}
	return ending(c.Conclude())
}

// checkEvents refuses events that the target does not have, before the search of the first line.
func checkEvents(ctx context.Context, env *environment, asked spec.Capacity) error {
	for _, event := range asked.While {
		d, err := loadline.DrillOf(asked, asked.Run, event)
		if err = cmp.Or(err, drill.Check(d)); err != nil {
			return withExit(exitUsage, fmt.Errorf("while %s: %w", event, err))
		}
		if err := checkDrillLab(ctx, env, d); err != nil {
			return err
		}
	}
	return nil
}

// openEvents opens what breaks the target, once for all steps, and refuses the events that it does not have; nil for a
// lab.
func openEvents(ctx context.Context, env *environment, asked *spec.Capacity) (*platform.Deployment, error) {
	all := spec.Drill{Run: asked.Run, Platform: asked.Platform}
	for _, event := range asked.While {
		d, err := loadline.DrillOf(*asked, asked.Run, event)
		if err != nil {
			return nil, withExit(exitUsage, fmt.Errorf("while %s: %w", event, err))
		}
		all.Faults = append(all.Faults, d.Faults...)
	}
	pods, err := openPods(ctx, &all)
	if err != nil {
		return nil, withExit(exitUnreachable, err)
	}
	broken, err := openPlatform(ctx, env, all, pods)
	if err != nil && pods != nil {
		err = errors.Join(err, pods.Close())
	}
	return broken, err
}

// capacityDrill performs the drills of the lines with events.
func capacityDrill(env *environment, home string, o run.Options, broken *platform.Deployment) func(context.Context,
	spec.Drill, string) (*record.Drill, error) {
	return func(ctx context.Context, asked spec.Drill, dir string) (*record.Drill, error) {
		if err := drill.Check(asked); err != nil {
			return nil, err
		}
		opts := drill.Options{Dir: dir, Run: o, Labs: &studyLabs{home: home}, Open: openDrillLab(env)}
		if broken != nil {
			opts.Platform = broken
		}
		return drill.Run(ctx, asked, opts)
	}
}

// askPatience is how long a question waits for a server, unless its address says it.
const askPatience = 5 * time.Second

// asking opens connections for questions about a deployment, nil if it is none.
func asking(env *environment, asked spec.Run) func(context.Context) (server.Commander, func(), error) {
	name, lab := spec.LabOf(asked.Target)
	if !lab && !strings.HasPrefix(asked.Target, "mongodb") {
		return nil
	}
	return func(ctx context.Context) (server.Commander, func(), error) {
		if err := permit.Check(ctx, permit.Dial, store.Redact(asked.Target)); err != nil {
			return nil, nil, err
		}
		uri := asked.Target
		if lab {
			l, err := findLab(env)(ctx, name)
			if err != nil {
				return nil, nil, err
			}
			at, err := l.Address(ctx, asked.Durability)
			if err != nil {
				return nil, nil, err
			}
			uri = at.URI
		}
		o, _, err := dial.Options(uri)
		if err != nil {
			return nil, nil, &store.AddressError{Address: store.Redact(uri), Problem: err.Error()}
		}
		if o.ServerSelectionTimeout == nil {
			o.SetServerSelectionTimeout(askPatience)
		}
		client, err := driver.Connect(o.SetAppName("plimsoll capacity"))
		if err != nil {
			return nil, nil, err
		}
		return server.Driver(client), func() { _ = client.Disconnect(context.WithoutCancel(ctx)) }, nil
	}
}

// stepProgress shows the load of a step on a terminal, and the load phase everywhere. Each step has a line of its own.
type stepProgress struct{ *progressLines }

func (p stepProgress) Step(text string) { (&trialProgress{p.progressLines}).Step(text) }

func (p stepProgress) Event(measure.Event) {}

func (p stepProgress) Interval(d measure.Dims, iv *measure.Interval) {
	if p.terminal || iv.Phase == load.PhaseLoad {
		p.progressLines.Interval(d, iv)
	}
}

// capacityProgress prints one line for each step.
type capacityProgress struct{ to *progressLines }

func (p capacityProgress) Note(text string) { p.to.Note(text) }

func (p capacityProgress) Step(_ string, s record.LineStep, left time.Duration) {
	what := fmt.Sprintf("%2d  %-8s %9s/s  ", s.Number, s.Phase, figure.Rate(cmp.Or(s.Offered, s.Achieved)))
	if s.Phase == "probe" {
		p.to.Note(what + "a closed loop, to see where to begin")
		return
	}
	p.to.endsIn(left, false)
	text := fmt.Sprintf("%s%-16s %-9s  %s left", what, report.StepValue(&s), s.Verdict, max(0, left).Round(time.Second))
	if s.Verdict != record.StepMet && s.Why != "" {
		text += "  (" + s.Why + ")"
	}
	for _, r := range s.Restless {
		text += "; not calm before: " + r
	}
	p.to.Note(text)
}
