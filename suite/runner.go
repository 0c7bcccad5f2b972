package suite

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/plimsoll-bench/plimsoll/campaign"
	"github.com/plimsoll-bench/plimsoll/disk"
	"github.com/plimsoll-bench/plimsoll/drill"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/run"
	"github.com/plimsoll-bench/plimsoll/spec"
	"github.com/plimsoll-bench/plimsoll/study/conduct"
)

// Parts does parts as the commands of each alone would.
type Parts struct {
	// Conduct and Drill are the options of every study and drill; directories and abort come with the job.
	Conduct conduct.Options
	Drill   drill.Options
	// Pods opens the deployment in Kubernetes that a drill names, and replaces its target by an address. The result ends
	// the ways to it. It is nil in
	// tests.
	Pods func(ctx context.Context, asked *spec.Drill, o *drill.Options) (end func() error, err error)
	// Probe receives the progress of probes; nil for none.
	Probe disk.Progress
	// Labs and Volumes make the storage that probes look at; nil where there can be none.
	Labs    run.Labs
	Volumes Volumes
}

var _ Runner = (*Parts)(nil)

// Part does a part, or reads what is complete already.
func (p *Parts) Part(ctx context.Context, j Job) Outcome {
	var out Outcome
	switch {
	case j.Plan.Study != nil:
		out = p.study(ctx, j)
	case j.Plan.Drill != nil:
		out = p.drill(ctx, j)
	default:
		out = p.probe(ctx, j)
	}
	out.Conclusion = conclude(out)
	return out
}

// conclude returns the outcome of a part. Storage that lost acknowledged data counts as a drill with losses.
func conclude(out Outcome) record.Conclusion {
	switch {
	case out.Err != nil:
		return campaign.ConcludeError(out.Err)
	case out.Study != nil:
		return out.Study.Conclude()
	case out.Drill != nil:
		return out.Drill.Conclude()
	case disk.LostWrites(out.Probe):
		return record.WritesLost
	}
	return out.Probe.Conclude()
}

func (p *Parts) study(ctx context.Context, j Job) (out Outcome) {
	o := p.Conduct
	o.Dir, o.Abort, o.Budget, o.TakeLeft = j.Dir, j.Abort, j.Budget, j.TakeLeft
	if !j.Resume {
		out.Study, out.Err = conduct.Run(ctx, *j.Plan.Study, o)
		return out
	}
	have, err := record.OpenStudy(j.Dir)
	if err != nil {
		return Outcome{Err: err}
	}
	if record.HasHidden(have.Specification) || !have.Own(o.Key) {
		o.Spec = j.Plan.Study
	}
	out.Study, out.Err = conduct.Resume(ctx, j.Dir, o)
	return out
}

func (p *Parts) drill(ctx context.Context, j Job) (out Outcome) {
	if j.Resume {
		out.Drill, out.Err = record.OpenDrill(j.Dir)
		return out
	}
	o := p.Drill
	o.Dir, o.Run.Abort = j.Dir, j.Abort
	asked := *j.Plan.Drill
	if spec.InKubernetes(asked.Run.Target) {
		end, err := p.Pods(ctx, &asked, &o)
		if err != nil {
			return Outcome{Err: err}
		}
		defer func() { out.Err = errors.Join(out.Err, end()) }()
	}
	out.Drill, out.Err = drill.Run(ctx, asked, o)
	return out
}

// probe brings the volume of a probe up, looks at it, and removes it.
func (p *Parts) probe(ctx context.Context, j Job) (out Outcome) {
	if j.Resume {
		out.Probe, out.Err = record.OpenProbe(j.Dir)
		return out
	}
	if p.Labs == nil || p.Volumes == nil {
		return Outcome{Err: errors.New("this program cannot create volumes")}
	}
	lab, err := probeLab(j.Plan.Name, *j.Plan.Probe)
	if err != nil {
		return Outcome{Err: err}
	}
	owner := j.Dir
	if abs, err := filepath.Abs(owner); err == nil {
		owner = abs
	}
	lab.Labels = map[string]string{record.KindProbe: owner}
	if have, err := p.Labs.Find(ctx, lab.Name); err != nil || have != nil {
		return Outcome{Err: errors.Join(err, fmt.Errorf("the lab %s exists already. Remove it with: plimsoll lab down %[1]s", lab.Name))}
	}
	if err := p.Labs.Up(ctx, lab); err != nil {
		return Outcome{Err: fmt.Errorf("cannot create the volume: %w", err)}
	}
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), removeAtMost)
		defer cancel()
		if err := p.Labs.Down(ctx, lab.Name); err != nil {
			out.Err = errors.Join(out.Err, fmt.Errorf("the lab %s could not be removed: %w. Try again with: plimsoll lab down %[1]s",
				lab.Name, err))
		}
	}()
	dir, err := p.Volumes.Directory(ctx, lab.Name)
	if err != nil {
		return Outcome{Err: err}
	}
	return p.look(ctx, j, dir)
}

// removeAtMost limits the time to remove the lab of a probe.
const removeAtMost = 3 * time.Minute

// look probes a directory.
func (p *Parts) look(ctx context.Context, j Job, dir string) Outcome {
	asked, err := probeSpec(dir, *j.Plan.Probe)
	if err != nil {
		return Outcome{Err: err}
	}
	cutter, end, err := p.powerCut(ctx, j.Plan)
	if err != nil {
		return Outcome{Err: err}
	}
	defer end()
	release, err := record.Hold(j.Dir)
	if err != nil {
		return Outcome{Err: err}
	}
	defer release()
	w, err := record.CreateProbe(j.Dir, &record.Probe{Head: record.Head{Tool: p.Conduct.Tool, Command: p.Conduct.Command,
		Started:     time.Now().UTC(),
		Environment: record.NewEnvironment(map[string]string{"probe": dir})},
		Specification: asked})
	if err != nil {
		return Outcome{Err: err}
	}
	progress := p.Probe
	if progress == nil {
		progress = unheard{}
	}
	failed := disk.Run(ctx, disk.Options{Writer: w, Progress: progress, Cutter: cutter})
	status, problem := record.Complete, ""
	switch {
	case failed != nil:
		status, problem = record.Failed, failed.Error()
	case ctx.Err() != nil:
		status = record.Interrupted
	}
	err = errors.Join(failed, w.Finish(status, problem, time.Now()))
	return Outcome{Probe: w.Probe, Err: err}
}

type unheard struct{}

func (unheard) Step(string)               {}
func (unheard) Second(record.ProbeSecond) {}
func (unheard) Note(string)               {}
