package study

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/plimsoll-bench/plimsoll/internal/figure"
	"github.com/plimsoll-bench/plimsoll/measure/stats"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/run"
	"github.com/plimsoll-bench/plimsoll/spec"
	"github.com/plimsoll-bench/plimsoll/study/search"
)

// The assumptions where nothing was measured. The estimate states those that it uses.
const (
	assumedRate     = 5_000    // operations per second of a run that operations end
	assumedFillRate = 20 << 20 // bytes of documents per second
	assumedOpening  = 500 * time.Millisecond
	assumedRecord   = 24 << 10 // bytes of a record without its intervals; measured: 15 to 26 KiB
	assumedInterval = 4 << 10  // bytes of a record per second; measured: 2.3 KiB where nothing varies
	targetPower     = 0.8      // a change is found in four cases of five
)

type estimator struct {
	*record.Estimate
	plan    *Plan
	options PlanOptions
	said    map[string]bool
	lab     string // the key of the lab that is up, "" for none
}

func (e *estimator) assume(format string, a ...any) {
	if text := fmt.Sprintf(format, a...); !e.said[text] {
		e.said[text] = true
		e.Assumptions = append(e.Assumptions, text)
	}
}

// estimate sets the plan's estimate, and adds notes about trials and data.
func (p *Plan) estimate(o PlanOptions) {
	e := &estimator{Estimate: &p.Estimate, plan: p, options: o, said: map[string]bool{}}
	metrics := len(p.Spec.Metrics)
	if metrics == 0 {
		metrics = 1 + 2*len(p.classes) // throughput, and mean and p99 of each class
	}
	e.Trials, e.Comparisons = len(p.Trials), len(p.Configurations)-1
	e.Verdicts = e.Comparisons * metrics
	if p.Spec.Procedures != nil {
		e.deploy(p.Configurations[0].ID)
		e.load(p.Configurations[0].ID)
	}
	e.procedures()
	e.trials()
	for _, s := range p.sets {
		e.DataSets = append(e.DataSets, s.DataSet)
		e.DataBytes += s.Bytes
	}
	e.Seconds = e.spent()
	if !o.OnlyTime {
		e.Power = p.power()
	}
	p.noteTrials()
	p.noteData()
	p.Notes = append(p.Notes, run.Notes(p.specs[p.Configurations[0].ID])...)
}

// trials adds the time of the trials in their order. A data set is loaded before its first trial.
func (e *estimator) trials() {
	lengths := map[string]float64{}
	for _, c := range e.plan.Configurations {
		lengths[c.ID] = e.length(e.plan.specs[c.ID].Load)
	}
	pause := (assumedOpening + e.plan.Spec.Settle.Std()).Seconds()
	records := assumedInterval * e.Procedures
	for _, t := range e.plan.Trials {
		e.Starts = append(e.Starts, e.spent())
		e.deploy(t.Configuration)
		e.load(t.Configuration)
		e.Measuring += lengths[t.Configuration]
		e.Guessed += e.guessed(e.plan.specs[t.Configuration].Load)
		e.Pauses += pause
		records += assumedRecord + assumedInterval*lengths[t.Configuration]
	}
	e.RecordBytes = int64(records)
	if len(e.plan.Trials) > 0 {
		e.assume("%s per trial to open, check the data and close", figure.Duration(assumedOpening))
	}
}

// load adds the time to load the data of a trial, if needed: if they are not there yet, if every trial reloads, or if a
// previous trial used up the keys of the inserts, as ycsb workloads do.
func (e *estimator) load(configuration string) {
	set, spec := e.plan.setOf[configuration], e.plan.specs[configuration]
	if spec.LoadPhase.Skip || set.Bytes == 0 {
		return
	}
	if set.Loads == 0 || spec.LoadPhase.Drop || set.used {
		rate := e.options.FillRate
		if rate <= 0 {
			rate = assumedFillRate
			e.Guessed += float64(set.Bytes) / rate
			e.assume("data are loaded at %s/s (not measured yet), and none are there", figure.Bytes(assumedFillRate))
		}
		set.Loads++
		set.used = false
		e.Loading += float64(set.Bytes) / rate
	}
	set.used = set.used || e.plan.inserts[configuration] && spec.Workload.Mode == "ycsb"
}

// The fewest trials for an interval of the median (2/2⁶ < 5 %), and for the rank test (2/(8 over 4) < 5 %).
const (
	fewestForMedian = 6
	fewestForRanks  = 4
)

