package procedure

import (
	"fmt"
	"math"
	"time"

	"github.com/plimsoll-bench/plimsoll/internal/figure"
	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/spec"
	"github.com/plimsoll-bench/plimsoll/study/search"
)

// doubtful is the share of steps below the interval that may be missed by chance.
const doubtful = 2

// conclude sets the result of a line. err ended the search early.
func (l *lineSearch) conclude(err error) {
	n := &l.line
	defer func() {
		if l.o.Done != nil {
			l.o.Done(*n)
		}
	}()
	if l.search == nil {
		n.Status = record.LineFailed
		if err != nil {
			n.Status, n.Problem = record.LineUndecided, "the search ended early: "+err.Error()
		}
		return
	}
	a := l.search.Answer()
	n.Rate, n.Trials, n.Scatter, n.Confidence = search.Rounded3(a.Rate), a.Trials, a.Scatter, confidence
	if a.Low > 0 && a.Low < a.Rate || a.State == search.AtLeast {
		low := search.Rounded3(a.Low)
		n.Low = &low
	}
	if a.Rate > 0 && a.High > 0 && !math.IsInf(a.High, 1) {
		high, wrong := search.Rounded3(a.High), a.Wrong
		n.High, n.Wrong, n.Precision = &high, &wrong, float64(l.o.Search.Precision)
	}
	switch a.State {
	case search.Found:
		n.Status = record.LineFound
		if n.Low != nil && !n.Sure() {
			n.Doubts = append(n.Doubts, fmt.Sprintf("it is not sure, so plan with its low end, %s/s. The line is wrong by more than %s "+
				"with a probability of %s, because the trials are too few for the scatter of the target. Continue with more "+
				"trials (plimsoll capacity resume)", figure.Rate(*n.Low), figure.Limit(n.Precision), figure.Limit(*n.Wrong)))
		}
	case search.AtLeast:
		n.Status = record.LineAtLeast
	case search.None:
		n.Status, n.Rate, n.Low, n.High = record.LineNone, 0, nil, nil
	case search.Few: // nothing is known, which is not that nothing holds
		n.Status, n.Rate, n.Low, n.High = record.LineUndecided, 0, nil, nil
		n.Problem = fewOperations
	default:
		n.Status = record.LineUndecided
		if n.Rate == 0 {
			n.Low, n.High = nil, nil
		}
		if why := l.unconfirmed(); n.Rate > 0 {
			n.Doubts = append(n.Doubts, why)
		} else {
			n.Problem = why
		}
	}
	if err != nil {
		n.Problem = "the search ended early: " + err.Error()
	}
	l.reason(a)
	if a.Drifts {
		n.Doubts = append(n.Doubts, fmt.Sprintf("the load line changed by %s per step during the search. The rate is the one at "+
			"its end", signed(a.Drift)))
	}
	if a.MissedBelow >= doubtful || a.MissedBelow > 0 && a.State == search.AtLeast {
		n.Doubts = append(n.Doubts, fmt.Sprintf("%s up to the line missed the objectives. Something else than the rate slows the target "+
			"from time to time", figure.Plural(a.MissedBelow, "step")))
	}
}

// mostClients is how many confirming trials may be limited by the load generator before that is why a line is open.
const mostClients = 1

// unconfirmed says why a line is not confirmed.
func (l *lineSearch) unconfirmed() string {
	clients := 0
	for _, s := range l.line.Steps {
		if s.Phase == search.Confirm && s.Verdict == record.StepClient {
			clients++
		}
	}
	if clients > mostClients {
		return "the load generator was the limit of " + figure.Plural(clients, "confirming trial") +
			", so the line is not confirmed. Use a less busy machine"
	}
	switch {
	case l.o.Event && l.o.Within != nil:
		each := l.stepTime()
		return fmt.Sprintf("a drill takes %s, and the time was enough for %d; use --within %s, or continue with plimsoll capacity resume",
			spec.Duration(each.Round(time.Second)), len(l.line.Steps), spec.Duration(l.o.Within(each)))
	case l.line.Rate == 0:
		return "the steps were not enough to find a rate that holds"
	}
	return "the time was not enough for the confirming trials"
}

const fewOperations = "no step had enough operations for its objectives. Search at higher rates, or use longer steps"

// reason sets the limit and its sentence, from the step nearest above the line that was missed.
func (l *lineSearch) reason(a search.Answer) {
	n := &l.line
	var above, client *record.LineStep
	for i := range n.Steps {
		s := &n.Steps[i]
		missed := s.Verdict == record.StepMissed || s.Verdict == record.StepFailed ||
			s.Verdict == record.StepUndecided && s.Certainty != nil && *s.Certainty < 0.5
		if missed && s.Offered >= n.Rate && (above == nil || s.Offered < above.Offered) {
			above = s
		}
		if s.Verdict == record.StepClient && (client == nil || s.Offered < client.Offered) {
			client = s
		}
	}
	at := func(s *record.LineStep) string { return figure.Rate(s.Offered) + "/s" }
	switch {
	case a.State == search.Few:
		n.Limit, n.Reason = record.LimitSamples, fewOperations
	case n.Status == record.LineAtLeast && client != nil:
		n.Limit, n.Reason = record.LimitClient, "at "+at(client)+" "+client.Why
	case n.Status == record.LineAtLeast && l.o.Event:
		n.Limit, n.Reason = record.LimitHighest, "the highest rate that was tried holds. Rates further above the line with all members up "+
			"are not tried"
	case n.Status == record.LineAtLeast:
		n.Limit, n.Reason = record.LimitHighest, "the highest rate that was allowed holds. Raise search.to (--to)"
	case client != nil && (above == nil || n.Rate == 0 && client.Offered < above.Offered):
		n.Limit, n.Reason = record.LimitClient, "at "+at(client)+" "+client.Why
	case above == nil:
		n.Limit = record.LimitUndecided
	case l.limits[above.Offered] != "":
		n.Limit, n.Reason = l.limits[above.Offered], "at "+at(above)+" "+above.Why
	case above.Objective == "achieved>=99%":
		n.Limit, n.Reason = record.LimitSustained, "at "+at(above)+" "+above.Why
	case above.Objective == "":
		n.Limit, n.Reason = record.LimitSustained, "at "+at(above)+" "+above.Why
	default:
		n.Limit, n.Reason = record.LimitObjective, "at "+at(above)+" "+above.Objective+" is missed"+valueOf(above)
	}
}

// valueOf is what was measured of the objective of a step, or else why it is missed.
func valueOf(s *record.LineStep) string {
	if s.Value == nil && s.Why != "" {
		return ": " + s.Why
	}
	if s.Value == nil {
		return ""
	}
	return " with " + quantity(*s.Value, s.Unit)
}

// quantity is a measured value in its unit.
func quantity(x float64, unit string) string {
	switch unit {
	case measure.UnitTime:
		return figure.Duration(time.Duration(x))
	case measure.UnitShare:
		return figure.Percent(x)
	}
	return figure.Rate(x)
}
