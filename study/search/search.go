package search

import (
	"math"
	"slices"
	"strconv"
)

// The phases of a search.
const (
	Ramp    = "ramp"    // until rates that hold and rates that do not are known
	Narrow  = "narrow"  // at the most probable rate
	Confirm = "confirm" // fresh trials just below and just above the answer, alternating
)

// Options say how a rate is searched.
type Options struct {
	From      float64 // first rate
	To        float64 // the highest rate, 0 for none
	Growth    float64 // factor of the ramp
	Precision float64 // by how much the answer may be wrong with the probability [ErrorOfAnswer], as a share
	Confirm   int     // the fewest confirming trials
	Least     int     // steps that are made at least, so that the plan is right; fewer if no rate is found
	Most      int     // steps at most; [Search.Limit] changes it
}

// Side says where a confirming trial is.
type Side int

const (
	Below    Side = iota + 1 // just below the answer
	Above                    // just above it
	FarBelow                 // at half of it or less, because trials just below did not hold
	FarAbove                 // a step of the ramp above it, because trials just above held
)

// Step is what to do next.
type Step struct {
	Phase string
	Rate  float64
	Side  Side // of a confirming trial
}

// Outcome is the outcome of a step.
type Outcome struct {
	Step
	// Certainty is the probability that the objectives hold at the rate, by this step alone: see [Decide].
	Certainty float64
	// Client says that the load generator was the limit, so the step says nothing about the target.
	Client bool
	// Few says that the step had too few operations for an objective.
	Few bool
}

// holds reports whether a step is rather met than missed.
func (o Outcome) holds() bool { return !o.Client && !o.Few && o.Certainty >= 0.5 }

// fails reports whether a step is rather missed than met.
func (o Outcome) fails() bool { return !o.Client && !o.Few && o.Certainty < 0.5 }

// missed reports whether the rate was missed for certain.
func (o Outcome) missed() bool { return o.fails() && Of(o.Certainty) == Missed }

// State is how far a search is.
type State string

const (
	Searching State = "searching"
	Found     State = "found"    // it is confirmed
	AtLeast   State = "at-least" // the highest rate that could be offered holds
	None      State = "none"     // no rate holds
	Few       State = "few"      // no rate that may hold has enough operations
	Open      State = "open"     // there were not enough steps
)

// Answer is what is known of the rate.
type Answer struct {
	State State
	// Rate is the rate at which half of the steps hold, and Low and High the ends of its 95 % interval. High is infinite
	// if State is AtLeast.
	Rate, Low, High float64
	Trials          int     // steps within a tenth of Rate
	Wrong           float64 // probability that the truth differs from Rate by more than Options.Precision
	Scatter         float64 // standard deviation of what the target carries, from step to step
	Drift           float64 // of what it carries, per step
	Drifts          bool    // the drift is certain
	// MissedBelow is how many steps were missed 5 % or more below Low; of State AtLeast, those that were missed for
	// certain up to Rate.
	MissedBelow int
}

// ErrorOfAnswer is the probability of an answer that is wrong by more than the precision with which a search ends
// before its time or steps. The trials look at it one after the other; the probability of the model does not depend
// on when one looks, and the simulated targets check that it is true where a search stops by it.
const ErrorOfAnswer = 0.05

// Sure reports whether the answer is sure enough to end.
func (a Answer) Sure() bool { return a.Wrong <= ErrorOfAnswer }

// Search is a search for a rate.
type Search struct {
	o        Options
	outcomes []Outcome
	model    *model
}

// New begins a search.
func New(o Options) *Search { return &Search{o: o} }

// Limit changes the largest number of steps, because there is less or more time.
func (s *Search) Limit(most int) { s.o.Most = most }

// Add adds the outcome of a step.
func (s *Search) Add(o Outcome) {
	s.outcomes = append(s.outcomes, o)
	if s.model != nil {
		s.model = s.model.after(s.outcomes)
	}
}

// descent are the factors by which the rate falls while nothing holds.
var descent = []float64{2, 2, 4, 4, 8}

