package suite

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/plimsoll-bench/plimsoll/drill"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/run"
	"github.com/plimsoll-bench/plimsoll/spec"
	"github.com/plimsoll-bench/plimsoll/store"
	"github.com/plimsoll-bench/plimsoll/study"
)

// Times into which suites are fitted.
const (
	QuickTime = 10 * time.Minute
	SmokeTime = time.Minute
)

// PlanOptions say what a suite is to be made of its files.
type PlanOptions struct {
	// Budget is full, time, quick or smoke; Limit the time that it is fitted into, 0 for none. Without Budget it is full,
	// or time where there is a limit.
	Budget string
	Limit  time.Duration
	// Scale overrules that of the suite, fraction by fraction; nil for none.
	Scale *spec.Scale
	// Against is a deployment that is loaded instead of labs, "" for none; embedded: without a directory keeps its
	// documents below Data, until the part is done.
	Against, Data string
	Machine       Machine
	// Study are the options of the plans of studies. CheckLab says whether this machine can bring a lab up.
	Study study.PlanOptions
	// CheckVolume says whether this machine can make the volume of a probe: a lab without servers; nil does not ask.
	CheckVolume func(spec.Lab) error
	// Load changes how the load of a study or a drill is sent; nil leaves it.
	Load func(*spec.Run) error
	// ChooseEngine names the engine of a lab that names none; nil leaves it.
	ChooseEngine func(*spec.Lab)
}

// Plan is everything about a suite that is known before it runs.
type Plan struct {
	Folder  Folder
	Budget  string
	Limit   time.Duration
	Scale   spec.Scale
	Against string
	// Engines are the engines of the labs, "" among none.
	Engines []string
	// Parts are all of them in their order, those that are left out too.
	Parts []Planned
	// Left says what was scaled or left out.
	Left []spec.Left
}

// Planned is a part as it will be done, or why it will not.
type Planned struct {
	record.Part
	Plan record.PartPlan
	// Needs are as in the specification.
	Needs []string
	// Study is the plan of a study that is not left out.
	Study *study.Plan
}

// Out reports whether the part is left out.
func (p *Planned) Out() bool { return p.Status == record.PartLeft }

// Nothing says why there is nothing to do: every part is left out. It is "" if there is something.
func (p *Plan) Nothing() string {
	why := ""
	for i := range p.Parts {
		if !p.Parts[i].Out() {
			return ""
		}
		why = cmp.Or(why, p.Parts[i].Name+": "+p.Parts[i].Problem)
	}
	return why
}

// Estimate is the estimated time of the suite.
func (p *Plan) Estimate() time.Duration {
	seconds := 0.0
	for i := range p.Parts {
		if !p.Parts[i].Out() {
			seconds += p.Parts[i].Estimate
		}
	}
	return time.Duration(seconds * float64(time.Second))
}

// Shown is the plan without credentials, to be printed.
func (p *Plan) Shown() *record.PlannedSuite {
	s := &record.PlannedSuite{Specification: p.Folder.Spec, Budget: p.Budget, Limit: spec.Duration(p.Limit),
		Scale: p.Scale, Against: store.Redact(p.Against), Engines: p.Engines, Seconds: p.Estimate().Seconds(), Left: p.Left}
	for i := range p.Parts {
		part := record.PlannedPart{Part: p.Parts[i].Part, Needs: p.Parts[i].Needs}
		if p.Parts[i].Study != nil {
			part.Trials = len(p.Parts[i].Study.Trials)
		}
		s.Parts = append(s.Parts, part)
	}
	return s
}

// planner makes a plan.
type planner struct {
	o    PlanOptions
	plan *Plan
}

