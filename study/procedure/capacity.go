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
	minAchieved = 0.99 // of what was offered must succeed within the measured time
	mostDescent = 12   // steps down from a first rate that does not hold
	mostAscent  = 40   // steps up
	mostReturns = 2    // times that the search goes up again because a rate above the found one held
)

// Capacity finds the highest offered rate at which at least 99 % of the offered operations succeed in time and every
// objective holds: a ramp until a rate does not hold, bisection down to the precision, then fresh trials of the rate
// found, in random order with one above and one below, so that neither luck nor drift nor the way there decides. All
// of them must hold, and the lower end of the interval of the achieved share must; otherwise the rate is lowered by
// the precision and confirmed anew. The result is a rate that was measured, never one that was computed.
//
// A rate that is missed where the load generator itself may be the reason does not count as the target's limit: if
// only such rates lie above the result, it says "at least". The first miss of a ramp is tried again, because one
// disturbance would otherwise end the search far below the capacity. Objectives for the rate itself are left out: the
// capacity answers them.
//
// Without From, a closed loop shows where to begin; without To, the ramp goes on until a rate is missed. Both are
// rounded to three digits, as all rates are.
func Capacity(ctx context.Context, base spec.Run, objectives []string, asked spec.Capacity,
	try Try) (record.CapacityResult, error) {
	c := &capacity{ctx: ctx, base: base, spec: asked, try: try}
	c.result.Objectives, c.result.Steps = append([]string{}, objectives...), []record.CapacityStep{}
	err := c.judgeBy(objectives)
	if err != nil {
		return c.result, err
	}
	c.base.Load = study.Lasting(base.Load, asked.Duration)
	c.base.Load.Pace = 0
	// The order of the confirming trials must be the same again when an interrupted search goes on.
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
	spec   spec.Capacity
	try    Try
	rng    *rand.Rand
	result record.CapacityResult
	tries  []probe // of all rates, in order
	unsure float64 // the last rate at which all trials held, but not with the certainty asked for
	notes  []string
}

// probe is what one trial at a rate showed.
type probe struct {
	number int // of the trial in the search
	rate   float64
	share  float64 // of the offered operations that succeeded in time
	holds  bool
	untold bool // nothing was missed, but so few operations say nothing about some objective
	missed string
	client []string // findings that speak against the load generator, where it missed
	busy   bool     // all workers were, so that more of them might have carried more
	doubts []string // findings of a trial that held
}

// judgeBy gives the trials the objectives that they must hold.
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

// search does the whole of it.
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

// closedLoop makes a short trial without a rate. Half of what it reaches is where the ramp begins.
func (c *capacity) closedLoop() (float64, error) {
	spec := c.base
	closedLoop(&spec.Load)
	spec.Objectives = nil
	o, err := attempt(c.ctx, c.try, spec, "capacity: closed loop, to see where to begin")
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

// ramp raises the rate until it is missed twice or the highest that is allowed holds. Rates at which too few
// operations fall due to tell are passed. If no rate held until the first miss, it goes down from there, but not to a
// rate that is known to hold. low is the highest that held, 0 if none did; high the
// lowest above it that did not, 0 if none.
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

// bisect closes in on the border between a rate that held and one that did not, and returns the highest that held.
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

// stepsDown is by how many steps of the precision the rate is lowered after each round that does not hold: by one at
// first, and by more where that does not help, so that a noisy target is left behind in a few rounds. If that was too
// far, the search goes up again.
var stepsDown = []float64{1, 1, 2, 3, 4, 6, 8}

// confirm makes fresh trials of a rate and lowers it until all of them hold, or a rate that was confirmed before is
// reached. again is true if every trial well above held, so that the search had been led astray.
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

// round makes one round of confirming trials around a rate, and ends as soon as one of those at the rate itself is
// missed. low is the lower end of the interval of the achieved rate, nil of a single trial. upper says that the trials
// well above held as well.
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
		if iv.Low < minAchieved {
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

// order is the random order of the trials of a round, as multiples of the rate.
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

// at makes a trial at a rate.
func (c *capacity) at(phase string, rate float64) (probe, error) {
	asked := c.base
	asked.Load.Rate = spec.Rate(rate)
	if asked.Load.Arrivals == "" {
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

// judge says whether a trial held its rate and its objectives, and whose fault it was if not.
func judge(o outcome, rate float64) probe {
	p := probe{rate: rate}
	if o.problem != "" {
		p.missed, p.client = o.problem, o.blames(append(limitsRate, "not-counted", "littles-law")...)
		return p
	}
	p.busy = underWay(o) >= 0.95*float64(o.run.Specification.Load.Workers)
	var missed []string
	unknown := 0
	if p.share = share(o); p.share < minAchieved {
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
		case !o.run.Objectives[i].Met:
			if o.run.Objectives[i].Unknown {
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

// underWay is how many operations were under way on average.
func underWay(o outcome) float64 {
	p := o.run.Phase("measure")
	if p.InFlight != nil {
		return max(p.LittleInFlight, *p.InFlight)
	}
	return p.LittleInFlight
}

// share is the part of the operations that fell due which succeeded in time. What is under way when the time is over
// is not behind: on average as much was under way at any moment.
func share(o outcome) float64 {
	p := o.run.Phase("measure")
	if p.Offered == 0 {
		return 0
	}
	return min(1, (float64(p.Ended.Succeeded)+underWay(o))/float64(p.Offered))
}

// told is an objective that was missed.
func told(r measure.ObjectiveResult) string {
	if r.Unknown || r.Measured == nil {
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

// within keeps a rate at or below the highest allowed.
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

// rounded is a rate with three significant digits, or four where the precision asks for it: more would claim what no
// search has.
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