// The shape of the search.
const (
	mostDown     = 5   // steps down from a first rate that does not hold, before the answer is none
	narrowEnough = 2   // so many times the precision is near enough for confirming trials
	nearest      = 0.6 // distance of a confirming trial from the answer, in precisions
	farthest     = 0.12
	mostAbove    = 4 // so many times a rate that was missed may the first one be, while lower ones were not tried
	mostClient   = 2 // trials at a rate that the load generator limits although it held once
	mostHeld     = 3 // trials just above an answer that hold in a row
	mostFailed   = 3 // trials just below an answer that fail in a row
	mostFar      = 2 // trials far below an answer that is not confirmed
)

// Next returns the next step, false if the search has ended.
func (s *Search) Next() (Step, bool) {
	if len(s.outcomes) >= s.o.Most {
		return Step{}, false
	}
	low, high := s.bracket()
	switch {
	case len(s.outcomes) == 0:
		return s.step(Ramp, s.within(s.o.From)), true
	case high == 0:
		return s.up(low)
	case low == 0:
		return s.down(high)
	case s.lowestClient() == high:
		return s.belowClient(low, high)
	case s.atHighest(low):
		return Step{}, false
	}
	if s.model == nil {
		s.model = newModel(s.outcomes)
	}
	return s.around()
}

// up raises the rate while everything holds, by more after some steps, because the first rate was far too low.
func (s *Search) up(low float64) (Step, bool) {
	highest := s.highest()
	if s.o.To > 0 && highest >= rounded(s.o.To) { // rates are rounded
		if s.confirmedAt(low) || low == 0 {
			return Step{}, false
		}
		return s.step(Confirm, low), true
	}
	if last := s.outcomes[len(s.outcomes)-1]; !last.Few && Of(last.Certainty) == Undecided && s.times(last.Rate) < 2 {
		return s.step(Ramp, last.Rate), true
	}
	return s.step(Ramp, s.within(highest*math.Pow(s.o.Growth, float64(min(4, 1+len(s.outcomes)/4))))), true
}

// down lowers the rate while nothing holds, in growing steps.
func (s *Search) down(high float64) (Step, bool) {
	downs := 0
	for i := 1; i < len(s.outcomes); i++ {
		if o := s.outcomes[i]; o.Rate < s.outcomes[i-1].Rate {
			downs++
		}
	}
	last := s.outcomes[len(s.outcomes)-1]
	if downs >= mostDown || last.Few && downs > 0 || high < 2 {
		return Step{}, false
	}
	// One disturbance of the first step must not lead far away, unless there are too few steps to find a rate then.
	if !last.Client && !last.Few && (len(s.outcomes) == 1 || Of(last.Certainty) == Undecided) && s.times(last.Rate) < 2 &&
		s.o.Most-len(s.outcomes) > mostDown {
		return s.step(Ramp, last.Rate), true
	}
	return s.step(Ramp, high/descent[min(downs, len(descent)-1)]), true
}

// belowClient searches below a rate that the load generator does not reach.
func (s *Search) belowClient(low, high float64) (Step, bool) {
	if high/low > s.o.Growth && len(s.outcomes) < s.o.Most/2 {
		return s.step(Narrow, math.Sqrt(low*high)), true
	}
	rate, found := s.reached(low)
	if !found || s.confirmedAt(rate) {
		return Step{}, false
	}
	return s.step(Confirm, rate), true
}

// reached is a rate that held, or a lower one if the load generator limits it although it held once; false if it limits
// those too.
func (s *Search) reached(rate float64) (float64, bool) {
	for range mostDown {
		if s.confirmedAt(rate) || s.clientAt(rate) < mostClient {
			return rate, true
		}
		rate = rounded(rate / s.o.Growth)
	}
	return rate, false
}

// clientAt is how many steps at a rate the load generator limited.
func (s *Search) clientAt(rate float64) (n int) {
	for _, o := range s.outcomes {
		if o.Client && o.Rate <= rate {
			n++
		}
	}
	return n
}

// confirmedAt reports whether fresh trials at a rate held.
func (s *Search) confirmedAt(rate float64) bool {
	n := 0
	for _, o := range s.outcomes {
		if o.Phase == Confirm && o.Rate == rate && o.holds() {
			n++
		}
	}
	return n >= max(1, s.o.Confirm/2)
}

