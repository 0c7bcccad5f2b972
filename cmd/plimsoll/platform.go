package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/plimsoll-bench/plimsoll/fault"
	"github.com/plimsoll-bench/plimsoll/internal/figure"
	"github.com/plimsoll-bench/plimsoll/internal/permit"
	"github.com/plimsoll-bench/plimsoll/platform"
	"github.com/plimsoll-bench/plimsoll/platform/command"
	"github.com/plimsoll-bench/plimsoll/platform/kubernetes"
	"github.com/plimsoll-bench/plimsoll/platform/maintenance"
	"github.com/plimsoll-bench/plimsoll/platform/vsphere"
	"github.com/plimsoll-bench/plimsoll/report"
	"github.com/plimsoll-bench/plimsoll/spec"
	"github.com/plimsoll-bench/plimsoll/study/conduct"
)

func newPlatformCommand(env *environment) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "platform",
		Short: "List and revert faults that commands injected into your deployment",
		Long: `List and revert faults that commands injected into your deployment.

'plimsoll drill TARGET --platform FILE' breaks a deployment that plimsoll did not make, with your commands.
FILE names the members, and the commands that inject each fault, revert it, and see its effect; docs/platform.md
has the keys, and examples/platform has files for systemd, ipmitool, a cloud and Kubernetes.

Each fault is written to a journal before its command runs. A drill reverts its faults at the end, after
Ctrl-C and after errors. If the drill was killed, 'plimsoll platform heal' reverts what the journal has.`,
	}
	status := &cobra.Command{
		Use:   "status",
		Short: "List the faults that are in the journal",
		Long: `List the faults that are in the journal: those of running drills, those of killed drills, and those that
could not be reverted, each with the command that reverts it.`,
		Args: noArguments,
		RunE: func(*cobra.Command, []string) error { return platformStatus(env) },
	}
	heal := &cobra.Command{
		Use:   "heal",
		Short: "Revert the faults of killed drills",
		Long: `Revert the faults of killed drills: run the heal command of each fault that is in the journal, the newest
first. A command that fails is tried three times more. Then the fault stays in the journal, and the exit
code is 1. Faults of running drills are left to them.`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return platformHeal(cmd.Context(), env) },
	}
	watch := &cobra.Command{
		Use:    "watch JOURNAL",
		Hidden: true,
		Short:  "Revert the faults of a journal when its drill is killed",
		Args:   exactlyOne("journal"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return platform.Watch(cmd.Context(), args[0], healers(env), func(text string) { fmt.Fprintln(env.stdout, text) })
		},
	}
	return group(cmd, status, heal, watch)
}

// healers heal the faults of each kind of platform.
func healers(env *environment) platform.Healers {
	return platform.Healers{command.Kind: command.Healer{}, kubernetes.Kind: kubernetes.Healer{},
		vsphere.Kind: vsphere.Healer{Getenv: env.getenv}, parameterKind: parameterHealer{env}}
}

// openPods opens the platform of a drill in Kubernetes, and replaces a target there by the address of its members; nil
// if the platform is another one.
func openPods(ctx context.Context, asked *spec.Drill) (*kubernetes.Set, error) {
	named := spec.InKubernetes(asked.Run.Target)
	if named && asked.Platform == "" {
		asked.Platform = asked.Run.Target
	}
	if !spec.InKubernetes(asked.Platform) || !permit.Has(ctx, permit.Dial) { // its specification is only shown
		return nil, nil
	}
	s, err := kubernetes.Open(ctx, kubernetes.Options{Target: asked.Platform})
	if err == nil && named {
		asked.Run.Target, err = s.URI(ctx)
	}
	return s, err
}

// journals is the directory of the journals of platforms.
func journals(env *environment) (string, error) {
	home, err := homeDir(env)
	return filepath.Join(home, "platform"), err
}

