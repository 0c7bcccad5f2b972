package study

import (
	"encoding/json"
	"fmt"

	"github.com/plimsoll-bench/plimsoll/internal/figure"
	"github.com/plimsoll-bench/plimsoll/spec"
)

// A study may bring up the lab that it loads. Configurations whose labs differ need another one: the lab is removed,
// the other one is brought up, and its data are loaded. That is the most expensive change that a study has, so the plan
// counts it.

// assumedRedeploy is how many seconds it takes to remove a lab and bring another one up where nobody measured it; it
// was 3 to 12 for replica sets, more on a busy machine.
const assumedRedeploy = 15

// LabSpec returns the whole lab of a configuration, and whether the study brings one up.
func (p *Plan) LabSpec(configurationID string) (spec.Lab, bool) {
	l, ok := p.labs[configurationID]
	return copyLab(l), ok
}

// LabKey returns a text that is equal for labs that are brought up in the same way.
func LabKey(l spec.Lab) string {
	l.Labels = nil // whoever brings it up adds some
	b, err := json.Marshal(l)
	if err != nil { // what a specification holds can be written: a test of package record sees to it
		return fmt.Sprintf("%+v", l)
	}
	return string(b)
}

func (p *Plan) labKey(l spec.Lab) string {
	if p.Lab == nil {
		return ""
	}
	return LabKey(l)
}

// checkLab makes sure that the lab of a configuration can be brought up and can do its run.
func (p *Plan) checkLab(o PlanOptions, id string) error {
	l, ok := p.labs[id]
	if !ok {
		return nil
	}
	if o.CheckLab == nil {
		return nil
	}
	return o.CheckLab(copyLab(l), copySpec(p.specs[id]))
}

// deploy adds the time to bring the lab of a trial up, if another one or none is up. Its data are gone then.
func (e *estimator) deploy(configuration string) {
	key := e.plan.keys[configuration]
	if key == "" || key == e.lab {
		return
	}
	e.lab = key
	seconds := e.options.Redeploy
	if e.options.RedeployOf != nil {
		l := e.plan.labs[configuration]
		seconds = e.options.RedeployOf(&l)
	}
	if seconds <= 0 {
		seconds = assumedRedeploy
		e.assume("a lab is removed and another one brought up in %d s; how long it takes is known once it was done", assumedRedeploy)
	}
	e.Redeploys++
	e.Redeploying += seconds
	for _, s := range e.plan.sets {
		s.used = s.Loads > 0 // what was loaded is gone with the lab that had it
	}
}

// spent is how many seconds have passed so far.
func (e *estimator) spent() float64 {
	return e.Procedures + e.Loading + e.Measuring + e.Pauses + e.Redeploying
}

// redeploys counts how often a lab has to be brought up, and how many different ones there are.
func (p *Plan) redeploys() (times, different int) {
	last, seen := "", map[string]bool{}
	for _, t := range p.Trials {
		if key := p.keys[t.Configuration]; key != last {
			last = key
			times++
			seen[key] = true
		}
	}
	return times, len(seen)
}

// redeployText says how often the lab is brought up anew, and what that costs.
func (p *Plan) redeployText() []string {
	if p.Lab == nil || len(p.Trials) == 0 {
		return nil
	}
	times, different := p.redeploys()
	if different == 1 {
		return []string{fmt.Sprintf("the lab %s is brought up once and removed in the end; nothing of it is varied", p.Lab.Name)}
	}
	if p.Spec.Order == spec.OrderBatched {
		return []string{fmt.Sprintf("the lab %s is brought up %s, as trials of the same lab follow each other (%d different ones); its effect cannot be told from what drifts between the batches",
			p.Lab.Name, figure.Plural(times, "time"), different)}
	}
	text := fmt.Sprintf("the lab %s is brought up %s, whenever a trial needs another one than the trial before (%d different ones), and its data are loaded anew", p.Lab.Name, figure.Plural(times, "time"), different)
	if len(p.Trials) > times {
		text += fmt.Sprintf("; the other %s on the lab of the trial before, and with its caches",
			map[bool]string{true: "one runs", false: fmt.Sprintf("%d run", len(p.Trials)-times)}[len(p.Trials)-times == 1])
	}
	return []string{text + ". order: batched would bring it up fewer times, and could not tell its effect from drift"}
}
