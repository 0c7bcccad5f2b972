package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/plimsoll-bench/plimsoll/lab/engine/enginetest"
	"github.com/plimsoll-bench/plimsoll/measure/limit"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/run"
	"github.com/plimsoll-bench/plimsoll/spec"
)

// limits are the planted limits of real servers on this machine. A trial plants one, measures a ladder of rates around
// the throughput of a closed loop, and asks what limits. The rules are those of measure/limit; they were frozen before
// the results that are stored.
type limits struct {
	mongod, version string
	dir             string
	disks           *disks
	sites           map[string]*site
	free            map[string]float64 // throughput of a closed loop, by row
	cores           float64            // that the plain server uses without a plant
	loaded          map[string]*record.FillResult
}

// limitFamily is what limits: each row is a planted limit. A trial with another label than the planted one did not find
// it; the matrix has that label.
func limitFamily() family {
	l := &limits{disks: &disks{}, sites: map[string]*site{}, free: map[string]float64{},
		loaded: map[string]*record.FillResult{}}
	f := family{name: "limit", verdict: limitVerdict, parallel: 1, matrix: true, start: l.start, resumes: true,
		about: func() string { return l.version }, notFound: []string{
			"two limits at the same time: the one that is nearer to its end is named",
			"flow control, and a cache that is too small: no plant of seconds is steady, so these labels need a change of a " +
				"capacity that confirms them",
		}}
	f.rows = append(f.rows,
		row{name: "nothing", honest: "30 % of what the server can do", goal: none, small: 0, full: 20, try: l.nothing})
	for _, p := range l.plants() {
		claim := atLeast(0.8)
		if p.notFound != "" {
			claim = unclaimed
		}
		for i, strength := range p.strengths {
			f.rows = append(f.rows, row{name: rowOfPlant(p, i), lie: fmt.Sprintf(p.lie, strength),
				plants: string(p.label), goal: claim, full: plantedTrials, try: l.trialOf(p, strength), notFound: p.notFound})
		}
	}
	return f
}

// rowOfPlant is the name of the row of a plant and one of its strengths.
func rowOfPlant(p plant, strength int) string { return fmt.Sprintf("%s-%d", p.name, strength+1) }

// start finds the servers. Those of a plant start with its first trial.
func (l *limits) start(ctx context.Context, c config) (stop func() error, err error) {
	if from := os.Getenv(enginetest.RealMongoVar); from != "" {
		l.mongod = filepath.Join(from, "mongod")
	} else if l.mongod, err = exec.LookPath("mongod"); err != nil {
		return nil, notHere("a real mongod is needed")
	}
	out, err := exec.Command(l.mongod, "--version").Output()
	if err != nil {
		return nil, fmt.Errorf("%s --version: %w", l.mongod, err)
	}
	first, _, _ := strings.Cut(string(out), "\n")
	l.version = "mongod " + strings.TrimPrefix(first, "db version v")
	l.dir = c.scratch
	_, err = l.disks.start(ctx, c)
	return l.stop, err
}

// asked is a run of one of the workloads.
func (l *limits) asked(uri, workload string) spec.Run {
	name, _, _ := strings.Cut(strings.TrimPrefix(workload, "name: "), "\n")
	return spec.Run{Target: uri, Database: "limit_" + name,
		Workload: spec.Workload{Name: name + ".yaml", File: &spec.WorkloadFile{Path: name + ".yaml", Text: workload},
			Seed: 1},
		Load: spec.Load{Workers: 64}}
}

// The times of a step.
const (
	stepWarmup  = 500 * time.Millisecond
	stepMeasure = 1900 * time.Millisecond // two samples or three
)

// shares are the rates of a ladder, by the throughput of a closed loop. Late operations are still sent at the end of a
// step, so a higher rate takes longer.
var shares = []float64{0.3, 0.75, 1.75}

// execute performs one step of a ladder, at a rate or as a closed loop.
func (l *limits) execute(ctx context.Context, t *trial, asked spec.Run, rate float64) (*record.Run, error) {
	dir, err := t.dir()
	if err != nil {
		return nil, err
	}
	asked.Load.Warmup, asked.Load.Duration = spec.Duration(stepWarmup), spec.Duration(stepMeasure)
	if rate > 0 {
		asked.Load.Rate, asked.Load.Arrivals, asked.Load.Late = spec.Rate(rate), "poisson", "queue"
	}
	if err := asked.Complete(); err != nil {
		return nil, err
	}
	data := asked.Target + asked.Database // each workload has its own
	r, err := run.Execute(ctx, asked, run.Options{Dir: filepath.Join(dir, "run"), Tool: record.Tool{Name: "liars"},
		Now: time.Now, Loaded: l.loaded[data]}) // counting the documents again takes long on a slow disk
	if err == nil {
		l.loaded[data] = r.Fill
	}
	return r, err
}

