package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/plimsoll-bench/plimsoll/drill"
	"github.com/plimsoll-bench/plimsoll/lab"
	"github.com/plimsoll-bench/plimsoll/lab/action"
	"github.com/plimsoll-bench/plimsoll/platform"
	"github.com/plimsoll-bench/plimsoll/platform/kubernetes"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/run"
	"github.com/plimsoll-bench/plimsoll/spec"
	"github.com/plimsoll-bench/plimsoll/store"
)

type drillOptions struct {
	spec     *specFlags
	faults   []string
	at, last string
	repeat   int
	jitter   string
	recovery string
	external bool
	fresh    bool
	noErrors bool
	loss     string
	outage   string
	format   string
	quiet    bool
	dry      bool
	web      string
	engine   engineFlags
	agents   agentFlags
	platform string
	anyway   bool
	plan     bool
	yes      bool
	pods     *kubernetes.Set // nil if the platform is not Kubernetes
}

// drillHelp is the help of drills, with places for the tables of actions.
const drillHelp = `Inject faults under load; measure outage and data loss.

TARGET is one of:

  lab:NAME              a running lab (see 'plimsoll lab up')
  k8s:NAMESPACE/NAME    a StatefulSet, or what an operator or a chart made, in the Kubernetes of kubectl
  the address of another deployment, mongodb://… or one of the forms that hide it (see below)

--platform names what breaks the members of an address: a FILE with commands or a vCenter
('plimsoll platform --help'), or k8s:NAMESPACE/NAME. Only a lab is broken without --yes-break-it. With
--external, you cause the fault yourself: press Enter (or send SIGUSR1) when it starts and again when it
ends. SPEC is a YAML file with a run, faults and, if the drill starts one, a lab.

A fault is ACTION:PLACE. PLACE is a host, a member, a role such as primary or secondary, MEMBER/DISK such
as primary/d1, or random; 'plimsoll lab fail --help' explains them. A lab has these actions, and a platform
file can have commands for them:

ACTIONS

Kubernetes has these:

KUBERNETES

vSphere has these:

VSPHERE

Planned events are written like faults, and end automatically. SET is a replica set or shard, or all (the
default). COLLECTION is of the database of the load, by default that of the workload. MongoDB's own
commands do step-down, index-build, chunk-migration and compaction on any deployment. The others need a
lab, or commands in the platform file:

EVENTS

The drill logs every write and its answer. When the faults have ended and all members are in sync, it
reads all documents and states the result of each write, for example ok, lost (acknowledged, and absent at
the end), phantom (reported as not applied, and present), duplicated or corrupt. This is the audit. Ctrl-C
reverts the faults, then audits the writes up to that time. After the load, it ends what the drill waits
for. If the drill is killed, the lab reverts the faults. Elsewhere a watchdog does, a separate process:
'plimsoll platform status' lists what is still injected, and 'plimsoll platform heal' reverts it.

Exit codes: 0 expectations met, 1 other failure, 2 usage error, 3 target unreachable, 4 a limit was
exceeded (outage, errors, --slo), a write is corrupt, duplicated or phantom, or a read broke a guarantee
that MongoDB promises for these concerns, 5 a write was lost that had to survive, 6 drill invalid (for
example, the fault had no effect or the audit failed), 130 interrupted.`