func platformStatus(env *environment) error {
	dir, err := journals(env)
	if err != nil {
		return err
	}
	left, err := platform.Left(dir)
	if len(left) == 0 && err == nil {
		fmt.Fprintln(env.stdout, "no fault is in the journal")
	}
	for _, e := range left {
		fmt.Fprintln(env.stdout, stillInjected(env, e))
		switch step, stepErr := healers(env).Step(e); {
		case stepErr != nil:
			err = errors.Join(err, fmt.Errorf("%s on %s: %w", e.Fault, e.Member, stepErr))
		case step.Run != nil:
			fmt.Fprintln(env.stdout, "  heal:", step.Text)
		}
	}
	return err
}

func platformHeal(ctx context.Context, env *environment) error {
	dir, err := journals(env)
	if err != nil {
		return err
	}
	left, err := platform.Left(dir)
	if len(left) == 0 && err == nil {
		fmt.Fprintln(env.stdout, "no fault is in the journal, so nothing was done")
		return nil
	}
	return platform.HealAll(ctx, dir, healers(env), func(text string) { fmt.Fprintln(env.stdout, text) })
}

// openPlatform makes the platform of a drill whose target is not a lab; nil if nothing breaks it.
func openPlatform(ctx context.Context, env *environment, asked spec.Drill, pods *kubernetes.Set) (
	*platform.Deployment, error,
) {
	if _, lab := spec.LabOf(asked.Run.Target); lab || len(asked.Faults) == 0 {
		return nil, nil
	}
	dir, err := journals(env)
	if err != nil {
		return nil, err
	}
	o := command.Options{URI: asked.Run.Target, Journals: dir,
		Watch: func(journal string) error { return startWatchdog(ctx, journal) }}
	if pods != nil {
		o.File.Members, o.API = pods.Members(), pods
	} else if asked.Platform != "" {
		if o.File, err = readPlatform(env, asked.Platform); err != nil {
			return nil, err
		}
	}
	if o.File.VSphere != nil {
		if o.API, err = vsphere.Open(ctx, o.File, env.getenv); err != nil {
			return nil, withExit(exitUnreachable, err)
		}
	}
	p, err := command.New(o)
	if err != nil {
		return nil, withExit(exitUsage, err)
	}
	for _, f := range asked.Faults {
		if byMongoDB(p, f) {
			continue
		}
		if f.Exec == nil && f.Action.Name == fault.RollingRestart && len(o.File.Members) > 0 {
			f.Action.Name, f.Action.Target = restartOf(p), o.File.Members[0].Name // what it is made of
		}
		if _, err := p.Fault(f, 0); err != nil {
			return nil, withExit(exitUsage, errors.Join(err, p.Close()))
		}
	}
	return p, nil
}

// readPlatform reads a platform file. Names of files in it are relative to it.
func readPlatform(env *environment, name string) (spec.Platform, error) {
	file, err := readSpec(env, name, "platform file", "", spec.ReadPlatform)
	if err != nil || file.VSphere == nil || name == "-" {
		return file, err
	}
	for _, f := range []*string{&file.VSphere.CA, &file.VSphere.Credentials} {
		if *f != "" && !filepath.IsAbs(*f) {
			*f = filepath.Join(filepath.Dir(name), *f)
		}
	}
	return file, nil
}

// restartOf is the action that restarts members in a rolling restart.
func restartOf(p *platform.Deployment) string {
	if a := maintenance.Restart(p.Actions()); a != nil {
		return a.Name
	}
	return fault.Stop
}

// needsYes refuses a study that changes a deployment which is not a lab.
const needsYes = "nothing was done: this study changes the storage policies of the members' disks, which rebuilds them. See the changes with " +
	"plimsoll study plan. To do it, add --yes-break-it"

