package suite

import (
	"cmp"
	"errors"
	"path/filepath"
	"slices"
	"strings"

	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/spec"
	"github.com/plimsoll-bench/plimsoll/store"
	"github.com/plimsoll-bench/plimsoll/study"
	"github.com/plimsoll-bench/plimsoll/suite/fit"
)

// embeddedTarget is the target that keeps its documents in a directory of its own for each part.
const embeddedTarget = "embedded:"

// shown is a target without credentials.
func shown(target string) string { return store.Redact(target) }

// study takes a study to the scale, the deployment and the machine that are there.
func (p *planner) study(part *Planned, asked spec.Study) error {
	asked.Out, asked.Budget = "", 0
	if asked.Lab != nil {
		lab := p.withEngine(*asked.Lab)
		asked.Lab = &lab
	}
	asked, err := study.ForEngine(asked)
	if err != nil {
		return err
	}
	for _, l := range asked.Instead {
		p.left(part.Name, l.What, "", l.To, l.Why)
	}
	if err := errors.Join(p.scale(part, &asked), p.load(&asked.Run)); err != nil {
		return err
	}
	if err := asked.Complete(); err != nil {
		return err
	}
	if p.o.Against != "" {
		p.against(part, &asked)
	}
	if why, err := p.trim(part, &asked); err != nil {
		return err
	} else if why != "" {
		p.leave(part, why)
		return nil
	}
	part.Plan.Study = &asked
	return nil
}

// scale takes a study to this machine: by the scale of the suite, or else by its own.
func (p *planner) scale(part *Planned, asked *spec.Study) error {
	by := merged(asked.Scale, &p.plan.Scale)
	if by.String() == "1" {
		asked.Scale = nil
		return nil
	}
	out, left, err := asked.Scaled(by)
	if err != nil {
		return err
	}
	for _, l := range left {
		p.left(part.Name, l.What, l.From, l.To, l.Why)
	}
	*asked = out
	return nil
}

const labPrefix = "lab."

// against makes a study use a running deployment. Levels that change the lab are left out. If there are no others, only
// its baseline is measured, which can be compared with that of another deployment.
func (p *planner) against(part *Planned, asked *spec.Study) {
	asked.Lab, asked.Run.Target = nil, p.target(part.Name)
	if asked.Run.Database == "" || asked.Run.Database == spec.DefaultDatabase {
		asked.Run.Database = databaseOf(part.Name)
	}
	had := len(asked.Factors)
	var kept []spec.Factor
	for _, f := range asked.Factors {
		if f, ok := p.withoutLab(part, f); ok {
			kept = append(kept, f)
		}
	}
	asked.Factors = kept
	p.fewer(asked)
	if had > 0 && len(kept) == 0 && asked.Procedures == nil {
		p.left(part.Name, "what is compared", "", "the baseline alone", "all levels belong to the lab. Run the suite against another deployment, too, and compare the two records of this part "+
			"(plimsoll compare)")
	}
}

// target names where a part has its documents.
func (p *planner) target(part string) string {
	dir, is := strings.CutPrefix(p.o.Against, embeddedTarget)
	if !is {
		return p.o.Against
	}
	return embeddedTarget + filepath.Join(cmp.Or(dir, p.o.Data), part)
}

// databaseOf is a database of a part's own: documents of another part would be measured in the place of its own.
func databaseOf(part string) string {
	name := spec.DefaultDatabase + "_" + strings.NewReplacer(".", "-").Replace(part)
	const longest = 55 // of the 63 bytes of a name, with room for what a study puts behind it
	return name[:min(len(name), longest)]
}

// withoutLab takes the levels out of a factor that vary the lab; ok is false if too little is left of it.
func (p *planner) withoutLab(part *Planned, f spec.Factor) (spec.Factor, bool) {
	why := "it belongs to the lab, but this suite loads " + shown(p.o.Against)
	if strings.HasPrefix(f.Path, labPrefix) {
		p.left(part.Name, f.Name, "", "", why)
		return f, false
	}
	var kept []spec.Level
	var gone []string
	for i, l := range f.Levels {
		if !setsLab(l) {
			kept = append(kept, l)
			continue
		}
		if l.Baseline || i == 0 && !slices.ContainsFunc(f.Levels, func(l spec.Level) bool { return l.Baseline }) {
			p.left(part.Name, f.Name, "", "", "its baseline "+l.Name+" belongs to the lab, but this suite loads "+shown(p.o.Against))
			return f, false
		}
		gone = append(gone, l.Name)
	}
	if len(kept) < 2 {
		p.left(part.Name, f.Name, "", "", "nothing is left to compare: "+why)
		return f, false
	}
	for _, level := range gone {
		p.left(part.Name, f.Name+"="+level, "", "", why)
	}
	f.Levels = kept
	return f, true
}

func setsLab(l spec.Level) bool {
	for path := range l.Set {
		if strings.HasPrefix(path, labPrefix) {
			return true
		}
	}
	return false
}

