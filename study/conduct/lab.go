package conduct

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"time"

	"github.com/plimsoll-bench/plimsoll/campaign"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/run"
	"github.com/plimsoll-bench/plimsoll/spec"
	"github.com/plimsoll-bench/plimsoll/study"
)

// studyLabel is the label of a lab with the directory of its study.
const studyLabel = "study"

// removeAtMost limits the time to remove the lab at the end.
const removeAtMost = 3 * time.Minute

// deployment is the lab of a study: one at a time, under one name.
type deployment struct {
	labs     run.Labs
	clock    study.Clock
	progress Progress
	dir      string // of the study
	up       string // key of the lab that this session brought up, "" for none
	left     string // why the lab could not be removed
	failed   bool   // the last trial on it failed, so a server may have been killed and be recovering
}

const (
	recoverAtMost = 2 * time.Minute
	recoverEvery  = 2 * time.Second // labs ask their members once a second
)

// recover waits after a failed trial until all members of the lab run and have a role again, for a limited time.
// The next trial would fail with the same recovery otherwise. A lab that does not exist does not recover.
func (d *deployment) recover(ctx context.Context, name string) {
	if !d.failed || d.labs == nil {
		return
	}
	d.failed = false
	for until := d.clock.Now().Add(recoverAtMost); d.clock.Now().Before(until); {
		if d.clock.Sleep(ctx, recoverEvery) != nil { // first: the lab may not have noticed yet
			return
		}
		if l, err := d.labs.Find(ctx, name); err == nil && (l == nil || whole(l)) || ctx.Err() != nil {
			return
		}
	}
	d.progress.Note(fmt.Sprintf("the lab %s has not recovered within %v; continuing", name, recoverAtMost))
}

// whole reports whether a lab is up and all its members run and have a role.
func whole(l *record.Lab) bool {
	return l.State == "up" && !slices.ContainsFunc(l.Members, func(m record.LabMember) bool {
		return m.State != "running" || m.Role == "unknown"
	})
}

// owner is the value of the label: the directory of the study, which no other study has.
func (d *deployment) owner() string {
	if dir, err := filepath.Abs(d.dir); err == nil {
		return dir
	}
	return d.dir
}

// ours reports whether this study brought a lab up. A lab without a specification is from a plimsoll that was killed at
// once, and is empty.
func (d *deployment) ours(l *record.Lab) bool {
	return l.Specification.Labels[studyLabel] == d.owner() || l.Specification.Name == "" && l.State != "up"
}

// needed reports whether a lab must be brought up for a trial. A lab of another session may have changed, so it is not
// reused.
func (d *deployment) needed(ctx context.Context, asked spec.Lab) (bool, error) {
	if d.labs == nil {
		return false, campaign.Wrong(errors.New("lab: this program cannot bring up labs. Use a lab that is running (run.target: lab:NAME)"))
	}
	l, err := d.labs.Find(ctx, asked.Name)
	switch {
	case ctx.Err() != nil:
		return false, campaign.Interruption(record.KindStudy, d.dir)
	case err != nil:
		return false, &campaign.Stop{Reason: campaign.Unreachable, Err: err, Text: fmt.Sprintf("cannot list the labs: %v. Then continue with: plimsoll study resume %s", err, d.dir)}
	case l != nil && !d.ours(l):
		return false, &campaign.Stop{Reason: campaign.NotOurs, Text: fmt.Sprintf(
			"the lab %s exists already, and this study did not bring it up. Remove it with: plimsoll lab down %s. Then continue with: "+
				"plimsoll study resume %s. Or begin a study with another name of the lab (lab.name)",
			asked.Name, asked.Name, d.dir)}
	case l != nil && l.State == "up" && d.up == study.LabKey(asked):
		return false, nil
	}
	d.up = ""
	return true, nil
}

// deploy replaces the lab. It returns the time in seconds, and the engine of the new lab.
func (d *deployment) deploy(ctx context.Context, asked spec.Lab,
	configuration string) (seconds float64, engine string, err error) {
	began := d.clock.Now()
	d.progress.Note("bringing up the lab " + asked.Name + " for " + configuration)
	marked := asked
	marked.Labels = maps.Clone(asked.Labels)
	if marked.Labels == nil {
		marked.Labels = map[string]string{}
	}
	marked.Labels[studyLabel] = d.owner()
	err = d.labs.Down(ctx, asked.Name)
	if err == nil {
		err = d.labs.Up(ctx, marked)
	}
	seconds = max(0, d.clock.Now().Sub(began).Seconds())
	if err != nil {
		return seconds, "", &run.Error{Stage: run.Filling, Err: fmt.Errorf("cannot bring up the lab %s: %w", asked.Name, err)}
	}
	if l, err := d.labs.Find(ctx, asked.Name); err == nil && l != nil {
		engine = l.EngineText()
	}
	d.up, d.failed = study.LabKey(asked), false
	return seconds, engine, nil
}

// remove removes the lab of the study, also if an earlier session brought it up.
func (d *deployment) remove(ctx context.Context, name string) {
	if d.labs == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), removeAtMost)
	defer cancel()
	l, err := d.labs.Find(ctx, name)
	if err == nil && (l == nil || !d.ours(l)) {
		return
	}
	if err == nil {
		d.progress.Note("removing the lab " + name)
		err = d.labs.Down(ctx, name)
	}
	d.up = ""
	if err != nil {
		d.left = fmt.Sprintf("the lab %s could not be removed: %v. Try again with: plimsoll lab down %[1]s", name, err)
		d.progress.Note(d.left)
	}
}

// redeployed returns how often the lab was brought up for trials, and the mean time in seconds.
func redeployed(trials []record.Trial) (mean float64, n int) {
	for _, t := range trials {
		if t.Redeployed > 0 {
			mean += t.Redeployed
			n++
		}
	}
	return mean / float64(max(n, 1)), n
}