// storage opens the vCenter that applies the storage policies of a study.
func (f *conductFlags) storage(env *environment) func(context.Context, spec.Study) (conduct.Storage, error) {
	return func(ctx context.Context, asked spec.Study) (conduct.Storage, error) {
		if !f.yes {
			return nil, usageError(needsYes)
		}
		file, err := readPlatform(env, asked.Platform)
		if err != nil {
			return nil, err
		}
		dir, err := journals(env)
		if err != nil {
			return nil, err
		}
		s, err := vsphere.OpenStorage(ctx, asked.Run.Target, dir, file, env.getenv)
		if err != nil {
			return nil, withExit(exitUnreachable, err)
		}
		return s, nil
	}
}

// byMongoDB says whether commands of MongoDB do a planned event, because the platform has no commands for it.
func byMongoDB(p *platform.Deployment, f spec.Fault) bool {
	a := fault.Find(f.Action.Name)
	return f.Exec == nil && a != nil && a.Plain && !slices.Contains(p.Actions(), a)
}

// planDrill describes what the faults of a drill would do. It does nothing but query the roles of the members.
func planDrill(ctx context.Context, p *platform.Deployment, asked spec.Drill) (*report.Document, error) {
	d := &report.Document{Title: "plan of " + figure.Plural(len(asked.Faults), "fault") + "; nothing was done"}
	if text := report.Delays(asked); text != "" {
		d.Sections = append(d.Sections, report.Section{Lines: []string{text}})
	}
	for _, f := range asked.Faults {
		at, _ := asked.Moment(f)
		end := "until the end of the load"
		a := fault.Find(f.Action.Name)
		switch {
		case a != nil && f.Exec == nil && a.Event:
			end = "until the event is over"
		case f.For > 0:
			end = "for " + f.For.String()
		case f.Stay:
			end = "until the audit is over"
		}
		s := report.Section{Title: f.Action.String(),
			Lines: []string{figure.Duration(at) + " after the start of the measured time, " + end}}
		var plans []platform.Plan
		var err error
		switch {
		case p == nil:
			s.Lines = append(s.Lines, "the lab injects and reverts the fault")
		case byMongoDB(p, f):
			s.Lines = append(s.Lines, "commands of MongoDB: "+a.Help)
		case f.Exec == nil && f.Action.Name == fault.RollingRestart:
			s.Lines = append(s.Lines, "each member, by the action "+restartOf(p)+": "+a.Help)
		default:
			if plans, err = p.Plan(ctx, f); err != nil {
				return nil, err
			}
		}
		if len(plans) > 1 {
			s.Lines = append(s.Lines, fmt.Sprintf("one of these %d members, chosen at random", len(plans)))
		}
		d.Sections = append(d.Sections, s)
		for _, plan := range plans {
			d.Sections = append(d.Sections, memberSection(plan))
		}
	}
	return d, nil
}

// memberSection has the steps of a fault on a member, one a row: commands are copied, so they stay whole.
func memberSection(p platform.Plan) report.Section {
	member := "none is named: the commands decide"
	if p.Member != "" {
		member = p.Member + ", role " + p.Role
	}
	t := &report.Table{Header: []string{"step", "what"}, Left: 2}
	for _, f := range report.Facts("member", member, "strikes", p.Target, "inject", p.Inject,
		"heal", cmp.Or(p.Heal, "no command: the fault must end without one"),
		"witness", cmp.Or(p.Witness, "no command: only the connection of plimsoll to the member"),
		"mode", cmp.Or(p.Mode, "unknown"), "timeout", spec.Duration(p.Timeout).String()+" for each step") {
		t.Rows = append(t.Rows, []string{f.Name, f.Value})
	}
	return report.Section{Table: t}
}

// confirm refuses a drill that breaks a deployment that is not a lab, unless the user said yes.
func (o *drillOptions) confirm(ctx context.Context, env *environment, p *platform.Deployment, asked spec.Drill) error {
	if p == nil || o.yes {
		return nil
	}
	plan, err := planDrill(ctx, p, asked)
	if err == nil {
		err = printResult(env.stderr, plan, "text")
	}
	if err != nil {
		return withExit(exitUnreachable, err)
	}
	return usageError("nothing was done: this drill breaks a deployment that is not a lab, as above. To do it, add --yes-break-it")
}
