package measure

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/plimsoll-bench/plimsoll/internal/expression"
	"github.com/plimsoll-bench/plimsoll/internal/figure"
	"github.com/plimsoll-bench/plimsoll/internal/nearest"
)

// Objective is a condition on a result, such as "read.p99<5ms": an operation class, a metric and a limit.
type Objective struct {
	Text    string  // as it was written
	Class   string  // operation class, "" for all operations
	Kind    string  // of a time: "response" or "service"
	Metric  string  // "p99", "max", "mean", "errors", "rate", "achieved", "dropped", "not-found"
	Op      string  // "<", "<=", ">" or ">="
	Limit   float64 // nanoseconds, share or operations per second
	Unit    string  // UnitTime, UnitShare or UnitRate
	percent float64 // of a percentile, otherwise NaN
}

// The units of objectives and findings.
const (
	UnitTime  = "ns"
	UnitShare = "share"
	UnitRate  = "1/s"
)

// ObjectiveResult is the result of an objective.
type ObjectiveResult struct {
	Objective string   `json:"objective"`          // as the user wrote it
	Measured  *float64 `json:"measured,omitempty"` // in Unit; absent if unknown
	Limit     float64  `json:"limit"`              // in Unit
	Unit      string   `json:"unit"`               // "ns", "share" or "1/s"
	Met       bool     `json:"met"`
	NoAnswer  bool     `json:"no_answer,omitempty"`  // it is missed, because too many operations did not succeed: see [Due]
	OneMoment bool     `json:"one_moment,omitempty"` // it is unknown, because Measured is from too few moments of the run
	Unknown   bool     `json:"unknown,omitempty"`    // it cannot be told; then Met is false
	Why       string   `json:"why,omitempty"`        // why it is unknown or has no answer
}

var (
	knownMetrics = []string{"p50", "p90", "p95", "p99", "p99.9", "p99.99", "max", "mean", "errors", "achieved", "dropped",
		"not-found", "rate"}

	objectiveForm  = expression.New(`^\s*([^<>=\s]+)\s*(<=|>=|=<|=>|==|=|<|>)\s*(\S+)\s*$`)
	percentileForm = expression.New(`^(?:(.+)\.)?(p[0-9]+(?:\.[0-9]+)?)$`)
)

// ParseObjectives reads objectives separated by commas: [class.][service.]metric, a comparison and a
// limit. The metrics are p and a percentile, max and mean (times with a unit), errors, dropped,
// not-found and achieved (shares, "0.1%" or 0.001) and rate (operations per second). Times are response
// times unless "service." says otherwise. Empty text has no objectives.
func ParseObjectives(text string) ([]Objective, error) {
	var list []Objective
	for part := range strings.SplitSeq(text, ",") {
		if strings.TrimSpace(part) == "" {
			continue
		}
		o, err := parseObjective(strings.TrimSpace(part))
		if err != nil {
			return nil, err
		}
		list = append(list, o)
	}
	return list, nil
}

func parseObjective(text string) (Objective, error) {
	m := objectiveForm().FindStringSubmatch(text)
	if m == nil {
		return Objective{}, fmt.Errorf("objective %q is not of the form metric<limit, like p99<20ms or errors<0.1%%", text)
	}
	o := Objective{Text: text, Op: m[2], Kind: "response", percent: math.NaN()}
	switch o.Op {
	case "=<":
		o.Op = "<="
	case "=>":
		o.Op = ">="
	case "=", "==":
		return o, fmt.Errorf("objective %q: a measurement is never equal to a limit. Use < <= > or >=", text)
	}
	if err := o.parseName(m[1]); err != nil {
		return o, fmt.Errorf("objective %q: %w", text, err)
	}
	if err := o.parseLimit(m[3]); err != nil {
		return o, fmt.Errorf("objective %q: %w", text, err)
	}
	return o, nil
}

// parseName reads class, kind and metric.
func (o *Objective) parseName(name string) error {
	prefix, metric := "", name
	if m := percentileForm().FindStringSubmatch(name); m != nil {
		prefix, metric = m[1], m[2]
	} else if i := strings.LastIndexByte(name, '.'); i >= 0 {
		prefix, metric = name[:i], name[i+1:]
	}
	if err := o.setMetric(metric); err != nil {
		return err
	}
	for _, kind := range []string{"service", "response"} {
		if prefix == kind || strings.HasSuffix(prefix, "."+kind) {
			if o.Unit != UnitTime {
				return fmt.Errorf("%s is not a time, so it has no %s", metric, kind)
			}
			o.Kind, prefix = kind, strings.TrimSuffix(strings.TrimSuffix(prefix, kind), ".")
			break
		}
	}
	o.Class = prefix
	if prefix != "" && (metric == "achieved" || metric == "dropped") {
		return fmt.Errorf("%s is known for all operations together only, not for %s", metric, prefix)
	}
	return nil
}