// around narrows and confirms around the most probable rate. Confirming trials follow just below and just above, in
// turn, until the answer is sure, or the steps are used up.
func (s *Search) around() (Step, bool) {
	a := s.model.answer(s.o.Precision)
	half := max(a.Rate/a.Low, a.High/a.Rate) - 1
	below, above, far := s.side(Below), s.side(Above), s.side(FarBelow)
	narrow := 0
	for _, o := range s.outcomes {
		if o.Phase == Narrow {
			narrow++
		}
	}
	switch {
	case below.n+above.n == 0 && narrow < s.mostNarrow() && half > narrowEnough*s.o.Precision:
		return s.step(Narrow, s.within(a.Rate)), true
	case s.unconfirmed() && far.n < mostFar:
		return s.trial(FarBelow, a.Rate/math.Pow(2, float64(far.n+1))), true
	case s.unconfirmed():
		return Step{}, false
	case s.tooLow():
		return s.trial(FarAbove, s.under(a.Rate*s.o.Growth)), true
	}
	enough := below.n >= s.o.Confirm/2 && above.n >= s.o.Confirm/2
	if enough && len(s.outcomes) >= s.o.Least && a.Sure() {
		return Step{}, false
	}
	// Trials at about one standard deviation from the answer say most of it, and those nearer are chance.
	by := 1 + min(farthest, max(nearest*s.o.Precision, a.Scatter))
	if below.n <= above.n {
		return s.trial(Below, s.within(a.Rate/by)), true
	}
	return s.trial(Above, s.under(a.Rate*by)), true
}

// mostNarrow is the largest number of steps at the most probable rate: three halve the logarithm of one step of the
// ramp often enough, and a wider bracket needs more.
func (s *Search) mostNarrow() int {
	low, high := s.bracket()
	steps := math.Log(high/low) / math.Log(s.o.Growth)
	return 3 + int(math.Ceil(math.Log2(max(1, steps*0.99))))
}

// atHighest reports whether the last trials above the answer all held, at the highest rate that is allowed: what was
// missed below it was no matter of the rate.
func (s *Search) atHighest(low float64) bool {
	return s.o.To > 0 && low >= rounded(s.o.To) && s.tooLow() && s.confirmedAt(low)
}

// tally counts the confirming trials on a side, and those that held.
type tally struct{ n, held int }

// unconfirmed reports whether the last trials just below the answer all failed, and no trial far below it held since:
// what they missed is no matter of the rate.
func (s *Search) unconfirmed() bool {
	failed := 0
	for _, o := range slices.Backward(s.outcomes) {
		if o.Side != Below && o.Side != FarBelow || o.Client || o.Few {
			continue
		}
		if o.holds() {
			break
		}
		failed++
	}
	return failed >= mostFailed
}

// tooLow reports whether the last trials above the answer all held: what was missed there was no matter of the rate, or
// the target has become faster.
func (s *Search) tooLow() bool {
	held := 0
	for _, o := range slices.Backward(s.outcomes) {
		if o.Side != Above && o.Side != FarAbove || o.Client || o.Few {
			continue
		}
		if !o.holds() {
			break
		}
		if held++; o.Side == FarAbove {
			held = mostHeld
		}
	}
	return held >= mostHeld
}

func (s *Search) side(side Side) (t tally) {
	for _, o := range s.outcomes {
		if o.Side == side && !o.Client && !o.Few {
			t.n++
			if o.holds() {
				t.held++
			}
		}
	}
	return t
}

func (s *Search) trial(side Side, rate float64) Step { return Step{Confirm, rounded(rate), side} }

// under limits a rate to those that can be offered.
func (s *Search) under(rate float64) float64 {
	if c := s.lowestClient(); c > 0 {
		rate = min(rate, c)
	}
	return s.within(rate)
}

func (s *Search) within(rate float64) float64 {
	if s.o.To > 0 {
		return min(rate, s.o.To)
	}
	return min(rate, 1e8)
}

func (s *Search) step(phase string, rate float64) Step {
	return Step{Phase: phase, Rate: rounded(rate)}
}

// rounded returns a rate with four significant digits.
func rounded(rate float64) float64 {
	x, _ := strconv.ParseFloat(strconv.FormatFloat(rate, 'e', 3, 64), 64) // cannot fail: it was just written
	return x
}

// Rounded3 returns a rate with three significant digits, as answers are.
func Rounded3(rate float64) float64 {
	x, _ := strconv.ParseFloat(strconv.FormatFloat(rate, 'e', 2, 64), 64)
	return x
}

