package conduct

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/plimsoll-bench/plimsoll/internal/figure"
	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/run"
	"github.com/plimsoll-bench/plimsoll/spec"
	"github.com/plimsoll-bench/plimsoll/study"
)

// studyLabel is the label of a lab that says which study brought it up.
const studyLabel = "study"

// removeAtMost is how long removing the lab may take in the end.
const removeAtMost = 3 * time.Minute

// owner is the value of the label: the directory of the study, which no other study has.
func (c *conductor) owner() string {
	if dir, err := filepath.Abs(c.o.Dir); err == nil {
		return dir
	}
	return c.o.Dir
}

// ours reports whether this study brought a lab up. One that never came to say what it is was made by nobody else: only
// a plimsoll that was killed in its first moment leaves one, and there is nothing in it.
func (c *conductor) ours(l *record.Lab) bool {
	return l.Specification.Labels[studyLabel] == c.owner() || l.Specification.Name == "" && l.State != "up"
}

// labOf returns the lab that a trial needs, and whether the study has one.
func (c *conductor) labOf(j *job) (spec.Lab, bool) {
	if j.procedure != "" && c.plan.Lab != nil {
		return *c.plan.Lab, true
	}
	l, ok := c.labs[j.trial.Configuration]
	return l, ok
}

// needsLab reports whether a lab must be brought up for a trial. What was loaded into the one that is there is forgotten
// then. Only one that this session brought up is trusted: nobody knows what became of others in the meantime.
func (c *conductor) needsLab(ctx context.Context, j *job) (bool, error) {
	asked, ok := c.labOf(j)
	if !ok {
		return false, nil
	}
	if c.o.Labs == nil {
		return false, wrong(errors.New("lab: this command cannot bring labs up; load one that runs (run.target: lab:NAME)"))
	}
	l, err := c.o.Labs.Find(ctx, asked.Name)
	switch {
	case ctx.Err() != nil:
		return false, c.interrupted()
	case err != nil:
		return false, &Stop{Reason: Unreachable, Err: err, Text: fmt.Sprintf("the labs cannot be looked at: %v. Then go on with plimsoll study resume %s", err, c.o.Dir)}
	case l != nil && !c.ours(l):
		return false, &Stop{Reason: NotOurs, Text: fmt.Sprintf(
			"there is a lab %s that this study did not bring up: remove it (plimsoll lab down %s), then go on with plimsoll study resume %s; or begin a study whose lab has another name (lab.name)",
			asked.Name, asked.Name, c.o.Dir)}
	case l != nil && l.State == "up" && c.lab == study.LabKey(asked):
		return false, nil
	}
	c.lab = ""
	for place, state := range c.data {
		if strings.HasPrefix(place, spec.LabTarget(asked.Name)+" ") {
			c.data[place] = dataState{most: state.most}
		}
	}
	return true, nil
}

// deploy removes the lab that is there and brings up the one that a trial needs. It returns how many seconds that took.
func (c *conductor) deploy(ctx context.Context, j *job) (float64, error) {
	spec, _ := c.labOf(j)
	began := c.o.Clock.Now()
	c.o.Progress.Note("bringing up the lab " + spec.Name + " for " + j.trial.Configuration)
	labels := map[string]string{studyLabel: c.owner()}
	for name, value := range spec.Labels {
		if name != studyLabel {
			labels[name] = value
		}
	}
	spec.Labels = labels
	err := c.o.Labs.Down(ctx, spec.Name)
	if err == nil {
		err = c.o.Labs.Up(ctx, spec)
	}
	took := max(0, c.o.Clock.Now().Sub(began).Seconds())
	if err != nil {
		return took, &run.Error{Stage: run.Filling, Err: fmt.Errorf("the lab %s cannot be brought up: %w", spec.Name, err)}
	}
	if l, err := c.o.Labs.Find(ctx, spec.Name); err == nil && l != nil {
		c.study.Engine = l.EngineText()
	}
	spec, _ = c.labOf(j)
	c.lab = study.LabKey(spec)
	return took, nil
}

// removeLab removes what the study brought up, in this session or in one before.
func (c *conductor) removeLab(ctx context.Context) {
	if c.plan == nil || c.plan.Lab == nil || c.o.Labs == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), removeAtMost)
	defer cancel()
	name := c.plan.Lab.Name
	l, err := c.o.Labs.Find(ctx, name)
	if err == nil && (l == nil || !c.ours(l)) {
		return
	}
	if err == nil {
		c.o.Progress.Note("removing the lab " + name)
		err = c.o.Labs.Down(ctx, name)
	}
	c.lab = ""
	if err != nil {
		c.labLeft = fmt.Sprintf("the lab %s could not be removed: %v; plimsoll lab down %s tries again", name, err, name)
		c.o.Progress.Note(c.labLeft)
	}
}

// labFindings are those about the lab of the study.
func (c *conductor) labFindings() []measure.Finding {
	var all []measure.Finding
	if c.labLeft != "" {
		all = append(all, measure.Finding{ID: "lab-left", Severity: measure.Note, Text: c.labLeft})
	}
	if mean, n := c.redeployed(); n > 0 {
		all = append(all, measure.Finding{ID: "redeployed", Severity: measure.Note, Text: fmt.Sprintf(
			"the lab was brought up %s, %s each; the trial after that runs on servers that were just started", figure.Plural(n, "time"),
			figure.Duration(time.Duration(mean*float64(time.Second))))})
	}
	return all
}

// redeployed is how often the lab was brought up, and how many seconds that took on average.
func (c *conductor) redeployed() (mean float64, n int) {
	for _, t := range c.study.Trials {
		if t.Redeployed > 0 {
			mean += t.Redeployed
			n++
		}
	}
	return mean / float64(max(n, 1)), n
}

// redeployLeft is how long bringing labs up will take for the trials that are left.
func (c *conductor) redeployLeft() time.Duration {
	mean, _ := c.redeployed()
	last, n := c.lab, 0
	for _, t := range c.todo {
		l, ok := c.labs[t.Configuration]
		if !ok {
			return 0
		}
		if key := study.LabKey(l); key != last {
			last = key
			n++
		}
	}
	return time.Duration(mean * float64(n) * float64(time.Second))
}
