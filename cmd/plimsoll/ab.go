package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"go.yaml.in/yaml/v4"

	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/spec"
	"github.com/plimsoll-bench/plimsoll/study"
	"github.com/plimsoll-bench/plimsoll/study/conduct"
	"github.com/plimsoll-bench/plimsoll/study/judge"
)

// abOptions are the flags of `plimsoll ab` that are not in the specification of its runs.
type abOptions struct {
	conductFlags
	run           specFlags
	engine        engineFlags
	a, b          []string
	limit, margin string
	metrics       []string
	failIf        []string
	most          int
}

// abHelp is the beginning of the help.
const abHelp = `Run A and B in turn until it is known which one is faster. The first line is the answer.

A and B are each a target (see 'plimsoll run --help'), a YAML file of a run or of a lab, or the record of
a run, whose settings are used again. With --a and --b, both are the same run with other settings.`

func newABCommand(env *environment) *cobra.Command {
	var o abOptions
	cmd := &cobra.Command{
		Use:   "ab A B | ab [TARGET] --a KEY=VALUE --b KEY=VALUE",
		Short: "Run two settings or deployments in turn until it is known which is faster",
		Long: `The result is a study with two configurations in random blocks. It is judged after 4, 8, 16 and 32 blocks and
at the end of --for. All judgements together have at most 5 % false answers. 'plimsoll study resume DIR'
continues it after Ctrl-C, a crash, or the end of --for.

KEY is a flag of 'plimsoll run' without its hyphens, or a key of a run file (load.workers) or of the lab
(lab.hosts.cores). Workload and data must be equal. The labs of two files are started in turn, for each run.

` + studyExits,
		Example: `  plimsoll ab mongodb://old/ mongodb://new/ --workload b --threads 32
  plimsoll ab --a durability=durable --b durability=balanced
  plimsoll ab lab:three --a threads=16 --b threads=64 --for 30m
  plimsoll ab before after
  plimsoll ab lab-4-cores.yaml lab-8-cores.yaml --duration 30s --fail-if worse`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 2 {
				return usageError("%s takes A and B, but got %d arguments: %s", cmd.CommandPath(), len(args), strings.Join(args, " "))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error { return o.do(cmd, env, args) },
	}
	var usual spec.Run
	usual.Defaults()
	usual.Load.Duration = abDuration
	o.run.settings = addSettings(cmd, &usual, runSettings)
	grouped(cmd, studyGroup, func() {
		f := cmd.Flags()
		f.StringArrayVar(&o.a, "a", nil, "setting `KEY=VALUE` of A (repeatable)")
		f.StringArrayVar(&o.b, "b", nil, "setting `KEY=VALUE` of B (repeatable)")
		f.StringVar(&o.limit, "for", "15m", "longest `time`; without an answer until then, it is unknown")
		f.IntVar(&o.most, "trials", 32, "largest `number` of runs of each side")
		f.StringVar(&o.margin, "margin", "3%", "smallest `change` that matters")
		f.StringSliceVar(&o.metrics, "metric", nil, "`metrics` that decide (default throughput and p99; mean and p99 with --rate)")
		f.StringSliceVar(&o.failIf, "fail-if", nil, "exit with code 4 if B is one of these `verdicts`: "+strings.Join(compareVerdicts(), ", "))
	}, "a", "b", "for")
	o.engine.add(cmd)
	o.conductFlags.add(cmd)
	briefHelp(cmd, abHelp, "format", "web")
	cmd.ValidArgsFunction = targets(env)
	return cmd
}

// abDuration is the measured time of a run if nothing else is specified: many short runs tell more than few long ones.
const abDuration = spec.Duration(10 * time.Second)

func (o *abOptions) do(cmd *cobra.Command, env *environment, args []string) error {
	flags := judgeFlags{margin: o.margin, metrics: o.metrics, failIf: o.failIf}
	margin, err := flags.check(compareVerdicts())
	if err != nil {
		return err
	}
	asked, err := o.study(cmd, env, args)
	if err != nil {
		return err
	}
	asked.Margin = spec.Share(margin)
	dir := cmp.Or(asked.Out, newDir("studies", asked.Name, env.now()))
	asked.Out = ""
	return runStudy(cmd.Context(), env, asked, dir, o.conductFlags, o.failIf)
}

// runStudy performs a study that a command makes of its arguments. unwanted are verdicts that end it with exit code 4.
func runStudy(ctx context.Context, env *environment, asked spec.Study, dir string, flags conductFlags,
	unwanted []string) error {
	asked, err := study.Complete(asked)
	if err != nil {
		return withExit(exitUsage, err)
	}
	if err := checkStudyTarget(ctx, env, &asked); err != nil {
		return err
	}
	var result *record.Study
	run := studyRunOptions{conductFlags: flags}
	err = run.conduct(ctx, env, dir, func(ctx context.Context, c conduct.Options) (_ *record.Study, err error) {
		c.Dir = dir
		result, err = conduct.Run(ctx, asked, c)
		return result, err
	})
	if err == nil && result != nil && slices.ContainsFunc(result.Comparisons, func(c record.Comparison) bool {
		return slices.Contains(unwanted, string(c.Verdict))
	}) {
		return ending(record.Missed)
	}
	return err
}

// study makes the study that compares A and B.
func (o *abOptions) study(cmd *cobra.Command, env *environment, args []string) (spec.Study, error) {
	var none spec.Study
	limit, err := spec.ParseDuration(o.limit)
	if err != nil {
		return none, usageError("--for: %w", err)
	}
	a, b, err := o.sides(cmd, env, args)
	if err != nil {
		return none, err
	}
	setA, setB, err := abDifferences(&a, &b)
	if err != nil {
		return none, err
	}
	asked := spec.Study{Name: "ab", Run: a.run, Lab: a.lab, UntilDecided: true, Trials: spec.Count(o.most), Canary: -1,
		Budget: limit, Metrics: o.metrics, Objectives: a.run.Objectives, Out: a.run.Out, Labels: a.run.Labels,
		Factors: []spec.Factor{{Name: "side", Levels: []spec.Level{
			{Name: "A", Set: setA, Baseline: true}, {Name: "B", Set: setB}}}}}
	asked.Run.Out, asked.Run.Objectives, asked.Run.Labels = "", nil, nil
	if len(asked.Metrics) == 0 {
		asked.Metrics = []string{"throughput", "p99"}
		if a.run.Load.Open() {
			asked.Metrics[0] = "mean" // the throughput is that of the schedule
		}
	}
	return asked, nil
}

// abSide is one side: a run, and the lab that it brings up, if any.
type abSide struct {
	name string
	run  spec.Run
	lab  *spec.Lab
	// recorded is a run that was made before.
	recorded bool
}

// sides reads A and B.
func (o *abOptions) sides(cmd *cobra.Command, env *environment, args []string) (a, b abSide, err error) {
	if len(args) < 2 && len(o.a)+len(o.b) == 0 {
		return a, b, usageError("%s needs A and B, or --a and --b with what differs (%s --a durability=durable --b durability=balanced)",
			cmd.CommandPath(), cmd.CommandPath())
	}
	names := append(slices.Clone(args), "", "")[:2]
	if len(args) == 1 {
		names[1] = names[0]
	}
	if err := o.engine.check(); err != nil {
		return a, b, err
	}
	for i, side := range []*abSide{&a, &b} {
		if *side, err = o.side(cmd.Context(), env, names[i]); err == nil {
			err = side.set([][]string{o.a, o.b}[i])
		}
		if err == nil {
			err = withExit(exitUsage, o.run.settings.named(side.run.Complete()))
		}
		if err != nil {
			return a, b, err
		}
	}
	return a, b, a.shareLab(&b, names)
}

// shareLab decides which lab is loaded: both recorded runs may have been on running labs that are equal; other labs are
// started in turn.
func (s *abSide) shareLab(b *abSide, names []string) error {
	switch {
	case s.lab == nil && b.lab == nil:
		return nil
	case s.lab == nil || b.lab == nil:
		return usageError("one of %s and %s starts a lab and the other does not: give two labs, or two running targets",
			names[0], names[1])
	}
	s.lab.Name, b.lab.Name = abLab, abLab
	if s.recorded && b.recorded && reflect.DeepEqual(s.lab, b.lab) {
		s.lab, b.lab = nil, nil
		return nil
	}
	s.run.Target, b.run.Target = spec.LabTarget(abLab), spec.LabTarget(abLab)
	return nil
}

// side reads an argument: the record of a run, a file of a run or a lab, or a target.
func (o *abOptions) side(ctx context.Context, env *environment, name string) (s abSide, err error) {
	s.name = name
	info, statErr := os.Stat(name)
	switch {
	case name == "" || statErr != nil:
		err = readTarget(ctx, env, &s.run.Target, name)
	case info.IsDir():
		err = s.fromRecord(name)
	default:
		err = s.fromFile(ctx, env, name, &o.engine)
	}
	if err != nil {
		return s, err
	}
	if err := o.run.settings.apply(&s.run); err != nil {
		return s, err
	}
	if l := &s.run.Load; l.Duration == 0 && l.Operations == 0 && len(l.Stages) == 0 && l.Replay == "" {
		l.Duration = abDuration
	}
	return s, nil
}

// abLab is the name of the lab of each side, which is removed before that of the other side is brought up.
const abLab = "study-ab"

// fromRecord takes the specification of a run and of its lab.
func (s *abSide) fromRecord(dir string) (err error) {
	if s.run, s.lab, err = recordedRun(dir, ""); err == nil {
		s.recorded = true
	}
	return err
}

// recordedRun is the specification of the run, or of the first one, in a directory, and of its lab, if it had one. A
// given target replaces that of the record.
func recordedRun(dir, target string) (asked spec.Run, lab *spec.Lab, err error) {
	source, err := judge.Open(dir)
	switch {
	case err != nil:
		return asked, nil, withExit(exitUsage, err)
	case len(source.Runs) == 0:
		return asked, nil, usageError("%s is not a record of a run: give one of a run, or change the file of a study and run it again", dir)
	}
	r := source.Runs[0]
	asked = r.Specification
	asked.Out, asked.Target = "", cmp.Or(target, asked.Target)
	if record.HasHidden(spec.Study{Run: asked}) {
		return asked, nil, usageError("the record %s does not contain the credentials of its target: give the address too", r.Dir)
	}
	if r.Lab != nil {
		l := r.Lab.Specification
		lab = &l
	}
	return asked, lab, nil
}

// fromFile reads a file of a run or, if that has none of its keys, of a lab.
func (s *abSide) fromFile(ctx context.Context, env *environment, name string, engine *engineFlags) error {
	r, err := readSpec(env, name, "specification", "", spec.ReadRun)
	if err == nil {
		s.run = r
		return readTarget(ctx, env, &s.run.Target, "")
	}
	l, labErr := readSpec(env, name, "lab", "", spec.ReadLab)
	if labErr != nil {
		return withExit(exitUsage, fmt.Errorf("%s is neither the file of a run nor that of a lab:\n%w", name, errors.Join(err, labErr)))
	}
	engine.choose(ctx, env, &l)
	s.lab, s.run.Target = &l, spec.LabTarget(abLab)
	return nil
}

// set applies --a or --b.
func (s *abSide) set(pairs []string) error {
	for _, pair := range pairs {
		key, value, err := keyValue(pair)
		if err != nil {
			return withExit(exitUsage, err)
		}
		if err := s.setKey(key, value); err != nil {
			return usageError("%s: %w", pair, err)
		}
	}
	return nil
}

func (s *abSide) setKey(key, value string) error {
	inLab, ofLab := strings.CutPrefix(key, "lab.")
	switch {
	case ofLab && s.lab == nil:
		return errors.New("neither side starts a lab. Give the file of a lab")
	case ofLab:
		return setPath(s.lab, inLab, value)
	case strings.Contains(key, "."):
		return setPath(&s.run, key, value)
	}
	flags := &cobra.Command{}
	one := addSettings(flags, &spec.Run{}, runSettings)
	if flags.Flags().Lookup(key) == nil {
		return fmt.Errorf("unknown key %q. Give a flag of 'plimsoll run' without its hyphens, or a key such as load.workers", key)
	}
	if err := flags.Flags().Set(key, value); err != nil {
		return err
	}
	return one.apply(&s.run)
}

// setPath sets a key of a specification.
func setPath(to any, key, value string) error {
	p, ok := spec.PathIn(reflect.TypeOf(to).Elem(), key)
	if !ok {
		return fmt.Errorf("unknown key %q", key)
	}
	x, err := spec.Convert(p.Type, value)
	if err == nil {
		p.Set(to, x)
	}
	return err
}

// abDifferences returns the keys in which two sides differ, with the values of each.
func abDifferences(a, b *abSide) (setA, setB map[string]any, err error) {
	x, errX := a.keys()
	y, errY := b.keys()
	if err := errors.Join(errX, errY); err != nil {
		return nil, nil, err
	}
	all := maps.Clone(x)
	maps.Copy(all, y)
	setA, setB = map[string]any{}, map[string]any{}
	for _, path := range slices.Sorted(maps.Keys(all)) {
		if reflect.DeepEqual(x[path], y[path]) || !judge.Matters(path) || slices.Contains([]string{"out", "load.seed"}, path) ||
			strings.HasPrefix(path, "labels.") {
			continue
		}
		if why := judge.Forbids(path); why != "" {
			return nil, nil, usageError("A and B differ in %s (%v and %v): %s. Give both the same", path, x[path], y[path], why)
		}
		setA[path], setB[path] = x[path], y[path]
	}
	switch {
	case len(setA) == 0:
		return nil, nil, usageError("A and B are the same run. Give two targets, or what differs with --a and --b")
	case a.run.Load.Open() != b.run.Load.Open():
		return nil, nil, usageError("one side has a rate and the other has none: an open and a closed loop measure different times. Give both a rate")
	}
	return setA, setB, nil
}

// keys returns the values of a side by the paths that a study has for them.
func (s *abSide) keys() (map[string]any, error) {
	out := map[string]any{}
	add := func(prefix string, v any) error {
		text, err := yaml.Marshal(v)
		if err != nil {
			return err
		}
		var tree map[string]any
		if err := yaml.Unmarshal(text, &tree); err != nil {
			return err
		}
		flatten(out, prefix, tree)
		return nil
	}
	err := add("", s.run)
	if err == nil && s.lab != nil {
		err = add("lab.", s.lab)
	}
	return out, err
}

// flatten adds the leaves of a tree by their paths. Lists are leaves.
func flatten(to map[string]any, prefix string, tree map[string]any) {
	for key, v := range tree {
		if inner, ok := v.(map[string]any); ok {
			flatten(to, prefix+key+".", inner)
			continue
		}
		to[prefix+key] = v
	}
}
