package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/plimsoll-bench/plimsoll/drill"
	"github.com/plimsoll-bench/plimsoll/fault"
	"github.com/plimsoll-bench/plimsoll/lab"
	"github.com/plimsoll-bench/plimsoll/platform"
	"github.com/plimsoll-bench/plimsoll/platform/kubernetes"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/spec"
	"github.com/plimsoll-bench/plimsoll/store"
)

type drillOptions struct {
	spec   specFlags
	format string
	quiet  bool
	dry    bool
	web    string
	engine engineFlags
	agents agentFlags
	anyway bool
	plan   bool
	yes    bool
	pods   *kubernetes.Set // nil if the platform is not Kubernetes
}

// drillBrief is the beginning of the help.
const drillBrief = `Inject faults under load; measure outage and data loss.

TARGET is one of:

  lab:NAME              a running lab (see 'plimsoll lab up')
  k8s:NAMESPACE/NAME    a StatefulSet, or what an operator or a chart made, in the Kubernetes of kubectl
  mongodb://…           another deployment; --platform names what breaks its members
  env:NAME, @FILE, @-   an address that other users of this machine do not see

SPEC is a YAML file with a run, faults and, if the drill starts one, a lab. Only a lab is broken without
--yes-break-it.`

// drillHelp is the further help of drills, with places for the tables of actions.
const drillHelp = `With --external, press Enter (or send SIGUSR1) when the fault starts and again when it ends. A platform is
described by 'plimsoll platform --help'.

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
	cmd.Long = strings.NewReplacer("ACTIONS\n", actionLines("", false), "KUBERNETES\n", actionLines(fault.Kubernetes, false),
		"VSPHERE\n", actionLines(fault.VSphere, false), "EVENTS\n", actionLines("", true)).Replace(cmd.Long)
	o.spec.addFileFlags(cmd, "drill")
	var usual spec.Drill
	usual.Defaults()
	o.spec.settings = addSettings(cmd, &usual, completed(drillSettings, "fault", faultWords(env)))
	fs := cmd.Flags()
	grouped(cmd, faultsGroup, func() {
		fs.BoolVar(&o.plan, "dry-run", false, "print what the faults would do, to which member, with all commands, and exit")
		fs.BoolVar(&o.yes, "yes-break-it", false, "run the commands that break a deployment that is not a lab")
		fs.BoolVar(&o.anyway, "anyway", false, "begin although members are down or late, or a fault of another drill is in effect")
		o.engine.add(cmd)
	}, "dry-run", "yes-break-it")
	resultFlags(fs, &o.format, "text", "md", "json", "csv")
	fs.BoolVarP(&o.quiet, "quiet", "q", false, "show no progress")
	fs.BoolVar(&o.dry, "print-spec", false, "print the specification with all defaults as YAML and exit")
	webFlag(cmd, &o.web)
	grouped(cmd, agentsGroup, func() { addAgentFlags(fs, &o.agents) })
	cmd.AddCommand(newDrillCleanCommand(env))
	briefHelp(cmd, drillBrief, "format")
	cmd.ValidArgsFunction = targets(env)
	return cmd
}

// actionLines has a line for each action of a platform, "" for those of labs: those of planned maintenance or the
// others.
func actionLines(platform string, planned bool) string {
	const width = 23
	var b strings.Builder
	for _, a := range fault.Everywhere() {
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
		spec.Run.Target, spec.Run.Workload.File = store.Redact(spec.Run.Target), nil
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
		plan, err := planDrill(cmd.Context(), broken, spec)
		if err != nil {
			return withExit(exitUnreachable, err)
		}
		return printResult(env.stdout, plan, o.format)
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
	if perr := printRecord(env.stdout, dir, d, o.format); perr != nil {
		return perr
	}
	leaves(env, o.quiet, dir, remaining(d.Specification.Lab, &d.Specification.Run))
	if err != nil {
		return nameRemains(runError(err), d)
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
			if err := lab.CheckNeeds(planned, fault.Find(f.Action.Name)); err != nil {
				return withExit(exitUsage, fmt.Errorf("%s: %w", f.Action, err))
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
				return withExit(exitUsage, fmt.Errorf("%s: %w", f.Action, err))
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
	opts.Run = runsOf(env, abort)
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
		progress := newProgressLines(env)
		opts.Progress, ctx = progress, progress.listening(ctx)
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
	given := o.spec.settings.given()
	broken := slices.Contains(given, "fault") || slices.Contains(given, "external")
	if len(args) == 0 && file == "" && len(o.spec.properties) == 0 && !broken {
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
	asked.Platform = platformOf(file, asked.Platform)
	if err := o.spec.complete(cmd.Context(), env, target, &asked, &asked.Run); err != nil {
		return asked, err
	}
	if asked.Run.Out != "" {
		asked.Out, asked.Run.Out = cmp.Or(asked.Out, asked.Run.Out), ""
	}
	if err := o.engine.check(); err != nil {
		return asked, err
	}
	if asked.Lab == nil && len(o.engine.given()) > 0 {
		return asked, usageError("--engine and --binary are for the lab of a drill, and this specification has no lab: remove these flags")
	}
	o.engine.choose(cmd.Context(), env, asked.Lab)
	if o.pods, err = openPods(cmd.Context(), &asked); err != nil {
		return asked, withExit(exitUnreachable, err)
	}
	err = asked.Complete()
	asked.Faults = fault.Complete(asked.Faults)
	return asked, withExit(exitUsage, o.spec.settings.named(err))
}

// isDrillFile separates files from targets, which have a scheme.
func isDrillFile(word string) bool {
	if strings.HasPrefix(word, fromFile) {
		return false // @FILE is an address
	}
	return word == "-" || strings.HasSuffix(word, ".yaml") || strings.HasSuffix(word, ".yml") ||
		strings.HasSuffix(word, ".json") || !strings.Contains(word, ":")
}
