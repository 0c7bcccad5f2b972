// Package procedure finds settings before a study compares: how many workers saturate the target ([Threads]), how long
// a run must be ([Steady]), and which rate the target carries ([Capacity]).
//
// A procedure chooses the next trial from the measured ones, and reports its rule. [Try] runs a trial, writes its
// record, and returns trials that an earlier, interrupted procedure measured. A procedure requests the same trials in
// the same order for the same results.
package procedure

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/plimsoll-bench/plimsoll/internal/figure"
	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/measure/stats"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/spec"
	"github.com/plimsoll-bench/plimsoll/study"
)

// Try runs one trial of a procedure. what is a different name for each trial. A trial that failed or timed out is a
// result, too; its status says so. Any other error ends the procedure, which returns it with the result so far.
type Try func(ctx context.Context, asked spec.Run, what string) (study.Result, record.Trial, error)

// confidence is the level of all intervals of procedures.
const confidence = 0.95

// mostErrors is the share of failed operations above which a trial does not count.
const mostErrors = 0.01

type outcome struct {
	record    string
	run       *record.Run // nil if there is no result
	seconds   func() ([]study.Second, error)
	intervals Intervals
	rate      float64  // achieved operations per second
	p99       *float64 // response time in ns, nil if it cannot be stated
	errors    float64  // share of the attempted operations that did not succeed
	problem   string   // why it does not count, "" if it does
	findings  []measure.Finding
}

// attempt runs a trial and reads its result.
func attempt(ctx context.Context, try Try, asked spec.Run, what string) (outcome, error) {
	if err := ctx.Err(); err != nil {
		return outcome{}, err
	}
	result, trial, err := try(ctx, asked, what)
	failed := trial.Status == record.TrialFailed || trial.Status == record.TrialTimeout
	if err != nil && ctx.Err() != nil {
		return outcome{}, fmt.Errorf("%s: %w", what, errors.Join(ctx.Err(), err)) // however the trial calls it
	}
	if err != nil && !failed {
		return outcome{}, fmt.Errorf("%s: %w", what, err)
	}
	o := outcome{record: trial.Record, seconds: result.Seconds, intervals: result.Intervals, problem: trial.Problem}
	if o.problem == "" && err != nil {
		o.problem = err.Error()
	}
	if failed {
		o.problem = cmp.Or(o.problem, "it ended as "+string(trial.Status))
		return o, nil
	}
	o.read(result.Run)
	return o, nil
}

// read reads the result of a run.
func (o *outcome) read(run *record.Run) {
	if run == nil {
		o.problem = "it left no result"
		return
	}
	o.run, o.findings = run, run.Validity
	p := run.Phase("measure")
	if p == nil || p.Ended.Attempted == 0 {
		o.problem = "no operation ended in its measured time"
		return
	}
	o.rate = p.Rates.Achieved
	if l := p.All.Response; l != nil && l.P99 != nil {
		x := float64(*l.P99)
		o.p99 = &x
	}
	o.errors = float64(p.Counts.Bad()) / float64(max(1, p.Counts.Attempted))
	if run.Status != record.Complete && run.Status != "" {
		o.problem = cmp.Or(run.Problem, "its run ended as "+string(run.Status))
	}
	for _, f := range o.findings {
		if f.Severity == measure.Invalid && unbelievable(f.ID) {
			o.problem = "its run is not to be believed (" + f.ID + ")"
		}
	}
}

// unbelievable reports whether a finding means that the values are wrong.
func unbelievable(id string) bool {
	return slices.Contains([]string{"not-counted", "corrupt", "littles-law", "nothing", "nothing-succeeded"}, id)
}

// Findings that the load generator may limit the rate, or may delay answers.
var (
	limitsRate = []string{"client-cpu", "client-limited", "client-lost", "clients-lost", "pool-wait", "abandoned"}
	addsTime   = []string{"client-scheduler", "client-gc", "schedule-lateness"}
)

// blames returns which of these findings a trial has, except notes.
func (o *outcome) blames(ids ...string) []string {
	var found []string
	for _, f := range o.findings {
		if f.Severity != measure.Note && slices.Contains(ids, f.ID) {
			found = append(found, f.ID)
		}
	}
	return found
}

// counts reports whether the throughput of the trial can be used: it has a result, and operations succeeded.
func (o *outcome) counts() bool { return o.problem == "" && o.rate > 0 && o.errors <= mostErrors }

// why returns why a trial does not count.
func (o *outcome) why() string {
	switch {
	case o.problem != "":
		return o.problem
	case o.errors > mostErrors:
		return figure.Percent(o.errors) + " of its operations failed"
	}
	return "no operation succeeded"
}

// point is one value that was tried, with its trials.
type point struct {
	record.ProcedurePoint
	rates  []float64 // of the trials that count
	trials []outcome
	notes  []string
}

// add adds a trial.
func (p *point) add(o outcome) {
	p.trials = append(p.trials, o)
	if o.record != "" {
		p.Trials = append(p.Trials, o.record)
	}
	if !o.counts() {
		p.note("a trial does not count: " + o.why())
		return
	}
	p.rates = append(p.rates, o.rate)
}

// note adds a note, once.
func (p *point) note(text string) {
	if !slices.Contains(p.notes, text) {
		p.notes = append(p.notes, text)
	}
	p.Note = strings.Join(p.notes, "; ")
}

// sum sets the values over all trials: the geometric mean of throughput, the median of the trials' own p99.
func (p *point) sum() {
	p.N = len(p.rates)
	if p.N == 0 {
		return
	}
	mean, iv, ok := stats.GeoMean(p.rates, confidence)
	p.Throughput = mean
	if ok {
		p.Low, p.High = &iv.Low, &iv.High
	}
	var p99 []float64
	for _, o := range p.trials {
		if o.counts() && o.p99 != nil {
			p99 = append(p99, *o.p99)
		}
	}
	if len(p99) > 0 {
		m := measure.Median(p99)
		p.P99 = &m
	}
}

// blamed returns the findings of at least half of the counting trials.
func (p *point) blamed(ids ...string) []string {
	times := map[string]int{}
	for _, o := range p.trials {
		if o.counts() {
			for _, id := range slices.Compact(o.blames(ids...)) {
				times[id]++
			}
		}
	}
	var found []string
	for _, id := range ids {
		if n := times[id]; n > 0 && 2*n >= p.N {
			found = append(found, id)
		}
	}
	return found
}

// points returns the points as they are stored.
func points(list []*point) []record.ProcedurePoint {
	stored := []record.ProcedurePoint{}
	for _, p := range list {
		stored = append(stored, p.ProcedurePoint)
	}
	return stored
}

func distinct(ids []string) []string { return slices.Compact(slices.Sorted(slices.Values(ids))) }

// closedLoop turns an open loop into a closed one, which shows saturation.
func closedLoop(l *spec.Load) {
	l.Rate, l.Arrivals, l.Late, l.DropAfter = 0, "", "", 0
}