func newDrillCommand(env *environment) *cobra.Command {
	var o drillOptions
	cmd := &cobra.Command{
		Use:   "drill [SPEC|TARGET]",
		Short: "Inject faults under load; measure outage and data loss",
		Long:  drillHelp + addressHelp,
		Example: `  plimsoll drill lab:three --fault kill:primary
  plimsoll drill lab:three --fault rolling-restart --duration 3m
  plimsoll drill lab:three --fault kill:primary --at 20s --for 30s --duration 90s --rate 2000
  plimsoll drill drill.yaml --repeat 10
  plimsoll drill env:MONGODB_URI --platform db.yaml --fault kill:primary --dry-run
  plimsoll drill env:MONGODB_URI --fault index-build:orders --yes-break-it
  plimsoll drill k8s:db/mongo --fault pod-kill:primary --duration 2m --yes-break-it
  plimsoll drill env:MONGODB_URI --external --duration 5m --w majority`,
		Args: atMostOne("file or target"),
		RunE: func(cmd *cobra.Command, args []string) error { return o.run(cmd, env, args) },
	}
	cmd.Long = strings.NewReplacer("ACTIONS\n", actionLines("", false), "KUBERNETES\n", actionLines(action.Kubernetes, false),
		"VSPHERE\n", actionLines(action.VSphere, false), "EVENTS\n", actionLines("", true)).Replace(cmd.Long)
	fs := cmd.Flags()
	fs.StringArrayVar(&o.faults, "fault", nil, "`fault` or planned event, ACTION:PLACE, for example kill:primary or rolling-restart (repeatable)")
	fs.StringVar(&o.at, "at", "", "`time` of the faults, after the start of the measured time, or workers=N (default: a quarter of --duration, at most 20s)")
	fs.StringVar(&o.last, "for", "", "`time` until the faults are reverted (default: until the end of the measured time)")
	fs.IntVar(&o.repeat, "repeat", 0, "number of rounds (default 1)")
	fs.StringVar(&o.jitter, "jitter", "", "longest random `time` by which the faults of a round are later (default 10s with --repeat; 0s for none)")
	fs.StringVar(&o.recovery, "recovery", "", "longest `time` until all members are in sync after the faults (default 2m)")
	fs.StringVar(&o.platform, "platform", "", "`file` that names the members of TARGET, and the commands that break them; or k8s:NAMESPACE/NAME")
	fs.BoolVar(&o.plan, "dry-run", false, "print what the faults would do, to which member, with all commands, and exit")
	fs.BoolVar(&o.yes, "yes-break-it", false, "run the commands that break a deployment that is not a lab")
	fs.BoolVar(&o.external, "external", false, "you cause the fault yourself; press Enter or send SIGUSR1 when it starts and when it ends")
	fs.BoolVar(&o.fresh, "fresh", false, "create a new lab for each round (needs a lab in SPEC)")
	fs.StringVar(&o.loss, "expect-loss", "", "allowed `loss` of acknowledged writes: none, any, or window:TIME (default: what the write concern allows)")
	fs.StringVar(&o.outage, "expect-outage", "", "longest allowed outage of reads and of writes, a `time` such as 15s (default: any)")
	fs.BoolVar(&o.noErrors, "expect-no-errors", false, "allow no failed operations: the fault must not be visible to clients")
	o.spec = addSpecFlags(fs)
	for name, usage := range drillUsage {
		fs.Lookup(name).Usage = usage
	}
	formatFlag(fs, &o.format, "result", "text", "md", "json", "csv")
	fs.BoolVarP(&o.quiet, "quiet", "q", false, "show no progress")
	fs.BoolVar(&o.dry, "print-spec", false, "print the specification with all defaults as YAML and exit")
	fs.BoolVar(&o.anyway, "anyway", false, "begin although members are down or late, or a fault of another drill is in effect")
	webFlag(cmd, &o.web)
	addAgentFlags(fs, &o.agents)
	o.engine.add(fs)
	return cmd
}

// actionLines has a line for each action of a platform, "" for those of labs: those of planned maintenance or the
// others.
func actionLines(platform string, planned bool) string {
	const width = 23
	var b strings.Builder
	for _, a := range action.Everywhere() {
		name := a.Name
		if planned && a.Implied == "" {
			name += ":" + a.On.String()
		}
		if a.Platform == platform && a.Planned() == planned {
			fmt.Fprintf(&b, "  %-*s%s\n", width, name, wrap(a.Help, 99-width, strings.Repeat(" ", width+2)))
		}
	}
	return b.String()
}

// drillUsage replaces the usage of flags that a drill shares with a run.
var drillUsage = map[string]string{
	"file":     "YAML `file` with the specification of the drill; flags override it",
	"out":      "directory of the record (default plimsoll-data/drills/TIME-NAME)",
	"rate":     "planned operations per second, as in an open loop of 'plimsoll run' (default 500; none with --pace or --stage)",
	"threads":  "number of workers: the most operations in progress at once. Each is one writer of the ledger and one session (default 64)",
	"timeout":  "deadline of each operation (default 2s)",
	"workload": "workload: ledger, where each write is identifiable, or one of 'plimsoll workloads' (default ledger)",
	"records":  "number of documents, for workloads other than ledger (default 10k)",
}

func (o *drillOptions) run(cmd *cobra.Command, env *environment, args []string) (result error) {
	spec, err := o.read(cmd, env, args)
	if o.pods != nil {
		defer func() { result = errors.Join(result, o.pods.Close()) }()
	}
	if err != nil {
		return err
	}
	if err := drill.Check(spec); err != nil {
		return withExit(exitUsage, err)
	}
	if o.dry {
		spec.Run.Target = store.Redact(spec.Run.Target)
		return printYAML(env.stdout, spec)
	}
	if err := checkDrillLab(cmd.Context(), env, spec); err != nil {
		return err
	}
	if !o.plan && !o.anyway {
		if err := refuseFaults(env, spec.Run.Target); err != nil {
			return err
		}
	}
	broken, err := openPlatform(cmd.Context(), env, spec, o.pods)
	if err != nil {
		return err
	}
	if broken != nil {
		defer func() { result = errors.Join(result, broken.Close()) }()
	}
	if o.plan {
		return withExit(exitUnreachable, printPlan(cmd.Context(), env.stdout, broken, spec))
	}
	if err := o.confirm(cmd.Context(), env, broken, spec); err != nil {
		return err
	}
	dir := cmp.Or(spec.Out, newDir("drills", spec.Name, env.now()))
	end, err := startWeb(env, o.web, dir)
	if err != nil {
		return err
	}
	defer end()
	d, err := o.conduct(cmd.Context(), env, spec, broken, drill.Options{Dir: dir, Anyway: o.anyway})
	if d == nil {
		return runError(err)
	}
	if perr := printResult(env.stdout, d, o.format); perr != nil {
		return perr
	}
	fmt.Fprintf(env.stderr, "record: %s\n", dir)
	if err != nil {
		return runError(err)
	}
	return ending(d.Conclude())
}

