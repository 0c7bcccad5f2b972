package procedure

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/plimsoll-bench/plimsoll/internal/figure"
	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/measure/stats"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/spec"
	"github.com/plimsoll-bench/plimsoll/study"
)

// Limits of the search for a capacity.
const (
	mostDescent = 12 // steps down from a first rate that does not hold
	mostAscent  = 40 // steps up
	mostReturns = 2  // times that the search goes up again because a rate above the found one held
)

// Capacity finds the highest offered rate at which at least 99 % of the offered operations succeed in time and every
// objective holds (a percentile above p99 is missed with fewer failures, see [measure.Due]): a ramp until a rate fails,
// bisection down to the precision, then new trials of that rate in random order with trials above and below it, so that
// luck, drift and previous trials do not decide. All of them must hold, and the lower end of the interval of the
// achieved share must be at least 99 %; otherwise the rate is lowered by the precision and confirmed again. The result
// is a measured rate, never a computed one.
//
// If the load generator may be the reason for a failed rate, that is not the limit of the target: if only such rates
// are above the result, it says "at least". The first failed rate of a ramp is tried again, because one disturbance
// would otherwise end the search far below the capacity. Objectives for the rate are ignored, because the capacity is
// the answer.
//
// Without From, a closed loop determines the first rate; without To, the ramp ends at the first rate that fails. Both
// are rounded to three digits, as all rates are.
func Capacity(ctx context.Context, base spec.Run, objectives []string, asked spec.CapacitySearch,
	try Try) (record.CapacityResult, error) {
	c := &capacity{ctx: ctx, base: base, spec: asked, try: try}
	c.result.Objectives, c.result.Steps = append([]string{}, objectives...), []record.CapacityStep{}
	err := c.judgeBy(objectives)
	if err != nil {
		return c.result, err
	}
	c.base.Load = study.Lasting(base.Load, asked.Duration)
	c.base.Load.Pace = 0
	// The order of the confirming trials must be the same when an interrupted search is resumed.
	c.rng = rand.New(rand.NewPCG(base.Workload.Seed, 0x706c696d736f6c6c))
	err = c.search()
	if err != nil && c.result.Reason == "" {
		c.result.Reason = "the search ended early: " + err.Error()
	}
	return c.result, err
}

// capacity is a search for a rate.
type capacity struct {
	ctx    context.Context
	base   spec.Run
	spec   spec.CapacitySearch
	try    Try
	rng    *rand.Rand
	result record.CapacityResult
	tries  []probe // of all rates, in order
	unsure float64 // the last rate at which all trials held, but with a lower bound that is too low
	notes  []string
}

// probe is the result of one trial.
type probe struct {
	number int // of the trial in the search
	rate   float64
	share  float64 // of the offered operations that succeeded in time
	holds  bool
	untold bool // nothing failed, but there were too few operations for some objective
	missed string
	client []string // findings about the load generator, if the trial failed
	busy   bool     // all workers were busy, so more workers may reach more
	doubts []string // findings of a trial that held
}

// judgeBy sets the objectives of the trials.
func (c *capacity) judgeBy(objectives []string) error {
	parsed, err := measure.ParseObjectives(strings.Join(objectives, ","))
	if err != nil {
		return fmt.Errorf("the procedure capacity: %w", err)
	}
	c.base.Objectives = nil
	for _, o := range parsed {
		if o.Metric != "rate" {
			c.base.Objectives = append(c.base.Objectives, o.Text)
		}
	}
	return nil
}

func (c *capacity) search() error {
	from := float64(c.spec.From)
	if from == 0 {
		var err error
		if from, err = c.closedLoop(); err != nil || from == 0 {
			return err
		}
	}
	low, high, err := c.ramp(c.within(c.rounded(from)), 0)
	for returns := 0; err == nil && low > c.result.Rate; returns++ {
		if high > 0 {
			low, err = c.bisect(low, high)
		}
		again := false
		if err == nil && low > c.result.Rate {
			again, err = c.confirm(low)
		}
		if err != nil || !again || returns == mostReturns {
			break
		}
		// A rate well above the confirmed one held: what was missed below it was not the limit.
		low, high, err = c.ramp(c.within(c.rounded(c.result.Rate*above)), c.result.Rate)
	}
	if err == nil {
		c.conclude()
	}
	return err
}

// closedLoop runs a short trial without a rate. The ramp begins at half of its throughput.
func (c *capacity) closedLoop() (float64, error) {
	spec := c.base
	closedLoop(&spec.Load)
	spec.Objectives = nil
	what := "closed loop"
	if spec.Load.Replay != "" {
		what = "the recording at its own speed"
	}
	o, err := attempt(c.ctx, c.try, spec, "capacity: "+what+", to see where to begin")
	if err != nil {
		return 0, err
	}
	step := record.CapacityStep{Phase: "probe", Achieved: o.rate, P99: o.p99, Errors: o.errors, Trial: o.record,
		Holds: o.counts()}
	if !step.Holds {
		step.Missed = o.why()
		c.result.Reason = "the first trial, which determines where to begin, has no result (" + o.why() +
			"). Set the rate from which to search (from)"
	}
	c.result.Steps = append(c.result.Steps, step)
	if !step.Holds {
		return 0, nil
	}
	return o.rate / 2, nil
}