// NewPlan says what will be done of a folder here. Mistakes in files are errors that name the part; what this machine,
// its time or its deployment do not allow is left out, with the reason.
func NewPlan(f Folder, o PlanOptions) (*Plan, error) {
	if o.Budget == "" {
		o.Budget = record.BudgetFull
		if o.Limit > 0 {
			o.Budget = record.BudgetTime
		}
	}
	if o.Study.Check == nil {
		o.Study.Check = run.NewCheck()
	}
	if o.Against != "" && o.Against != embeddedTarget {
		if _, err := run.ParseTarget(o.Against); err != nil {
			return nil, fmt.Errorf("--target: %w", err)
		}
	}
	p := &planner{o: o, plan: &Plan{Folder: f, Budget: o.Budget, Limit: o.Limit, Against: o.Against}}
	p.plan.Scale = merged(f.Spec.Scale, o.Scale)
	if text := p.plan.Scale.String(); text != "1" {
		p.left("", "scale", "1", text, "this machine is not the document's hardware. The ratios of records, memory, caches and volumes stay the same")
	}
	var errs []error
	for _, piece := range f.Pieces {
		part, err := p.part(piece)
		if err != nil {
			errs = append(errs, before("part "+piece.Name, err))
		}
		p.plan.Parts = append(p.plan.Parts, part)
		if name := p.engineOf(piece); name != "" && !part.Out() && o.Against == "" && !slices.Contains(p.plan.Engines, name) {
			p.plan.Engines = append(p.plan.Engines, name)
		}
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	if err := p.fit(); err != nil {
		return nil, err
	}
	return p.plan, nil
}

// before puts the name of a part or file before each line of an error.
func before(name string, err error) error {
	var errs []error
	for line := range strings.SplitSeq(err.Error(), "\n") {
		errs = append(errs, fmt.Errorf("%s: %s", name, line))
	}
	return errors.Join(errs...)
}

// merged is a scale in which that of the command counts more than that of the file.
func merged(file, command *spec.Scale) spec.Scale {
	var s spec.Scale
	for _, x := range []*spec.Scale{file, command} {
		if x == nil {
			continue
		}
		for _, f := range []struct{ to, from *spec.Fraction }{{&s.Data, &x.Data}, {&s.Workers, &x.Workers},
			{&s.Cores, &x.Cores}, {&s.Rates, &x.Rates}, {&s.Servers, &x.Servers}} {
			if *f.from != 0 {
				*f.to = *f.from
			}
		}
	}
	return s
}

func (p *planner) left(part, what, from, to, why string) {
	p.plan.Left = append(p.plan.Left, spec.Left{Part: part, What: what, From: from, To: to, Why: why})
}

// leave leaves a part out. What was scaled of it says nothing any more.
func (p *planner) leave(part *Planned, why string) {
	p.plan.Left = slices.DeleteFunc(p.plan.Left, func(l spec.Left) bool { return l.Part == part.Name })
	part.Status, part.Problem, part.Study, part.Estimate = record.PartLeft, why, nil, 0
	p.left(part.Name, spec.LeftPart, "", "", why)
}

// part adapts a part to the machine and the deployment, before any time is looked at.
func (p *planner) part(piece Piece) (Planned, error) {
	part := Planned{
		Part: record.Part{Name: piece.Name, Kind: piece.Spec.Kind(), Status: record.PartPlanned, Shows: piece.Spec.Shows,
			Level: piece.Spec.Level, Set: piece.Set},
		Plan: record.PartPlan{Name: piece.Name, Gives: piece.Spec.Gives, Owns: owned(piece), Of: piece.Spec.NameOf(),
			Vital: piece.Spec.Vital},
		Needs: piece.Spec.Needs,
	}
	switch {
	case p.o.Against != "" && piece.Study == nil:
		p.leave(&part, whyNotAgainst(part.Kind, p.o.Against))
		return part, nil
	case p.o.Against == "":
		for _, need := range piece.Spec.Needs {
			if why := p.lacks(need, piece); why != "" {
				p.leave(&part, fmt.Sprintf("it needs %s: %s", need, why))
				return part, nil
			}
		}
	}
	switch {
	case piece.Study != nil:
		err := p.study(&part, *piece.Study)
		return part, err
	case piece.Drill != nil:
		err := p.drill(&part, *piece.Drill, piece.Spec.Repeat)
		return part, err
	}
	err := p.probe(&part, *piece.Probe)
	return part, err
}

// whyNotAgainst says why a drill or a probe is not done where no lab is brought up.
func whyNotAgainst(kind, against string) string {
	if kind == record.KindDrill {
		return fmt.Sprintf("it breaks a lab, but this suite loads %s. For a deployment that you break yourself, use: plimsoll drill --external", shown(against))
	}
	return fmt.Sprintf("it measures the volume of a lab, but this suite loads %s. For a disk of your own, use: plimsoll disk DIR", shown(against))
}

// lacks says why a need of a part is not met: by the machine, or by the engine of its lab.
func (p *planner) lacks(need string, piece Piece) string {
	if slices.Contains(spec.Capabilities(), need) {
		return spec.EngineLacks(p.engineOf(piece), need)
	}
	if p.o.Machine == nil {
		return ""
	}
	return p.o.Machine.Lacks(need)
}

// engineOf is the engine of the lab that a part brings up, "" where it brings up none.
func (p *planner) engineOf(piece Piece) string {
	var of *spec.Lab
	switch {
	case piece.Study != nil:
		of = piece.Study.Lab
	case piece.Drill != nil:
		of = piece.Drill.Lab
	}
	if of == nil {
		return ""
	}
	return p.withEngine(*of).Engine.Name
}

// withEngine names the engine of a lab that names none.
func (p *planner) withEngine(lab spec.Lab) spec.Lab {
	if p.o.ChooseEngine != nil {
		p.o.ChooseEngine(&lab)
	}
	return lab
}

// owned are the keys that a part has values of its own for.
func owned(piece Piece) []string {
	keys := slices.Collect(maps.Keys(piece.Set))
	if piece.Study != nil {
		for _, f := range piece.Study.Factors {
			if f.Path != "" {
				keys = append(keys, f.Path)
			}
			for _, l := range f.Levels {
				keys = slices.AppendSeq(keys, maps.Keys(l.Set))
			}
		}
	}
	slices.Sort(keys)
	return slices.Compact(keys)
}

// load changes how a load is sent.
func (p *planner) load(asked *spec.Run) error {
	if p.o.Load == nil {
		return nil
	}
	return p.o.Load(asked)
}

// drill checks a drill and the lab that it brings up.
func (p *planner) drill(part *Planned, asked spec.Drill, repeat spec.Count) error {
	if repeat > 0 {
		asked.Repeat = repeat
	}
	if asked.External {
		return errors.New("drill: an external drill needs a person. In a suite, the drill must bring up a lab (lab)")
	}
	asked.Out = ""
	switch pods := spec.InKubernetes(asked.Run.Target); {
	case asked.Lab == nil && !pods:
		return errors.New("drill: it has no lab (key lab) and its target is not in Kubernetes (k8s:NAMESPACE/NAME), but a suite breaks only these")
	case asked.Lab != nil:
		lab := p.withEngine(*asked.Lab)
		asked.Lab = &lab
	}
	if err := p.load(&asked.Run); err != nil {
		return err
	}
	if err := asked.Complete(); err != nil {
		return err
	}
	checked := asked
	if asked.Lab == nil {
		checked.Run.Target = "mongodb://pods" // the addresses are known when the part begins
	}
	if err := drill.Check(checked); err != nil {
		return err
	}
	part.Plan.Drill = &asked
	if asked.Lab == nil {
		return nil
	}
	if why := p.cannot(*asked.Lab, asked.Run); why != "" { // with its defaults
		p.leave(part, why)
	}
	return nil
}

// probe checks a probe and the volume that it looks at.
func (p *planner) probe(part *Planned, asked spec.PartProbe) error {
	asked, left := asked.Scaled(p.plan.Scale)
	for _, l := range left {
		p.left(part.Name, l.What, l.From, l.To, l.Why)
	}
	if _, err := probeSpec("", asked); err != nil {
		return err
	}
	lab, err := probeLab(part.Name, asked)
	if err != nil {
		return err
	}
	part.Plan.Probe = &asked
	if p.o.CheckVolume != nil {
		if err := p.o.CheckVolume(lab); err != nil {
			p.leave(part, "its volume cannot be created here: "+oneLine(err))
		}
	}
	return nil
}

// cannot says why this machine cannot bring a lab up; "" if it can.
func (p *planner) cannot(lab spec.Lab, asked spec.Run) string {
	if p.o.Study.CheckLab == nil {
		return ""
	}
	if err := p.o.Study.CheckLab(lab, asked); err != nil {
		return "its lab cannot be brought up here: " + oneLine(err)
	}
	return ""
}

func oneLine(err error) string { return strings.ReplaceAll(err.Error(), "\n", "; ") }