// fewer keeps a study whole that has lost factors.
func (p *planner) fewer(asked *spec.Study) {
	asked.Batch = slices.DeleteFunc(slices.Clone(asked.Batch), func(name string) bool {
		return !slices.ContainsFunc(asked.Factors, func(f spec.Factor) bool { return f.Name == name })
	})
	if len(asked.Batch) == 0 && asked.Order == spec.OrderBatched {
		asked.Order = spec.OrderBlocks
	}
	if len(asked.Factors) < 2 {
		asked.Combine, asked.Fraction = spec.CombineOneAtATime, 0
	}
}

// trim takes the levels out of a study that this machine or this deployment cannot do. It returns why nothing is left
// of it, and as an error what is wrong with the file.
func (p *planner) trim(part *Planned, asked *spec.Study) (string, error) {
	lenient := p.o.Study
	lenient.CheckLab = func(spec.Lab, spec.Run) error { return nil }
	if p.o.Against != "" {
		lenient.Check = func(spec.Run) error { return nil }
	}
	plan, err := study.NewPlan(*asked, lenient)
	if err != nil {
		return "", err
	}
	gone := map[string]map[string]bool{} // levels by factor
	for _, c := range plan.Configurations {
		why := p.impossible(plan, c.ID)
		switch {
		case why == "":
			continue
		case c.Baseline:
			return "its baseline is not possible here: " + why, nil
		case c.Factor == "":
			return "its configuration " + c.ID + " is not possible here: " + why, nil
		}
		level := c.Levels[c.Factor]
		p.left(part.Name, c.Factor+"="+level, "", "", "it is not possible here: "+why)
		if gone[c.Factor] == nil {
			gone[c.Factor] = map[string]bool{}
		}
		gone[c.Factor][level] = true
	}
	return p.without(part, asked, gone), nil
}

// without takes levels out of a study.
func (p *planner) without(part *Planned, asked *spec.Study, gone map[string]map[string]bool) string {
	if len(gone) == 0 {
		return ""
	}
	var kept []spec.Factor
	for _, f := range asked.Factors {
		f.Levels = slices.DeleteFunc(slices.Clone(f.Levels), func(l spec.Level) bool { return gone[f.Name][l.Name] })
		if len(f.Levels) < 2 {
			p.left(part.Name, f.Name, "", "", "nothing is left to compare")
			continue
		}
		kept = append(kept, f)
	}
	asked.Factors = kept
	p.fewer(asked)
	if len(kept) == 0 && asked.Procedures == nil {
		return "none of its factors is possible here"
	}
	return ""
}

// impossible says why a configuration cannot be done here; "" if it can.
func (p *planner) impossible(plan *study.Plan, id string) string {
	spec, err := plan.RunSpec(id)
	if err == nil && p.o.Against != "" {
		err = p.o.Study.Check(spec)
	}
	if l, ok := plan.LabSpec(id); ok && err == nil && p.o.Study.CheckLab != nil {
		err = p.o.Study.CheckLab(l, spec)
	}
	if err != nil {
		return oneLine(err)
	}
	return ""
}

// fit takes the parts to the time that there is, and plans what is left.
func (p *planner) fit() error {
	var parts []fit.Part
	has := map[string]bool{} // names in suite.yaml of which a value is done
	for i := range p.plan.Parts {
		x := &p.plan.Parts[i]
		part := fit.Part{Name: x.Name, Study: x.Plan.Study, Drill: x.Plan.Drill, Probe: x.Plan.Probe, Vital: x.Plan.Vital,
			Variant: has[x.Plan.Of], Estimate: x.Estimate, Out: x.Out(), Why: x.Problem}
		if part.Out {
			part.Study, part.Drill, part.Probe = nil, nil, nil
		}
		has[x.Plan.Of] = has[x.Plan.Of] || !part.Out
		parts = append(parts, part)
	}
	fitted, left := fit.Fit(parts, p.o.Limit, p.o.Budget == record.BudgetSmoke)
	p.plan.Left = append(p.plan.Left, left...)
	for i := range p.plan.Parts {
		x, f := &p.plan.Parts[i], fitted[i]
		if f.Out {
			x.Status, x.Problem, x.Estimate = record.PartLeft, f.Why, 0
			x.Plan.Study, x.Plan.Drill, x.Plan.Probe = nil, nil, nil
			continue
		}
		x.Plan.Study, x.Plan.Drill, x.Plan.Probe, x.Estimate = f.Study, f.Drill, f.Probe, f.Estimate
		if err := p.settle(x); err != nil {
			return before("part "+x.Name, err)
		}
	}
	return nil
}

// settle plans a study as it will be done. Its time is the one that it was fitted into the whole with, where there is
// one: a plan alone assumes another machine.
func (p *planner) settle(x *Planned) error {
	if x.Plan.Study == nil {
		return nil
	}
	plan, err := study.NewPlan(*x.Plan.Study, p.o.Study)
	if err != nil {
		return err
	}
	x.Study = plan
	if x.Estimate == 0 {
		x.Estimate = plan.Estimate.Seconds
	}
	return nil
}
