package capacity

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/plimsoll-bench/plimsoll/internal/figure"
	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/measure/stats"
	"github.com/plimsoll-bench/plimsoll/record"
)

// Where a rate comes from.
const (
	sourceCapacity = "capacity"
	sourceOpen     = "open"
	sourceClosed   = "closed"
)

const confidence = 0.95

// point is one load with the trials at it.
type point struct {
	source  string
	load    float64 // offered rate, or workers in a closed loop
	size    float64 // of the deployment, 0 if that was not varied
	trials  []trial
	rates   []float64 // achieved, one per trial
	verdict held
	why     string // what was missed or is unknown
	atLeast bool   // more may hold: what was offered held, and a search did not find where it no longer does
	behind  bool   // a trial did not keep up with its schedule, so that its response times are those of a growing queue
	results []record.SizeObjective
}

// held is whether a point meets the need.
type held int

const (
	holds held = iota
	untold
	misses
)

func (p *point) rate() (mean float64, iv stats.Interval, known bool) {
	if l := p.trials[0].line; l != nil {
		if l.Low == nil || l.High == nil {
			return l.Rate, iv, false
		}
		return l.Rate, stats.Interval{Low: *l.Low, High: *l.High}, true
	}
	return stats.GeoMean(p.rates, confidence)
}

// points groups the trials of a workload by load and size.
func (w *workloadRuns) points() []*point {
	var all []*point
	for _, t := range w.trials {
		p := &point{source: sourceClosed, load: float64(t.run.Phase("measure").Workers), size: t.size}
		if t.run.Scheduled && t.run.Phase("measure").Rates.Offered > 0 {
			p.source, p.load = sourceOpen, t.run.Phase("measure").Rates.Offered
			if r := float64(t.run.Specification.Load.Rate); r > 0 {
				p.load = r // the offered rate differs a little from trial to trial
			}
		}
		p.atLeast = p.source == sourceOpen
		if t.confirmed {
			p.source, p.atLeast = sourceCapacity, t.atLeast
		}
		rate := t.run.Phase("measure").Rates.Achieved
		if t.line != nil {
			rate, p.load = t.line.Rate, t.line.Rate
		}
		at := slices.IndexFunc(all, func(o *point) bool {
			return o.source == p.source && o.load == p.load &&
				o.size == p.size
		})
		if at < 0 {
			at, all = len(all), append(all, p)
		}
		all[at].trials = append(all[at].trials, t)
		all[at].rates = append(all[at].rates, rate)
	}
	return all
}

// judge checks the objectives of the need in every trial of the point.
func (p *point) judge(objectives []measure.Objective) error {
	for _, o := range objectives {
		p.results = append(p.results, record.SizeObjective{Objective: o.Text, N: len(p.trials), Unit: o.Unit})
	}
	for _, t := range p.trials {
		if err := p.judgeTrial(t, objectives); err != nil {
			return err
		}
	}
	return nil
}

func (p *point) judgeTrial(t trial, objectives []measure.Objective) error {
	if why := fellBehind(t.run.Phase("measure")); p.source != sourceClosed && why != "" {
		p.behind = true
		p.worsen(untold, why)
	}
	if t.searched != nil {
		for i, o := range objectives {
			p.judgeSearched(&p.results[i], o, t)
		}
		return nil
	}
	if len(objectives) == 0 {
		return nil
	}
	s, err := record.RebuildSummary(t.dir, "measure")
	if err != nil {
		return err
	}
	if s == nil {
		return unusable{t.dir + ": its latencies (latency.hlog) are missing, so objectives cannot be checked. Copy the whole directory of the record"}
	}
	for i, o := range objectives {
		p.judgeObjective(&p.results[i], o, o.Evaluate(s))
	}
	return nil
}

