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

// minAchieved is the share of what was offered that a deployment must have done to have carried it.
const minAchieved = 0.99

// confidence of all intervals of sizes.
const confidence = 0.95

// point is one load and what the trials at it did.
type point struct {
	source  string
	load    float64 // offered rate, or workers in a closed loop
	size    float64 // of the deployment, 0 if that was not varied
	trials  []trial
	rates   []float64 // achieved, one per trial
	verdict held
	why     string // what was missed, or cannot be told
	behind  bool   // a trial did not keep up with its schedule, so that its response times are those of a growing queue
	results []record.SizeObjective
}

// held says whether a point holds what is needed.
type held int

const (
	holds held = iota
	untold
	misses
)

// rate returns the geometric mean with its interval, if there is one.
func (p *point) rate() (mean float64, iv stats.Interval, known bool) {
	return stats.GeoMean(p.rates, confidence)
}

// openLoop says whether operations of a run fell due by a schedule.
func openLoop(r *record.Run) bool { return r.Scheduled && r.Phase("measure").Rates.Offered > 0 }

// points puts the trials of a workload together that had the same load and size.
func (w *workloadRuns) points() []*point {
	var all []*point
	for _, t := range w.trials {
		p := &point{source: sourceClosed, load: float64(t.run.Phase("measure").Workers), size: t.size}
		if openLoop(t.run) {
			p.source, p.load = sourceOpen, t.run.Phase("measure").Rates.Offered
			if r := float64(t.run.Specification.Load.Rate); r > 0 {
				p.load = r // what was asked: the offered one differs a little from trial to trial
			}
		}
		if t.confirmed {
			p.source = sourceCapacity
		}
		at := slices.IndexFunc(all, func(o *point) bool {
			return o.source == p.source && o.load == p.load &&
				o.size == p.size
		})
		if at < 0 {
			at, all = len(all), append(all, p)
		}
		all[at].trials = append(all[at].trials, t)
		all[at].rates = append(all[at].rates, t.run.Phase("measure").Rates.Achieved)
	}
	return all
}

// judge holds the objectives of the need against every trial of the point.
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
	if len(objectives) == 0 {
		return nil
	}
	s, err := record.RebuildSummary(t.dir, "measure")
	if err != nil {
		return err
	}
	if s == nil {
		return unusable{t.dir + ": its intervals are gone, so objectives cannot be checked"}
	}
	s.Unsent = t.run.Course.Unsent
	for i, o := range objectives {
		p.judgeObjective(&p.results[i], o, o.Evaluate(s))
	}
	return nil
}

// fellBehind says what was left of the offered operations, "" if enough were done. What is under way when the time is
// over is not behind: on average as much was under way at any moment. The finding of a run that does not sustain its
// schedule counts alike.
func fellBehind(phase *record.PhaseResult) string {
	underWay := phase.LittleInFlight
	if phase.InFlight != nil {
		underWay = max(underWay, *phase.InFlight)
	}
	done := (float64(phase.Ended.Attempted) + underWay) / float64(max(1, phase.Offered))
	worked := (float64(phase.Ended.Succeeded) + underWay) / float64(max(1, phase.Offered))
	switch offered := figure.Rate(phase.Rates.Offered); {
	case done < minAchieved:
		return fmt.Sprintf("only %s of the %s/s offered finished in time, so the capacity is lower by an unknown amount", figure.Percent(done), offered)
	case worked < minAchieved:
		return fmt.Sprintf("only %s of the %s/s offered succeeded, so the capacity is lower by an unknown amount", figure.Percent(worked), offered)
	}
	return ""
}

func (p *point) judgeObjective(to *record.SizeObjective, o measure.Objective, r measure.ObjectiveResult) {
	if r.Measured != nil && (to.Worst == nil || worse(o, *r.Measured, *to.Worst)) {
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
	case p.behind: // by how much at a load that it carries, nobody knows
		p.worsen(untold, fmt.Sprintf("%s is missed at a load that was not sustained: it was %s", o.Text, figure.Value(*r.Measured, o.Unit)))
	default:
		p.worsen(misses, fmt.Sprintf("%s is missed: it was %s", o.Text, figure.Value(*r.Measured, o.Unit)))
	}
}

// worse says whether a misses the objective by more than b.
func worse(o measure.Objective, a, b float64) bool {
	if o.Op == "<" || o.Op == "<=" {
		return a > b
	}
	return a < b
}

func (p *point) worsen(v held, why string) {
	if v > p.verdict {
		p.verdict, p.why = v, why
	}
}

// best returns the point that a size is made from: the highest rate that was offered and held, or, where no load was
// offered, the most that was reached. sure is false if another one must do because nothing holds.
func best(points []*point) (p *point, sure bool) {
	var found *point
	for _, wanted := range []string{sourceCapacity, sourceOpen, sourceClosed} {
		for _, p := range points {
			if p.source == wanted && p.verdict == holds && (found == nil || higher(p, found) > 0) {
				found = p
			}
		}
		if found != nil {
			return found, true
		}
		if wanted == sourceOpen && slices.ContainsFunc(points, func(p *point) bool { return p.source != sourceClosed }) {
			break // what was offered and did not hold weighs more than what was reached without a queue
		}
	}
	open := slices.ContainsFunc(points, func(p *point) bool { return p.source != sourceClosed })
	for _, p := range points {
		if open == (p.source != sourceClosed) && (found == nil || p.verdict < found.verdict) {
			found = p
		}
	}
	return found, false
}

func higher(a, b *point) int {
	x, _, _ := a.rate()
	y, _, _ := b.rate()
	return cmp.Compare(x, y)
}
