package study

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/plimsoll-bench/plimsoll/internal/deep"
	"github.com/plimsoll-bench/plimsoll/internal/nearest"
	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/published"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/run"
	"github.com/plimsoll-bench/plimsoll/spec"
)

// Plan is the plan of a study, and what is needed to perform it. [Plan.RunSpec] has the runs, with their levels.
type Plan struct {
	record.PlannedStudy

	specs map[string]spec.Run // by the IDs of configurations
	labs  map[string]spec.Lab // likewise; empty if the study brings none up
	keys  map[string]string   // likewise: equal for equal labs, "" for none
	wrong map[string]error    // likewise: what is wrong with the run and the lab, with their defaults
	sets  []*dataSet
	// By the IDs of configurations: their data sets, and whether they insert into them.
	setOf   map[string]*dataSet
	inserts map[string]bool
	classes map[string]bool // of operations, in any configuration
}

// Shown is a copy of the plan without credentials, to be printed.
func (p *Plan) Shown() *record.PlannedStudy {
	shown := record.Redacted(p.PlannedStudy, p.Spec)
	return &shown
}

// PlanOptions are what a plan needs besides the specification.
type PlanOptions struct {
	// Check checks whether a run is possible, without its target; nil for [run.Check].
	Check func(spec.Run) error
	// Metric returns the operation class of a metric ("" for all), or an error if there is no such metric; nil does not
	// check.
	Metric func(name string) (class string, err error)
	// Rate is the measured operations per second of the baseline, or 0. It is needed for the length of runs that are
	// limited by operations.
	Rate float64
	// FillRate is the measured bytes per second of the load phase, or 0.
	FillRate float64
	// CheckLab checks whether this machine can bring up a lab, and whether the lab can do the run, without making
	// anything; nil checks the specification only.
	CheckLab func(spec.Lab, spec.Run) error
	// Redeploy is the measured time in seconds to change the lab, or 0.
	Redeploy float64
	// RedeployOf is that of each lab, instead of Redeploy; nil for none.
	RedeployOf func(*spec.Lab) float64
	// OnlyTime skips the calculation of the power.
	OnlyTime bool
}

// maxPlanTrials is ten weeks at a minute each.
const maxPlanTrials = 100_000

// A BudgetError means that a plan takes longer than its budget.
type BudgetError struct {
	Budget, Needed spec.Duration
	Fits           string // what would fit
}

func (e *BudgetError) Error() string {
	return fmt.Sprintf("the plan takes about %v, but the budget is %v: %s", e.Needed.Roughly(), e.Budget, e.Fits)
}

// NewPlan plans a complete study ([Complete]). Errors name the key, the factor and level, or the configuration and its
// first trial. A plan that exceeds its budget is returned with a [BudgetError]. The same specification gives the same
// plan.
func NewPlan(asked spec.Study, o PlanOptions) (*Plan, error) {
	if o.Check == nil {
		o.Check = run.NewCheck()
	}
	if asked.Published != "" {
		if _, _, err := published.Select(asked.Published); err != nil {
			return nil, fmt.Errorf("published: %w", err)
		}
	}
	factors, err := readFactors(&asked)
	if err != nil {
		return nil, err
	}
	p := &Plan{PlannedStudy: record.PlannedStudy{Spec: asked, Base: deep.Copy(asked.Run), Notes: ScaleNotes(&asked)},
		specs: map[string]spec.Run{}, labs: map[string]spec.Lab{}, keys: map[string]string{}, wrong: map[string]error{}}
	p.Base.Defaults() // what it lacks may be in the levels of every factor, so it is not checked
	if asked.Lab != nil {
		base := deep.Copy(*asked.Lab)
		base.Defaults()
		p.Lab = &base
	}
	if err := p.configure(factors); err != nil {
		return nil, err
	}
	if n := len(p.Configurations) * int(asked.Trials); n > maxPlanTrials {
		return nil, fmt.Errorf("the plan has %s configurations with %d trials each, more than %d in all. Remove levels or trials",
			large(float64(len(p.Configurations))), asked.Trials, maxPlanTrials)
	}
	order := newOrder(&p.Spec, p.Configurations)
	p.Trials = order.trials
	p.Order = slices.Concat(order.text(), p.redeployText(), p.storageText())
	if asked.UntilDecided {
		p.Notes = append(p.Notes, fmt.Sprintf("the study ends when every configuration has a verdict: it is judged after %d blocks, "+
			"whenever their number has doubled, and at the end. Trials and times are the largest", spec.FirstLook))
	}
	if err := p.check(o); err != nil {
		return nil, err
	}
	if err := p.shareData(); err != nil {
		return nil, err
	}
	if err := errors.Join(p.checkStorage(), p.checkClasses(o), p.checkDeadline(), p.checkProcedures()); err != nil {
		return nil, err
	}
	p.estimate(o)
	return p, p.checkBudget()
}