// noteTrials warns of too few trials.
func (p *Plan) noteTrials() {
	n := p.Spec.Trials
	if len(p.Configurations) < 2 || n >= fewestForMedian {
		return
	}
	text := fmt.Sprintf("%s of each configuration: the 95 %% interval of a median needs %d", figure.Plural(int(n), "trial"),
		fewestForMedian)
	if n < fewestForRanks {
		text += fmt.Sprintf(", and the rank test needs %d", fewestForRanks)
	}
	if n < 2 {
		text += ". One trial gives no interval, so there can be no verdict"
	}
	p.Notes = append(p.Notes, text)
}

func (p *Plan) noteData() {
	seen := map[*dataSet]bool{}
	for _, c := range p.Configurations {
		set, spec := p.setOf[c.ID], p.specs[c.ID]
		if !p.inserts[c.ID] || seen[set] || set.Bytes == 0 || spec.LoadPhase.Drop || len(p.Trials) < 2 {
			continue
		}
		seen[set] = true
		if spec.Workload.Mode == "ycsb" {
			p.Notes = append(p.Notes, fmt.Sprintf("workload %s inserts the same keys in every trial, as YCSB does, so the data of "+
				"%s are reloaded after each", spec.Workload.Name, set.Target))
			continue
		}
		p.Notes = append(p.Notes, fmt.Sprintf("trials insert into %s of %s, so later trials have more documents. With reload: "+
			"true every trial begins with the same data", set.Collection, set.Target))
	}
	if slices.ContainsFunc(p.sets, func(s *dataSet) bool { return s.moved }) {
		p.Notes = append(p.Notes, fmt.Sprintf("the configurations need %d data sets. Those with other documents than the base "+
			"run get their own database (embedded: directory)", len(p.sets)))
	}
}

// length returns the estimated time of a load in seconds, with warm-up.
func (e *estimator) length(l spec.Load) float64 {
	if l.Operations == 0 {
		return Length(l, 0)
	}
	return Length(l, e.rate(l))
}

// guessed is the part of the length of a load that nothing was measured of: that of a closed loop until it did its
// operations.
func (e *estimator) guessed(l spec.Load) float64 {
	if l.Operations == 0 || e.options.Rate > 0 || !math.IsInf(Offered(l), 1) {
		return 0
	}
	return Length(l, assumedRate) - l.Warmup.Std().Seconds()
}

// Length returns the time of a load in seconds, with warm-up, at a rate in operations per second, which matters only if
// operations limit the load.
func Length(l spec.Load, rate float64) float64 {
	var measured time.Duration
	switch {
	case l.Duration > 0:
		measured = l.Duration.Std()
	case l.Operations == 0:
		for _, s := range l.Stages {
			measured += s.Duration.Std()
		}
	}
	seconds := measured.Seconds()
	if byOperations := float64(l.Operations) / rate; l.Operations > 0 && (seconds == 0 || byOperations < seconds) {
		seconds = byOperations
	}
	return l.Warmup.Std().Seconds() + seconds
}

// Offered returns the operations per second that a load offers, infinite if they are not limited.
func Offered(l spec.Load) float64 {
	switch {
	case l.Rate > 0:
		return float64(l.Rate)
	case l.Pace > 0 && l.Workers > 0:
		return float64(l.Pace) * float64(l.Workers)
	}
	return math.Inf(1)
}

// Lasting returns a load that is limited by a time, or the load as it is if that is 0.
func Lasting(l spec.Load, d spec.Duration) spec.Load {
	if d > 0 {
		l.Duration, l.Operations = d, 0
	}
	return l
}

// duration converts seconds.
func duration(seconds float64) spec.Duration {
	return spec.Duration(math.Round(seconds * float64(time.Second)))
}

// rate returns the assumed operations per second of a run.
func (e *estimator) rate(l spec.Load) float64 {
	limit, measured := Offered(l), e.options.Rate
	switch {
	case measured > 0:
		e.assume("runs limited by operations do %s ops/s, as measured", figure.Rate(measured))
	case math.IsInf(limit, 1):
		measured = assumedRate
		e.assume("runs limited by operations do %s ops/s (not measured yet)", figure.Rate(assumedRate))
	default:
		return limit
	}
	return min(limit, measured)
}