// checkDrillLab checks the lab of a drill, new or running, before a record is created.
func checkDrillLab(ctx context.Context, env *environment, asked spec.Drill) error {
	if asked.Lab != nil {
		if err := checkStudyLab(ctx, env)(*asked.Lab, asked.Run); err != nil {
			return withExit(exitUsage, fmt.Errorf("cannot create the lab of this drill: %w", err))
		}
		planned := record.Lab{Engine: asked.Lab.Engine.Name, Specification: *asked.Lab}
		for _, f := range asked.Faults {
			if err := lab.CheckNeeds(planned, action.Find(f.Strike.Action)); err != nil {
				return withExit(exitUsage, fmt.Errorf("%s: %w", f.Strike, err))
			}
		}
		return nil
	}
	name, ok := spec.LabOf(asked.Run.Target)
	if !ok {
		return nil
	}
	return withLab(ctx, env, name, func(h *lab.Handle) error {
		l, err := h.Describe(ctx, false)
		if err != nil {
			return err
		}
		for _, f := range asked.Faults {
			if err := lab.CheckTarget(l, f); err != nil {
				return withExit(exitUsage, fmt.Errorf("%s: %w", f.Strike, err))
			}
		}
		return nil
	})
}

func (o *drillOptions) conduct(ctx context.Context, env *environment, asked spec.Drill, broken *platform.Deployment,
	opts drill.Options) (*record.Drill, error) {
	ctx, abort, stop := endOrAbort(ctx, env)
	defer stop()
	home, err := homeDir(env)
	if err != nil {
		return nil, err
	}
	places := o.agents.places(env, "")
	defer places.close()
	opts.Labs, opts.Open, opts.Places = &studyLabs{home: home}, openDrillLab(env), places.find
	opts.Run = run.Options{Tool: tool(), Abort: abort, Now: env.now, Getenv: env.getenv, Ceiling: ceiling(env),
		Command: redactAll(append([]string{"plimsoll"}, env.args...)), Service: startService}
	if broken != nil {
		opts.Platform = broken
	}
	if asked.External {
		mark, done := drillMarks(env)
		defer done()
		opts.Mark = mark
		fmt.Fprintln(env.stderr, "plimsoll: press Enter, or send SIGUSR1 to process", os.Getpid(), "when the fault starts, and again when it ends")
	}
	if !o.quiet {
		progress := newSharedProgress(env)
		opts.Progress = progress
		defer progress.end()
	}
	return drill.Run(ctx, asked, opts)
}

func openDrillLab(env *environment) func(context.Context, string) (drill.Lab, error) {
	return func(ctx context.Context, name string) (drill.Lab, error) {
		h, err := openLab(ctx, env, name)
		if err != nil {
			return nil, err
		}
		return labTarget{h}, nil
	}
}