// Confirmed is the number of confirming trials.
func (s *Search) Confirmed() (n int) {
	for _, o := range s.outcomes {
		if o.Phase == Confirm {
			n++
		}
	}
	return n
}

func (s *Search) times(rate float64) (n int) {
	for _, o := range s.outcomes {
		if o.Rate == rate {
			n++
		}
	}
	return n
}

// bracket returns the highest rate that held and the lowest one that did not, or that the load generator did not reach;
// 0 for none.
func (s *Search) bracket() (low, high float64) {
	for _, o := range s.outcomes {
		if o.holds() {
			low = max(low, o.Rate)
		} else if !o.Few && (high == 0 || o.Rate < high) {
			high = o.Rate
		}
	}
	return low, high
}

// lowestClient is the lowest rate that the load generator did not reach, 0 if there is none.
func (s *Search) lowestClient() (rate float64) {
	for _, o := range s.outcomes {
		if o.Client && (rate == 0 || o.Rate < rate) {
			rate = o.Rate
		}
	}
	return rate
}

// Answer returns what is known after the steps so far.
func (s *Search) Answer() Answer {
	_, more := s.Next()
	low, high := s.bracket()
	client := s.lowestClient()
	bounded := slices.ContainsFunc(s.outcomes, Outcome.fails)
	switch {
	case len(s.outcomes) == 0:
		return Answer{State: Searching}
	case low == 0:
		a := Answer{State: None, High: high}
		switch {
		case slices.ContainsFunc(s.outcomes, func(o Outcome) bool { return o.Few }):
			a.State = Few
		case client > 0 && client == high, // below that, the load generator was the limit, and not the target
			len(s.outcomes) >= s.o.Most && (!s.missedAt(high) || s.outcomes[0].Rate < mostAbove*high): // too few steps to see it
			a.State = Open
		}
		return ending(a, more, more, a.State)
	case !bounded || s.atHighest(low) || high == client && client > 0 && !s.failedBelow(client):
		return s.atLeast(low, more)
	}
	if s.model == nil {
		s.model = newModel(s.outcomes)
	}
	a := s.model.answer(s.o.Precision)
	if a.Rate > s.highest() { // the model expects more than was offered: what was missed there was chance
		return s.atLeast(low, more)
	}
	far, confirming := s.side(FarBelow), 0
	if s.unconfirmed() && far.n >= mostFar && far.held == 0 {
		return ending(Answer{State: None, High: high}, more, more, None)
	}
	for _, o := range s.outcomes {
		if o.Phase == Confirm {
			confirming++
		}
		if math.Abs(math.Log(o.Rate/a.Rate)) <= math.Log(1.1) && !o.Client {
			a.Trials++
		}
		if o.fails() && o.Rate < a.Low/1.05 {
			a.MissedBelow++
		}
	}
	return ending(a, more, more || confirming < s.o.Confirm || s.side(Below).held == 0 || s.tooLow(), Found)
}

// atLeast is the answer that a rate holds, and nobody knows what more would.
func (s *Search) atLeast(rate float64, more bool) Answer {
	if lower, found := s.reached(rate); found && s.confirmedAt(lower) {
		rate = lower
	}
	a := Answer{State: AtLeast, Rate: rate, Low: rate, High: math.Inf(1), Trials: s.times(rate)}
	for _, o := range s.outcomes {
		if o.Rate <= rate && o.missed() {
			a.MissedBelow++
		}
	}
	return ending(a, more, more || !s.confirmedAt(rate), AtLeast)
}

// highest is the highest rate that was offered.
func (s *Search) highest() (rate float64) {
	for _, o := range s.outcomes {
		rate = max(rate, o.Rate)
	}
	return rate
}

// ending sets the state of an answer.
func ending(a Answer, more, unfinished bool, state State) Answer {
	switch {
	case !unfinished:
		a.State = state
	case !more:
		a.State = Open
	default:
		a.State = Searching
	}
	return a
}

// missedAt reports whether a step at a rate was missed for certain.
func (s *Search) missedAt(rate float64) bool {
	return slices.ContainsFunc(s.outcomes, func(o Outcome) bool {
		return o.Rate == rate && o.missed()
	})
}

// failedBelow reports whether a step below a rate was missed by the target.
func (s *Search) failedBelow(rate float64) bool {
	return slices.ContainsFunc(s.outcomes, func(o Outcome) bool { return o.fails() && o.Rate < rate })
}