// procedures adds the longest time of the procedures.
func (e *estimator) procedures() {
	p := e.plan.Spec.Procedures
	if p == nil {
		return
	}
	load := e.plan.Base.Load
	each := (assumedOpening + e.plan.Spec.Settle.Std()).Seconds()
	with := func(d spec.Duration) float64 { return each + e.length(Lasting(load, d)) }
	if t := p.Threads; t != nil {
		levels := len(t.Levels)
		if levels == 0 {
			levels = 1
			for w := t.From; w < t.To; w *= 2 {
				levels++
			}
		}
		e.Procedures += float64(levels) * float64(t.Trials) * with(t.Duration)
	}
	if s := p.Steady; s != nil {
		for _, length := range SteadyLengths(s) {
			l := Lasting(load, duration(length))
			if s.By == "operations" {
				l.Duration, l.Operations = 0, spec.Count(length)
			}
			e.Procedures += float64(s.Trials) * (each + e.length(l))
		}
		e.assume("procedure steady goes up to its highest step, and trials are as long as in the base run")
	}
	if c := p.Capacity; c != nil {
		n := search.Planned
		if c.From == 0 {
			n++ // a closed loop
		}
		e.Procedures += float64(n) * with(c.Duration)
		e.Guessed += float64(n) * with(c.Duration)
		most := int(c.Steps) + 1
		e.assume("the search for the load line takes about %s if results are steady. If they scatter, it may take up to %d, which is %s "+
			"more than estimated", figure.Plural(n, "trial"), most, figure.Duration(time.Duration(float64(most-n)*with(c.Duration)*1e9)))
	}
}

// SteadyLengths returns the lengths that are tried, in seconds or operations.
func SteadyLengths(s *spec.Steady) []float64 {
	var out []float64
	for x := float64(s.From); len(out) < 1000; x *= s.Factor {
		out = append(out, min(x, float64(s.To)))
		if x >= float64(s.To) || s.Factor <= 1 {
			break
		}
	}
	return out
}

// power returns which changes comparisons within blocks could find. For comparisons between batches the drift is not
// known, so there is no power.
func (p *Plan) power() []record.Power {
	asked := &p.Spec
	within := 0
	for _, c := range p.Configurations[1:] {
		if asked.BatchOf(c.Levels) == asked.BatchOf(p.Configurations[0].Levels) {
			within++
		}
	}
	if within == 0 {
		return nil
	}
	alpha := 1 - float64(asked.Confidence)
	one := detectable(alpha, int(asked.Trials))
	each := detectable(alpha/float64(p.Estimate.Verdicts), int(asked.Trials))
	var out []record.Power
	for _, cv := range []float64{0.01, 0.03, 0.05} {
		out = append(out, record.Power{CV: cv, Effect: effect(one, cv), Corrected: effect(each, cv)})
	}
	return out
}

// sigma is the standard deviation of logarithms for a coefficient of variation of the values, if they are lognormal.
func sigma(cv float64) float64 { return math.Sqrt(math.Log1p(cv * cv)) }

// detectable returns the smallest change of logarithms, in units of their standard deviation, that is found with
// [targetPower]; infinite if none is. The power depends on this quotient only.
func detectable(alpha float64, trials int) float64 {
	const cv = 0.05
	low, high := 0.0, 100.0
	found := func(d float64) bool {
		return stats.Power(cv, math.Expm1(d*sigma(cv)), alpha, trials, true) >= targetPower
	}
	if !found(high) {
		return math.Inf(1)
	}
	for range 22 {
		if mid := (low + high) / 2; found(mid) {
			high = mid
		} else {
			low = mid
		}
	}
	return high
}

// effect converts a change in units of the standard deviation into one of values, nil beyond a factor of ten.
func effect(d, cv float64) *float64 {
	x := math.Expm1(d * sigma(cv))
	if x > 9 {
		return nil
	}
	x = math.Ceil(x*1e4) / 1e4 // equal on all machines
	return &x
}

func (p *Plan) checkBudget() error {
	budget, needed := p.Spec.Budget, p.Estimate.Seconds
	if p.Spec.UntilDecided { // it ends at its budget, if its first look is within that
		needed *= min(1, spec.FirstLook/float64(p.Spec.Trials))
	}
	if budget == 0 || needed <= budget.Std().Seconds() {
		return nil
	}
	return &BudgetError{Budget: budget, Needed: duration(p.Estimate.Seconds), Fits: p.fits()}
}

// fits says what would fit into the budget.
func (p *Plan) fits() string {
	e := p.Estimate
	if n := int(p.Spec.Trials); n > 0 {
		perTrial := (e.Measuring + e.Pauses) / float64(n)
		if p.Spec.Reload {
			perTrial += e.Loading / float64(n)
			e.Loading = 0
		}
		perTrial += e.Redeploying / float64(n)
		left := p.Spec.Budget.Std().Seconds() - e.Procedures - e.Loading
		if fit := int(left / perTrial); fit >= 1 {
			text := fmt.Sprintf("%s of each configuration would fit (trials: %d)", figure.Plural(fit, "trial"), fit)
			if fit < 6 {
				text += ", which is too few for a verdict. Better remove levels, or shorten load.duration"
			}
			return text
		}
	}
	return "not even one trial of each configuration would fit. Remove levels or procedures, or shorten load.duration"
}