// ramp raises the rate until it fails twice or the highest allowed rate holds. Rates with too few operations for an
// objective are skipped. If no rate held before the first failure, it goes down from there, but not to a rate that is
// known to hold. low is the highest rate that held, 0 if none did; high is the lowest failed rate above it, 0 if none.
func (c *capacity) ramp(from, known float64) (low, high float64, err error) {
	growth := float64(c.spec.Growth)
	low = known
	for rate, up := from, 0; up < mostAscent; up++ {
		p, err := c.at("ramp", rate)
		if err == nil && !p.holds && !p.untold {
			p, err = c.at("ramp", rate)
		}
		if err != nil {
			return low, high, err
		}
		if !p.holds && !p.untold {
			high = rate
			break
		}
		if p.holds {
			low = rate
		}
		next := c.within(c.rounded(rate * growth))
		if next <= rate {
			return low, 0, nil // the highest allowed rate holds
		}
		rate = next
	}
	for rate, down := high, 0; low == 0 && high > 0 && down < mostDescent; down++ {
		rate = c.rounded(rate / growth)
		p, err := c.at("ramp", rate)
		if err != nil || p.untold {
			return 0, high, err
		}
		if p.holds {
			low = rate
		} else {
			high = rate
		}
	}
	return low, high, nil
}

// bisect narrows the range between a rate that held and one that failed, and returns the highest that held.
func (c *capacity) bisect(low, high float64) (float64, error) {
	for high/low > 1+float64(c.spec.Precision) {
		rate := c.rounded(math.Sqrt(low * high))
		if rate <= low || rate >= high {
			break
		}
		p, err := c.at("bisect", rate)
		if err != nil {
			return low, err
		}
		if p.holds {
			low = rate
		} else {
			high = rate
		}
	}
	return low, nil
}

// above and below are the rates around the found one that are tried between its confirming trials, as its multiples.
const above, below = 1.1, 0.9

// stepsDown is the number of steps of the precision by which the rate is lowered after each failed round. It grows, so
// that noisy targets need few rounds. If the rate is too low then, the search goes up again.
var stepsDown = []float64{1, 1, 2, 3, 4, 6, 8}

// confirm tries a rate again and lowers it until all trials hold, or until a confirmed rate is reached. again is true
// if every trial well above it held, so the search went wrong.
func (c *capacity) confirm(rate float64) (again bool, err error) {
	for round := 0; rate > c.result.Rate; round++ {
		held, low, upper, err := c.round(rate)
		if err != nil {
			return false, err
		}
		if held {
			c.result.Rate, c.result.Confirmed, c.result.Low = rate, true, low
			return upper, nil
		}
		if round == len(stepsDown) {
			break
		}
		rate = c.rounded(rate * math.Pow(1-float64(c.spec.Precision), stepsDown[round]))
	}
	return false, nil
}

// round runs one round of confirming trials around a rate, and ends with the first failure at the rate itself. low is
// the lower end of the interval of the achieved rate, nil for a single trial. upper is true if the trials well above it
// held, too.
func (c *capacity) round(rate float64) (held bool, low *float64, upper bool, err error) {
	var shares []float64
	ups, upHeld := 0, 0
	for _, factor := range c.order(rate) {
		p, err := c.at("confirm", c.rounded(rate*factor))
		if err != nil {
			return false, nil, false, err
		}
		switch {
		case factor == above:
			ups++
			if p.holds {
				upHeld++
			}
		case factor == 1 && !p.holds:
			return false, nil, false, nil
		case factor == 1:
			shares = append(shares, p.share)
		}
	}
	if mean, iv, ok := stats.GeoMean(shares, confidence); ok {
		if iv.Low < measure.MinSustained {
			c.unsure = rate
			c.note(fmt.Sprintf("at %s/s all trials held, but they achieved %s of the offered rate with a lower bound of %s",
				figure.Rate(rate), figure.Percent(mean), figure.Percent(iv.Low)))
			return false, nil, false, nil
		}
		x := rate * iv.Low
		low = &x
	}
	return true, low, ups > 0 && upHeld == ups, nil
}

// order returns the random order of the trials of a round, as multiples of the rate.
func (c *capacity) order(rate float64) []float64 {
	n := int(c.spec.Confirm)
	factors := slices.Repeat([]float64{1}, n)
	for range (n + 2) / 3 {
		factors = append(factors, below)
		if c.within(c.rounded(rate*above)) == c.rounded(rate*above) {
			factors = append(factors, above)
		}
	}
	c.rng.Shuffle(len(factors), func(i, j int) { factors[i], factors[j] = factors[j], factors[i] })
	return factors
}