// closed is the throughput of a closed loop, measured before the first trial of a row.
func (l *limits) closed(ctx context.Context, t *trial, name string, asked spec.Run) (float64, error) {
	if x := l.free[name]; x > 0 {
		return x, nil
	}
	r, err := l.execute(ctx, t, asked, 0)
	if err != nil {
		return 0, err
	}
	x := r.Phase("measure").Rates.Achieved
	if x <= 0 {
		return 0, errors.New("nothing succeeded")
	}
	l.free[name] = x
	return x, nil
}

// ladder measures steps at shares of the throughput of a closed loop, and asks what limits.
func (l *limits) ladder(ctx context.Context, t *trial, most float64, asked spec.Run,
	shares ...float64) (limit.Limit, error) {
	var steps []limit.Step
	for _, share := range shares {
		r, err := l.execute(ctx, t, asked, share*most)
		if err != nil {
			return limit.Limit{}, err
		}
		s := r.LimitStep()
		t.say("%s", told(s))
		steps = append(steps, s)
	}
	got := limit.Decide(steps)
	t.say("throughput: %s %q, latency: %s %q, %s", got.Throughput, got.Throughput.Evidence, got.Latency,
		got.Latency.Evidence, got.Shape)
	return got, nil
}

// told is what a step shows, without what is not used and not there.
func told(s limit.Step) string {
	text := fmt.Sprintf("%.0f of %.0f/s, client %v", s.Achieved, s.Offered, s.Client)
	for _, name := range slices.Sorted(maps.Keys(s.Signals)) {
		if x := s.Signals[name]; x != 0 {
			text += fmt.Sprintf(", %s %.4g", name, x)
		}
	}
	for _, r := range s.Resources {
		if r.Used >= 0.01*r.Capacity {
			text += fmt.Sprintf("; %s of %s: %.2f of %.2f, throttled %.2f, waiting %.1f, each %.2g s, behind %v", r.Label,
				r.Where, r.Used, r.Capacity, r.Throttled, r.Waiting, r.Time, r.Behind)
		}
	}
	for _, x := range s.Secondaries {
		text += fmt.Sprintf("; %+v", x)
	}
	if s.Anatomy == nil {
		return text + "; no anatomy"
	}
	text += fmt.Sprintf("; %.3g operations, %.3g in servers:", s.Anatomy.Operations, s.Anatomy.InServer)
	for _, p := range s.Anatomy.Parts {
		text += fmt.Sprintf(" %s %.3g", p.Place, p.Operations)
	}
	return text
}

// nothing offers little: no limit may be named.
func (l *limits) nothing(ctx context.Context, t *trial) (answer, error) {
	asked, most, err := l.unlimited(ctx, t)
	if err != nil {
		return undecided, err
	}
	got, err := l.ladder(ctx, t, most, asked, 0.1, 0.2, 0.3)
	if err != nil {
		return undecided, err
	}
	switch t.named = string(got.Throughput.Label); got.Throughput.Label {
	case limit.None:
		return cleared, nil
	case limit.Unknown:
		return undecided, nil
	}
	return accused, nil
}

// unlimited is the run on the plain server without a plant, and its throughput as a closed loop.
func (l *limits) unlimited(ctx context.Context, t *trial) (asked spec.Run, most float64, err error) {
	s, err := l.at(ctx, plainSite, noDisk)
	if err != nil {
		return asked, 0, err
	}
	asked = l.asked(s.uri, scans)
	most, err = l.closed(ctx, t, "nothing", asked)
	return asked, most, err
}

func (l *limits) trialOf(p plant, strength float64) func(context.Context, *trial) (answer, error) {
	return func(ctx context.Context, t *trial) (answer, error) {
		asked, remove, err := p.set(ctx, t, strength)
		if remove != nil {
			defer remove()
		}
		if err != nil {
			return undecided, err
		}
		least := asked
		if p.workers > 0 {
			least.Load.Workers = p.workers
		}
		most, err := l.closed(ctx, t, fmt.Sprint(p.name, strength), least)
		if err != nil {
			return undecided, err
		}
		got, err := l.ladder(ctx, t, most, asked, shares[0], shares[1], cmp.Or(p.most, shares[2]))
		if err != nil {
			return undecided, err
		}
		answer := got.Throughput
		if p.latency {
			answer = got.Latency
		}
		switch t.named = string(answer.Label); answer.Label {
		case p.label:
			return accused, nil
		case limit.Unknown:
			return undecided, nil
		}
		return cleared, nil
	}
}