// RunSpec returns the run of a configuration, with levels, defaults, and its data set.
func (p *Plan) RunSpec(configurationID string) (spec.Run, error) {
	spec, ok := p.specs[configurationID]
	if !ok {
		return spec, fmt.Errorf("the plan has no configuration %q", configurationID)
	}
	return deep.Copy(spec), nil
}

// configure makes the configurations. Points that are the same run are run once.
func (p *Plan) configure(factors []factor) error {
	raw, meant := baseOf(&p.Spec), settings{Run: effective(p.Base)}
	if p.Lab != nil {
		meant.Lab = *p.Lab
	}
	for i := range factors {
		if note := factors[i].findBaseline(&raw, &meant); note != "" {
			p.Notes = append(p.Notes, note)
		}
	}
	if err := checkShared(&p.Spec, factors); err != nil {
		return err
	}
	all, err := points(&p.Spec, factors)
	if err != nil {
		return err
	}
	several := p.Spec.Combine != spec.CombineOneAtATime
	known := map[string]int{} // by what is run, the configuration
	for _, pt := range all {
		w, wrong := apply(factors, pt, all[0], raw, p.Lab != nil)
		w.Run.LoadPhase.Drop = w.Run.LoadPhase.Drop || p.Spec.Reload
		c := configuration(factors, pt, all[0], &raw, several)
		lab := ""
		if p.Lab != nil {
			lab = LabKey(w.Lab)
		}
		key := identity(w.Run) + lab
		if first, twice := known[key]; twice {
			same := &p.Configurations[first]
			same.Same = append(same.Same, c.ID)
			same.Exploratory = same.Exploratory && c.Exploratory
			p.Notes = append(p.Notes, fmt.Sprintf("%s is the same run as %s, so it is not run again", c.ID, same.ID))
			continue
		}
		known[key] = len(p.Configurations)
		p.Configurations = append(p.Configurations, c)
		p.specs[c.ID], p.keys[c.ID], p.wrong[c.ID] = w.Run, lab, wrong
		if p.Lab != nil {
			p.labs[c.ID] = w.Lab
		}
	}
	return nil
}

// effective makes implicit settings of a run explicit: the write concern of its durability level, and one client.
func effective(asked spec.Run) spec.Run {
	at := asked.Durability.At(asked.Target)
	asked.Durability.W, asked.Durability.Journal = at.W, at.Journal
	asked.Load.Clients = max(asked.Load.Clients, 1)
	return asked
}

// identity is equal for equal runs, independent of names.
func identity(asked spec.Run) string {
	asked = effective(asked)
	asked.Durability.Name = ""
	return textOf(asked)
}

// textOf returns a text that is equal for equal values.
func textOf(v any) string {
	b, err := json.Marshal(v)
	if err != nil { // cannot happen; a test of package record checks it
		return fmt.Sprintf("%+v", v)
	}
	return string(b)
}

// mostMistakes bounds the errors of configurations.
const mostMistakes = 10

// check checks that every configuration can be run. The error names its first trial.
func (p *Plan) check(o PlanOptions) error {
	first := map[string]int{}
	for _, t := range p.Trials {
		if _, known := first[t.Configuration]; !known {
			first[t.Configuration] = t.Number
		}
	}
	var errs []error
	for _, c := range p.Configurations {
		err := p.wrong[c.ID]
		if err == nil {
			err = o.Check(p.specs[c.ID])
			if l, ok := p.labs[c.ID]; ok && o.CheckLab != nil {
				err = errors.Join(err, o.CheckLab(deep.Copy(l), deep.Copy(p.specs[c.ID])))
			}
		}
		if err == nil {
			continue
		}
		if len(errs) == mostMistakes {
			return errors.Join(append(errs, errors.New("… and more configurations like these"))...)
		}
		at := "configuration " + c.ID
		if n := first[c.ID]; n > 0 {
			at = fmt.Sprintf("trial %d, configuration %s", n, c.ID)
		}
		for line := range strings.SplitSeq(err.Error(), "\n") {
			errs = append(errs, fmt.Errorf("%s: %s", at, line))
		}
	}
	return errors.Join(errs...)
}

// checkClasses checks that some configuration has the operations of metrics and objectives.
func (p *Plan) checkClasses(o PlanOptions) error {
	var errs []error
	known := slices.Sorted(maps.Keys(p.classes))
	check := func(key, text, class string) {
		if class != "" && !p.classes[class] {
			errs = append(errs, fmt.Errorf("%s: %s: no workload of the study has operations of class %q%s (known: %s)",
				key, text, class, nearest.DidYouMean(class, known), strings.Join(known, ", ")))
		}
	}
	for _, m := range p.Spec.Metrics {
		if o.Metric == nil {
			break
		}
		class, err := o.Metric(m)
		if err != nil {
			errs = append(errs, fmt.Errorf("metrics: %w", err))
			continue
		}
		check("metrics", m, class)
	}
	objectives, err := measure.ParseObjectives(strings.Join(p.Spec.Objectives, ","))
	for _, obj := range objectives {
		check("objectives", obj.Text, obj.Class)
	}
	return errors.Join(append(errs, err)...)
}