// at runs a trial at a rate.
func (c *capacity) at(phase string, rate float64) (probe, error) {
	asked := c.base
	asked.Load.Rate, asked.Load.Speed = spec.Rate(rate), 0
	if asked.Load.Arrivals == "" && asked.Load.Replay == "" {
		asked.Load.Arrivals = "poisson"
	}
	if asked.Load.Late == "" {
		asked.Load.Late = "queue"
	}
	what := fmt.Sprintf("capacity: %s %d, %s/s", phase, len(c.tries)+1, figure.Rate(rate))
	o, err := attempt(c.ctx, c.try, asked, what)
	if err != nil {
		return probe{}, err
	}
	p := judge(o, rate)
	p.number = len(c.tries)
	c.tries = append(c.tries, p)
	step := record.CapacityStep{
		Phase: phase, Offered: rate, Achieved: o.rate, P99: o.p99, Errors: o.errors, Holds: p.holds, Missed: p.missed,
		Trial: o.record,
	}
	if len(p.client) > 0 {
		step.Missed += ". The load generator may be the reason (" + strings.Join(p.client, ", ") + ")"
	}
	c.result.Steps = append(c.result.Steps, step)
	return p, nil
}

// judge decides whether a trial held its rate and its objectives, and whether the load generator may be the reason if
// not.
func judge(o outcome, rate float64) probe {
	p := probe{rate: rate}
	if o.problem != "" {
		p.missed, p.client = o.problem, o.blames(append(limitsRate, "not-counted", "littles-law")...)
		return p
	}
	p.busy = underWay(o) >= 0.95*float64(o.run.Specification.Load.Workers)
	var missed []string
	unknown := 0
	if p.share = share(o); p.share < measure.MinSustained {
		missed = append(missed, figure.Percent(p.share)+" of the offered operations succeeded in time")
		p.client = append(p.client, o.blames(limitsRate...)...)
	}
	if o.errors > mostErrors {
		missed = append(missed, o.why())
	}
	for _, text := range o.run.Specification.Objectives {
		i := slices.IndexFunc(o.run.Objectives, func(r measure.ObjectiveResult) bool { return r.Objective == text })
		switch {
		case i < 0:
			missed = append(missed, text+" was not evaluated")
		case fromOneMoment(o.run.Objectives[i]): // confirming trials show whether it is chance
		case !o.run.Objectives[i].Met:
			if r := o.run.Objectives[i]; r.Unknown && !r.OneMoment {
				unknown++
			}
			missed = append(missed, told(o.run.Objectives[i]))
			p.client = append(p.client, o.blames(slices.Concat(limitsRate, addsTime)...)...)
		}
	}
	p.client = distinct(p.client)
	p.untold = unknown > 0 && len(missed) == unknown
	if p.missed = strings.Join(missed, "; "); p.missed == "" {
		p.holds = true
		p.doubts = o.blames("not-steady", "latency-drift", "throughput-variation", "outage")
	}
	return p
}

// fromOneMoment reports whether an objective holds in this trial, with the slowest operations from few moments.
func fromOneMoment(r measure.ObjectiveResult) bool {
	parsed, err := measure.ParseObjectives(r.Objective)
	return r.OneMoment && r.Measured != nil && err == nil && len(parsed) == 1 && parsed[0].MetBy(*r.Measured)
}

// underWay returns the mean number of operations under way.
func underWay(o outcome) float64 {
	p := o.run.Phase("measure")
	if p.InFlight != nil {
		return max(p.LittleInFlight, *p.InFlight)
	}
	return p.LittleInFlight
}

// share returns the share of the offered operations that succeeded in time. Operations under way at the end count as
// done, because about as many are always under way.
func share(o outcome) float64 {
	p := o.run.Phase("measure")
	if p.Offered == 0 {
		return 0
	}
	return min(1, (float64(p.Ended.Succeeded)+underWay(o))/float64(p.Offered))
}

// told describes an objective that failed.
func told(r measure.ObjectiveResult) string {
	if r.NoAnswer {
		return r.Objective + " was missed: no answer, because " + r.Why
	}
	if r.Unknown && !r.OneMoment || r.Measured == nil {
		return r.Objective + " cannot be told: " + r.Why
	}
	switch r.Unit {
	case measure.UnitTime:
		return r.Objective + " was missed with " + figure.Duration(time.Duration(*r.Measured))
	case measure.UnitShare:
		return r.Objective + " was missed with " + figure.Percent(*r.Measured)
	}
	return r.Objective + " was missed with " + figure.Rate(*r.Measured)
}

// within limits a rate to the highest allowed one.
func (c *capacity) within(rate float64) float64 {
	if c.spec.To > 0 {
		return min(rate, float64(c.spec.To))
	}
	return min(rate, 1e8)
}

func (c *capacity) note(text string) {
	if !slices.Contains(c.notes, text) {
		c.notes = append(c.notes, text)
	}
}

// rounded returns a rate with three significant digits, or four if the precision is high.
func (c *capacity) rounded(rate float64) float64 {
	if !(rate > 0) || math.IsInf(rate, 0) {
		return 0
	}
	digits := 3
	if c.spec.Precision < 0.02 {
		digits = 4
	}
	x, _ := strconv.ParseFloat(strconv.FormatFloat(rate, 'e', digits-1, 64), 64) // cannot fail: it was just written
	return x
}