// read merges the file, the flags and the defaults.
func (o *drillOptions) read(cmd *cobra.Command, env *environment, args []string) (asked spec.Drill, err error) {
	file, target := o.spec.file, ""
	if len(args) == 0 && file == "" && len(o.spec.properties) == 0 && len(o.faults) == 0 && !o.external {
		return asked, usageError("no target and no fault: give a file with a drill, or a lab and a fault: plimsoll drill lab:NAME --fault kill:primary ('plimsoll lab up' starts a lab)")
	}
	if len(args) == 1 {
		if isDrillFile(args[0]) {
			if file != "" {
				return asked, usageError("the specification is given twice, as %s and as --file %s: remove one of them", args[0], file)
			}
			file = args[0]
		} else {
			target = args[0]
		}
	}
	if file != "" {
		if asked, err = readSpec(env, file, "drill", labHint("for the lab of that name, write lab:%s", file), spec.ReadDrill); err != nil {
			return asked, err
		}
	}
	if asked.Platform != "" && file != "-" && !filepath.IsAbs(asked.Platform) && !spec.InKubernetes(asked.Platform) {
		asked.Platform = filepath.Join(filepath.Dir(file), asked.Platform)
	}
	asked.Platform = cmp.Or(o.platform, asked.Platform)
	if err := readTarget(cmd.Context(), env, &asked.Run.Target, target); err != nil {
		return asked, err
	}
	if err := o.applyRun(cmd, env, &asked.Run); err != nil {
		return asked, err
	}
	if asked.Run.Out != "" {
		asked.Out, asked.Run.Out = asked.Run.Out, ""
	}
	if err := o.applyDrill(cmd, &asked); err != nil {
		return asked, withExit(exitUsage, err)
	}
	if err := o.engine.check(); err != nil {
		return asked, err
	}
	if asked.Lab == nil && o.engine != (engineFlags{}) {
		return asked, usageError("--engine and --binary are for the lab of a drill, and this specification has no lab: remove these flags")
	}
	o.engine.choose(cmd.Context(), env, asked.Lab)
	if o.pods, err = openPods(cmd.Context(), &asked); err != nil {
		return asked, withExit(exitUnreachable, err)
	}
	err = asked.Complete()
	asked.Faults = action.Complete(asked.Faults)
	return asked, withExit(exitUsage, err)
}

// isDrillFile separates files from targets, which have a scheme.
func isDrillFile(word string) bool {
	if strings.HasPrefix(word, fromFile) {
		return false // @FILE is an address
	}
	return word == "-" || strings.HasSuffix(word, ".yaml") || strings.HasSuffix(word, ".yml") ||
		strings.HasSuffix(word, ".json") || !strings.Contains(word, ":")
}

func (o *drillOptions) applyRun(cmd *cobra.Command, env *environment, asked *spec.Run) error {
	if err := readProperties(env, o.spec.properties, asked); err != nil {
		return err
	}
	clearReplaced(asked, cmd.Flags().Changed)
	for _, apply := range o.spec.apply {
		if err := apply(asked); err != nil {
			return withExit(exitUsage, err)
		}
	}
	if cmd.Flags().Changed("load") {
		return setLoadPhase(&asked.LoadPhase, o.spec.load)
	}
	return nil
}

func (o *drillOptions) applyDrill(cmd *cobra.Command, asked *spec.Drill) error {
	var times spec.Fault
	var err error
	if n, ok := strings.CutPrefix(o.at, "workers="); ok {
		times.AtWorkers, err = spec.ParseCount(n)
	} else {
		err = parseFlag(&times.At, "at", o.at, spec.ParseDuration)
	}
	if err := cmp.Or(err,
		parseFlag(&times.For, "for", o.last, spec.ParseDuration),
		parseFlag(&asked.Recovery, "recovery", o.recovery, spec.ParseDuration),
		o.applyJitter(asked),
	); err != nil {
		return err
	}
	if len(o.faults) > 0 {
		asked.Faults = nil
		for _, f := range o.faults {
			times.Strike = spec.ParseStrike(f)
			asked.Faults = append(asked.Faults, times)
		}
	} else {
		for i := range asked.Faults {
			f := &asked.Faults[i]
			if times.At > 0 || times.AtWorkers > 0 {
				f.At, f.AtWorkers = times.At, times.AtWorkers
			}
			if times.For > 0 {
				f.For = times.For
			}
		}
	}
	if o.repeat < 0 {
		return usageError("--repeat: %d is less than 1; give 1 or more", o.repeat)
	}
	if o.repeat > 0 {
		asked.Repeat = spec.Count(o.repeat)
	}
	asked.External = asked.External || o.external
	asked.Fresh = asked.Fresh || o.fresh
	return o.applyExpect(cmd, asked)
}

func (o *drillOptions) applyJitter(asked *spec.Drill) error {
	var jitter spec.Duration
	err := parseFlag(&jitter, "jitter", o.jitter, spec.ParseDuration)
	if err == nil && o.jitter != "" {
		asked.Jitter = &jitter
	}
	return err
}

func (o *drillOptions) applyExpect(cmd *cobra.Command, asked *spec.Drill) (err error) {
	if o.loss == "" && o.outage == "" && !o.noErrors {
		return nil
	}
	e := spec.Expect{}
	if asked.Expect != nil {
		e = *asked.Expect
	}
	if o.loss != "" {
		kind, window, ok := strings.Cut(o.loss, ":")
		e.Loss, e.LossWindow = kind, 0
		if ok {
			e.LossWindow, err = spec.ParseDuration(window)
		}
	}
	err = cmp.Or(err, parseFlag(&e.Outage, "expect-outage", o.outage, spec.ParseDuration))
	e.NoErrors = e.NoErrors || o.noErrors
	asked.Expect = &e
	return err
}