// judgeSearched judges an objective of a line without a step at it: it holds if the search had it, or a stricter one.
func (p *point) judgeSearched(to *record.SizeObjective, o measure.Objective, t trial) {
	if slices.ContainsFunc(t.searched, func(s measure.Objective) bool {
		return s.Class == o.Class && s.Kind == o.Kind && s.Metric == o.Metric && s.AtMost() == o.AtMost() &&
			(s.Limit == o.Limit || s.AtMost() == (s.Limit < o.Limit))
	}) {
		to.Met++
		return
	}
	to.Unknown++
	p.worsen(untold, fmt.Sprintf("whether %s holds at the %s is not known, because it was not among the objectives of the search. "+
		"Search again with --slo %s", o.Text, t.line.Words(), o.Text))
}

// fellBehind words how many of the offered operations were not done, "" if enough were. Operations in flight at the end
// count as done, because on average as many were in flight at any moment.
func fellBehind(phase *record.PhaseResult) string {
	underWay := phase.LittleInFlight
	if phase.InFlight != nil {
		underWay = max(underWay, *phase.InFlight)
	}
	done := (float64(phase.Ended.Attempted) + underWay) / float64(max(1, phase.Offered))
	worked := (float64(phase.Ended.Succeeded) + underWay) / float64(max(1, phase.Offered))
	switch offered := figure.Rate(phase.Rates.Offered); {
	case done < measure.MinSustained:
		return fmt.Sprintf("only %s of the %s/s offered finished in time, so the capacity is lower by an unknown amount", figure.Percent(done), offered)
	case worked < measure.MinSustained:
		return fmt.Sprintf("only %s of the %s/s offered succeeded, so the capacity is lower by an unknown amount", figure.Percent(worked), offered)
	}
	return ""
}

func (p *point) judgeObjective(to *record.SizeObjective, o measure.Objective, r measure.ObjectiveResult) {
	atMost := o.AtMost()
	if r.Measured != nil && (to.Worst == nil || atMost && *r.Measured > *to.Worst || !atMost && *r.Measured < *to.Worst) {
		x := *r.Measured
		to.Worst = &x
	}
	service := o.Unit == measure.UnitTime && o.Kind == "response" && p.source == sourceClosed
	switch {
	case r.Unknown:
		to.Unknown++
		p.worsen(untold, fmt.Sprintf("whether %s holds is not known: %s", o.Text, r.Why))
	case r.Met && service:
		to.Unknown++
		p.worsen(untold, fmt.Sprintf("whether %s holds was not measured, because a closed loop sends an operation only after the last one "+
			"was answered, so there is no queue as with real users", o.Text))
	case r.Met:
		to.Met++
	case p.behind: // at a load that it sustains, the value is unknown
		p.worsen(untold, fmt.Sprintf("%s is missed at a load that was not sustained: %s", o.Text, was(r)))
	default:
		p.worsen(misses, fmt.Sprintf("%s is missed: %s", o.Text, was(r)))
	}
}

// was words the figure of an objective that was missed.
func was(r measure.ObjectiveResult) string {
	if r.NoAnswer {
		return "no answer, because " + r.Why
	}
	return "it was " + figure.Value(*r.Measured, r.Unit)
}

func (p *point) worsen(v held, why string) {
	if v > p.verdict {
		p.verdict, p.why = v, why
	}
}

// best returns the point from which a size is made: the highest offered rate that held, or without an offered rate the
// highest throughput. If nothing holds, it returns the point with the best verdict.
func best(points []*point) (found *point) {
	for _, wanted := range []string{sourceCapacity, sourceOpen, sourceClosed} {
		for _, p := range points {
			if p.source == wanted && p.verdict == holds && (found == nil || higher(p, found) > 0) {
				found = p
			}
		}
		if found != nil {
			return found
		}
		if wanted == sourceOpen && slices.ContainsFunc(points, func(p *point) bool { return p.source != sourceClosed }) {
			break // an offered rate that did not hold says more than a throughput without a queue
		}
	}
	open := slices.ContainsFunc(points, func(p *point) bool { return p.source != sourceClosed })
	for _, p := range points {
		if open == (p.source != sourceClosed) && (found == nil || p.verdict < found.verdict) {
			found = p
		}
	}
	return found
}

func higher(a, b *point) int {
	x, _, _ := a.rate()
	y, _, _ := b.rate()
	return cmp.Compare(x, y)
}