func (o *Objective) setMetric(metric string) error {
	o.Metric = metric
	switch metric {
	case "errors", "achieved", "dropped", "not-found":
		o.Unit = UnitShare
		return nil
	case "rate":
		o.Unit = UnitRate
		return nil
	case "max", "mean":
		o.Unit = UnitTime
		return nil
	}
	if !percentileForm().MatchString(metric) {
		return fmt.Errorf("unknown metric %q%s (known: %s)", metric, nearest.DidYouMean(metric, knownMetrics),
			strings.Join(knownMetrics, ", "))
	}
	o.Unit = UnitTime
	p, err := strconv.ParseFloat(metric[1:], 64)
	if err != nil || p <= 0 || p >= 100 {
		return fmt.Errorf("%s is not a percentile between p0 and p100", metric)
	}
	o.percent = p
	return nil
}

func (o *Objective) parseLimit(s string) error {
	switch o.Unit {
	case UnitTime:
		d, err := time.ParseDuration(s)
		if err != nil || d < 0 {
			return fmt.Errorf("%q is not a time with a unit, like 20ms", s)
		}
		o.Limit = float64(d)
	case UnitShare:
		number, percent := strings.CutSuffix(s, "%")
		x, err := strconv.ParseFloat(number, 64)
		if err != nil || !(x >= 0) || math.IsInf(x, 0) {
			return fmt.Errorf("%q is not a share, like 0.1%%", s)
		}
		if o.Limit = x; percent {
			o.Limit = x / 100
		} else if x > 1 {
			return fmt.Errorf("a share of %s is more than everything, did you mean %s%%?", s, s)
		}
	default:
		number, factor := strings.TrimSuffix(s, "/s"), 1.0
		for suffix, f := range map[string]float64{"k": 1e3, "M": 1e6} {
			if n, ok := strings.CutSuffix(number, suffix); ok {
				number, factor = n, f
				break
			}
		}
		x, err := strconv.ParseFloat(number, 64)
		if err != nil || !(x >= 0) || math.IsInf(x*factor, 0) {
			return fmt.Errorf("%q is not a rate per second, like 20000 or 20k", s)
		}
		o.Limit = x * factor
	}
	return nil
}

// Evaluate compares an objective with a phase. A result that is unknown is not met. A time that has no answer is
// missed, whatever the limit and the direction of the comparison: see [Due]. So are the maximum and the mean if any
// operation that was due did not succeed, because its time is longer than every other.
//
// The class of dropped and unsent operations is unknown. An objective of a class is met or missed only if it would be
// for every number of them that belong to the class, otherwise it is unknown.
func (o Objective) Evaluate(s *Summary) ObjectiveResult {
	r := ObjectiveResult{Objective: o.Text, Limit: o.Limit, Unit: o.Unit}
	if o.Unit == UnitTime {
		o.evaluateTime(s, &r)
		return r
	}
	x, why := o.measure(s)
	if why != "" {
		r.Unknown, r.Why = true, why
		return r
	}
	r.Measured, r.Met = &x, o.MetBy(x)
	return r
}

// MetBy reports whether a measured value, in the unit of the objective, meets it.
func (o Objective) MetBy(x float64) bool {
	switch o.Op {
	case "<":
		return x < o.Limit
	case "<=":
		return x <= o.Limit
	case ">":
		return x > o.Limit
	}
	return x >= o.Limit
}

// Quantile returns the quantile of a percentile, such as 0.99 of p99; false for other metrics.
func (o Objective) Quantile() (float64, bool) { return o.percent / 100, !math.IsNaN(o.percent) }

// AtMost reports whether the objective is an upper limit.
func (o Objective) AtMost() bool { return o.Op == "<" || o.Op == "<=" }

// EvaluateAll evaluates all objectives with one summary.
func EvaluateAll(list []Objective, s *Summary) []ObjectiveResult {
	var results []ObjectiveResult
	for _, o := range list {
		results = append(results, o.Evaluate(s))
	}
	return results
}

// Needs is the smallest number of operations for the objective; 0 if any number is enough.
func (o Objective) Needs() int64 {
	if math.IsNaN(o.percent) {
		return 0
	}
	return int64(MinCount(o.percent / 100))
}

