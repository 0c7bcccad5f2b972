package study

import (
	"fmt"

	"github.com/plimsoll-bench/plimsoll/internal/deep"
	"github.com/plimsoll-bench/plimsoll/internal/figure"
	"github.com/plimsoll-bench/plimsoll/spec"
)

// A study may bring up the lab that it loads. If configurations differ in the lab, it removes the lab, brings up the
// other one and loads the data. That is the most expensive change in a study, so the plan counts it.

// assumedRedeploy is the assumed time in seconds to remove a lab and bring up another one. It was 3 to 12 for replica
// sets, more on a busy machine.
const assumedRedeploy = 15

// LabSpec returns the lab of a configuration, and whether the study brings one up.
func (p *Plan) LabSpec(configurationID string) (spec.Lab, bool) {
	l, ok := p.labs[configurationID]
	return deep.Copy(l), ok
}

// LabKey returns a text that is equal for equal labs.
func LabKey(l spec.Lab) string {
	l.Labels = nil // added when it is brought up
	return textOf(l)
}

// deploy adds the time to bring up the lab of a trial, unless it is up. Its data are lost then.
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
		e.Guessed += seconds
		e.assume("changing the lab takes %d s (not measured yet)", assumedRedeploy)
	}
	e.Redeploys++
	e.Redeploying += seconds
	for _, s := range e.plan.sets {
		s.used = s.Loads > 0 // the data are lost with the lab
	}
}

func (e *estimator) spent() float64 {
	return e.Procedures + e.Loading + e.Measuring + e.Pauses + e.Redeploying
}

// redeployText says how often the lab is brought up, and what that means.
func (p *Plan) redeployText() []string {
	if p.Lab == nil || len(p.Trials) == 0 {
		return nil
	}
	times, different := stretches(p.Trials, p.keys)
	if different == 1 {
		return []string{fmt.Sprintf("the lab %s is brought up once and removed at the end; no factor changes it", p.Lab.Name)}
	}
	if p.Spec.Order == spec.OrderBatched {
		return []string{fmt.Sprintf("the lab %s is brought up %s (%d different labs), because trials of the same lab "+
			"follow each other. Its effect cannot be distinguished from a drift between the batches",
			p.Lab.Name, figure.Plural(times, "time"), different)}
	}
	text := fmt.Sprintf("the lab %s is brought up %s (%d different labs) and its data are loaded, whenever a trial needs "+
		"another lab than the previous trial", p.Lab.Name, figure.Plural(times, "time"), different)
	if n := len(p.Trials) - times; n > 0 {
		text += fmt.Sprintf(". The other %s the lab of the previous trial, with its caches",
			map[bool]string{true: "trial uses", false: fmt.Sprintf("%d trials use", n)}[n == 1])
	}
	return []string{text + ". order: batched would bring it up less often, but could not distinguish its effect from drift"}
}
