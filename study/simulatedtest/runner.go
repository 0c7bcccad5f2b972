package simulatedtest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"

	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/spec"
	"github.com/plimsoll-bench/plimsoll/study"
)

// Runner makes trials of a [Target] up. The n-th trial of a runner depends on the target, the seed, n, the time on
// the clock and the specification alone. It is safe for concurrent use, one trial at a time.
type Runner struct {
	// Write leaves a record of each trial in the directory of its request.
	Write bool

	mu     sync.Mutex
	target Target
	clock  *Clock
	seed   uint64
	n      int
	noise  float64 // log of the factor of the last trial
	shape  table   // of response times in a closed loop
	counts []int64
}

var _ study.Runner = (*Runner)(nil)

// New returns a runner with a clock of its own.
func New(t Target, seed uint64) *Runner {
	t = t.withDefaults()
	return &Runner{target: t, clock: NewClock(), seed: seed, shape: logNormal(t.Spread)}
}

// Clock is the virtual time in which the trials take place.
func (r *Runner) Clock() *Clock { return r.clock }

// Trials is the number of trials so far.
func (r *Runner) Trials() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.n
}

// Trial makes a trial up. It returns an error only for [Trouble] and where the context has ended.
func (r *Runner) Trial(ctx context.Context, q study.Request) (study.Result, error) {
	if err := ctx.Err(); err != nil {
		return study.Result{}, err
	}
	r.mu.Lock()
	t, trouble := r.begin(q)
	r.mu.Unlock()
	switch {
	case trouble.Hang:
		select {
		case <-ctx.Done():
			return study.Result{}, ctx.Err()
		case <-q.Abort:
			return study.Result{}, errAborted
		}
	case trouble.Err != nil:
		r.clock.advance(r.target.Overhead)
		return study.Result{}, trouble.Err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	t.counts = r.counts
	intervals := t.intervals()
	r.counts = t.counts
	r.clock.advance(t.end + r.target.Overhead)
	return r.result(t, intervals, q)
}

var errAborted = errors.New("the simulated trial was aborted")

// begin decides what is random about a trial as a whole.
func (r *Runner) begin(q study.Request) (*trial, Trouble) {
	r.n++
	var trouble Trouble
	if r.target.Trouble != nil {
		trouble = r.target.Trouble(r.n, q)
	}
	rng := rand.New(rand.NewPCG(r.seed, uint64(r.n)))
	first := r.n == 1
	r.noise = next(rng, r.noise, r.target.Noise, r.target.NoiseAR, first)
	return newTrial(r, q.Spec, rng, trouble), trouble
}

// dims are the classes and outcomes of the intervals.
func (r *Runner) dims(asked spec.Run) measure.Dims {
	d := measure.Dims{Scheduled: asked.Load.Open(), Outcomes: outcomes}
	for _, c := range r.target.Classes {
		d.Classes = append(d.Classes, measure.Class{Name: c.Name})
	}
	return d
}

// outcomes are those of the simulation: an operation succeeds, or is refused.
var outcomes = []measure.Outcome{{Name: "ok", Success: true}, {Name: "overloaded"}}

// cores is the number of cores of the simulated client.
const cores = 4

// result sums a trial up the way a run does.
func (r *Runner) result(t *trial, intervals []*measure.Interval, q study.Request) (study.Result, error) {
	if r.Write && q.Dir != "" {
		return r.write(t, intervals, q)
	}
	d := r.dims(q.Spec)
	run := &record.Run{
		Head: record.Head{SchemaVersion: record.SchemaVersion, Kind: record.KindRun, Status: record.Complete,
			Tool: tool, Started: t.started, Environment: environment},
		Specification: q.Spec, Target: described(q.Spec), Classes: d.Classes, Outcomes: d.Outcomes,
		Scheduled: d.Scheduled, Phases: []record.PhaseResult{}, Files: []record.File{},
	}
	ended := t.started.Add(t.end)
	run.Ended = &ended
	var measured *measure.Summary
	for _, phase := range []string{"warmup", "measure"} {
		s := measure.NewSummary(d, phase)
		for _, iv := range intervals {
			if iv.Phase != phase {
				continue
			}
			if err := s.Add(iv); err != nil {
				return study.Result{}, err
			}
		}
		if len(s.Points) == 0 {
			continue
		}
		p, err := record.NewPhaseResult(s, cores)
		if err != nil {
			return study.Result{}, err
		}
		run.Phases, measured = append(run.Phases, p), s
	}
	e, err := r.judge(t, measured, q.Spec)
	run.Course, run.Objectives, run.Validity = e.Course, e.Objectives, e.Validity
	return study.Result{Run: run, Seconds: seconds(intervals), Intervals: each(intervals)}, err
}

// judge says what a run would say of itself.
func (r *Runner) judge(t *trial, s *measure.Summary, asked spec.Run) (record.Ending, error) {
	e := record.Ending{Status: record.Complete, Ended: t.started.Add(t.end)}
	e.Course = record.Course{WindowStart: int64(t.warmup), WindowEnd: int64(t.end), Offered: s.Offered,
		Sent: s.Ended().Attempted, EndedBy: t.endedBy}
	s.Unsent = t.unsent
	e.Course.Unsent = t.unsent
	e.Validity = measure.Judge(s, measure.Circumstances{Cores: cores, Cycle: r.target.Cycle})
	objectives, err := measure.ParseObjectives(strings.Join(asked.Objectives, ","))
	e.Objectives = measure.EvaluateAll(objectives, s)
	return e, err
}

// write leaves the record that a real run would, and returns what is in it.
func (r *Runner) write(t *trial, intervals []*measure.Interval, q study.Request) (study.Result, error) {
	w, err := record.CreateRun(q.Dir, tool, q.Spec)
	if err != nil {
		return study.Result{}, err
	}
	w.SetTarget(described(q.Spec))
	w.SetEnvironment(environment)
	if err := w.Begin(r.dims(q.Spec), t.started); err != nil {
		return study.Result{}, err
	}
	for _, iv := range intervals {
		if err := w.Interval(iv); err != nil {
			return study.Result{}, err
		}
	}
	s := w.Summary("measure")
	if s == nil {
		return study.Result{}, fmt.Errorf("the simulated trial in %s measured nothing: give it a duration or operations", q.Dir)
	}
	e, err := r.judge(t, s, q.Spec)
	if err != nil {
		return study.Result{}, err
	}
	run, err := w.Finish(e)
	return study.Result{Run: run, Seconds: seconds(intervals), Intervals: each(intervals)}, err
}

func each(intervals []*measure.Interval) func(func(*measure.Interval) error) error {
	return func(f func(*measure.Interval) error) error {
		for _, iv := range intervals {
			if err := f(iv); err != nil {
				return err
			}
		}
		return nil
	}
}

// tool and environment mark the records: nothing here happened.
var (
	tool        = record.Tool{Name: "plimsoll", Version: "simulated"}
	environment = record.Environment{OS: "simulated", Arch: "simulated", Threads: cores, Cores: cores, Go: "simulated", MaxProc: cores}
)

func described(asked spec.Run) record.Target {
	return record.Target{Address: asked.Target, Kind: "simulated", Notes: []string{"made up from programmed effects: nothing was loaded"}}
}

// seconds returns the course of the trial.
func seconds(intervals []*measure.Interval) func() ([]study.Second, error) {
	return func() ([]study.Second, error) {
		var list []study.Second
		for _, iv := range intervals {
			s := study.Second{Phase: iv.Phase, Start: iv.Start, Length: iv.End - iv.Start}
			for _, c := range iv.Classes {
				s.Rate += float64(c.Counts[0]) / s.Length.Seconds()
			}
			list = append(list, s)
		}
		return list, nil
	}
}