// measure returns the figure, or the reason why there is none.
func (o Objective) measure(s *Summary) (x float64, why string) {
	t, why := o.tally(s)
	if why != "" {
		return 0, why
	}
	due := t.Attempted
	if o.Class == "" { // the classes of unsent operations are unknown
		due = s.Due()
	}
	if o.Metric == "rate" {
		if s.Duration() <= 0 {
			return 0, "nothing was measured"
		}
		if i := s.Dims.index(o.Class); i >= 0 {
			return s.Rate(s.EndedClass(i)), ""
		}
		return s.Rate(s.Ended().Succeeded), ""
	}
	if due == 0 {
		return 0, noneDue
	}
	switch o.Metric {
	case "errors":
		return share(due-t.Succeeded, due), ""
	case "not-found":
		return share(t.NotFound, due), ""
	case "dropped":
		return share(s.Dropped, due), ""
	}
	a, ok := s.Achieved()
	if !ok {
		return 0, "the load has no rate, so nothing was offered"
	}
	return a, ""
}

const noneDue = "no operation was due"

func (o Objective) tally(s *Summary) (Tally, string) {
	if o.Class == "" {
		return s.Tally(), ""
	}
	c := s.Class(o.Class)
	if c == nil {
		return Tally{}, "there is no operation " + o.Class
	}
	return s.Dims.Tally(c.Counts), ""
}

// evaluateTime sets the result of an objective of a time.
func (o Objective) evaluateTime(s *Summary, r *ObjectiveResult) {
	d, known, err := s.Times(o.Class, o.Kind)
	answered := d.Answered.Count()
	switch {
	case err != nil:
		r.Unknown, r.Why = true, err.Error()
		return
	case !known:
		r.Unknown, r.Why = true, "there is no operation "+o.Class
		return
	case answered+d.Lost == 0:
		r.Unknown, r.Why = true, noneDue
		return
	}
	if math.IsNaN(o.percent) {
		o.evaluateWhole(d, r)
		return
	}
	q := o.percent / 100
	ns, reach := d.Quantile(q)
	switch reach {
	case NoAnswer:
		r.NoAnswer = true
		r.Why = fmt.Sprintf("%s of the operations that were due did not succeed, and %s allows %s",
			percent(share(d.Lost, answered+d.Lost)), o.Metric, figure.Significant(100-o.percent)+" %")
		return
	case TooFew:
		r.Unknown = true
		r.Why = fmt.Sprintf("%s operations are too few for %s, which needs %s", figure.Count(answered), o.Metric,
			figure.Count(MinCount(q)))
		return
	case OneMoment:
		x := float64(ns)
		r.Measured = &x
		if o.AtMost() && d.Lost+d.Unclassed == 0 && o.MetBy(float64(d.Answered.Max())) {
			r.Met = true // not even the slowest moment is above the limit
			return
		}
		r.Unknown, r.OneMoment = true, true
		r.Why = fmt.Sprintf("the operations at or beyond %s come from too few moments of the run: %s, and it needs %s", o.Metric,
			figure.Significant(d.Episodes(q)), figure.Significant(minEpisodes))
		return
	}
	most := math.Inf(1)
	if reach == Stated {
		most = float64(ns)
	}
	o.decide(r, float64(d.quantile(q, d.Lost)), most, d.Unclassed)
}

// evaluateWhole sets the result of an objective of the maximum or the mean.
func (o Objective) evaluateWhole(d Due, r *ObjectiveResult) {
	if d.Lost > 0 {
		r.NoAnswer = true
		r.Why = fmt.Sprintf("%s that were due did not succeed, so %s of all has no answer", figure.Plural(int(d.Lost), "operation"),
			o.Metric)
		return
	}
	x := float64(d.Answered.Max())
	if o.Metric == "mean" {
		x = d.Answered.Mean()
	}
	most := x
	if d.Unclassed > 0 {
		most = math.Inf(1)
	}
	o.decide(r, x, most, d.Unclassed)
}

// decide sets the result of an objective of a time that is between two values, the larger one infinite if there may be
// no answer. They differ if operations of unknown class did not succeed.
func (o Objective) decide(r *ObjectiveResult, least, most float64, unclassed int64) {
	answered := !math.IsInf(most, 1)
	byLeast, byMost := o.MetBy(least), answered && o.MetBy(most)
	if byLeast != byMost {
		r.Unknown = true
		r.Why = fmt.Sprintf("%s were dropped or never sent, and their class is unknown", figure.Plural(int(unclassed), "operation"))
		return
	}
	r.Met, r.Measured = byMost, &least
	if answered && o.AtMost() == r.Met {
		r.Measured = &most // the value that proves it
	}
}
