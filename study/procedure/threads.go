package procedure

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/plimsoll-bench/plimsoll/internal/figure"
	"github.com/plimsoll-bench/plimsoll/measure/limit"
	"github.com/plimsoll-bench/plimsoll/measure/stats"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/spec"
	"github.com/plimsoll-bench/plimsoll/study"
)

// Threads raises the workers of a closed loop until throughput stops rising or the response time exceeds its limit, and
// chooses the fewest workers that reach the throughput. After a level that does not gain, one more is tried, so that
// neither chance nor the end of the range looks like the knee. If there is no such level, if the load generator was the
// limit, or if trials scatter too much, the result is not settled. It is then the best guess, and 0 only if nothing was
// measured.
//
// A rate of the base run is ignored, because an open loop offers the same rate to any number of workers.
func Threads(ctx context.Context, base spec.Run, asked spec.Threads, try Try) (record.ProcedureResult, error) {
	t := threads{spec: asked}
	result := record.ProcedureResult{Name: "threads", Path: "load.workers", Rule: t.rule(), Points: []record.ProcedurePoint{}}
	closedLoop(&base.Load)
	base.Load = study.Lasting(base.Load, asked.Duration)
	var err error
	for _, level := range t.levels() {
		base.Load.Workers = spec.Count(level)
		var p *point
		if p, err = t.level(ctx, base, try); err != nil {
			break
		}
		t.compare(p)
		if t.idle == 2 {
			break
		}
	}
	t.choose(&result)
	var steps []limit.Step
	for _, p := range t.points {
		for _, o := range p.trials {
			if step, ok := limitStep(o.run); ok && o.counts() {
				steps = append(steps, step)
			}
		}
	}
	result.LimitedBy = limitOf(steps)
	return result, err
}

// threads is a search for the number of workers.
type threads struct {
	spec   spec.Threads
	points []*point
	idle   int // number of the last levels in a row that did not gain enough
	late   int // number of them that only exceeded the response time
}

func (t *threads) rule() string {
	limit := ""
	if t.spec.Latency > 0 {
		limit = " or have a p99 above " + figure.Duration(t.spec.Latency.Std())
	}
	text := fmt.Sprintf("workers increase until two levels in a row gain less than %s over the best before them%s. The result is the "+
		"fewest workers whose throughput is within %s of the best", figure.Percent(float64(t.spec.Gain)), limit, figure.Percent(float64(t.spec.Gain)))
	if limit != "" {
		text += " and whose p99 is within the limit"
	}
	return text
}

// levels returns the numbers of workers, rising.
func (t *threads) levels() []int {
	var levels []int
	for _, l := range t.spec.Levels {
		levels = append(levels, int(l))
	}
	if len(levels) == 0 {
		for w := max(1, t.spec.From); w < t.spec.To; w *= 2 {
			levels = append(levels, int(w))
		}
		levels = append(levels, int(max(1, t.spec.To)))
	}
	slices.Sort(levels)
	return slices.DeleteFunc(slices.Compact(levels), func(w int) bool { return w < 1 })
}

func (t *threads) level(ctx context.Context, asked spec.Run, try Try) (*point, error) {
	workers := int(asked.Load.Workers)
	p := &point{ProcedurePoint: record.ProcedurePoint{Value: float64(workers)}}
	for i := range int(t.spec.Trials) {
		o, err := attempt(ctx, try, asked, fmt.Sprintf("threads: %s, trial %d of %d", figure.Plural(workers, "worker"), i+1, t.spec.Trials))
		if err != nil {
			return nil, err
		}
		p.add(o)
	}
	p.sum()
	return p, nil
}

// compare compares a new level with the best one before it.
func (t *threads) compare(p *point) {
	best := t.best()
	t.points = append(t.points, p)
	switch {
	case p.N == 0:
		t.idle++
	case t.tooLate(p):
		p.note("p99 above the limit of " + figure.Duration(t.spec.Latency.Std()))
		t.idle++
		t.late++
	case best == nil:
		t.idle, t.late = 0, 0
	default:
		if t.gains(p, best) {
			t.idle, t.late = 0, 0
		} else {
			t.idle++
		}
	}
}

// gains reports whether a level gains enough over the best one below it. A large rise counts even if it may be chance,
// with a note, so that the search does not stop too early.
func (t *threads) gains(p, best *point) bool {
	if p.Throughput/best.Throughput < 1+float64(t.spec.Gain) {
		return false
	}
	if r, ok := stats.UnpairedRatio(best.rates, p.rates, confidence); ok && r.Low <= 1 {
		p.note("its gain may be chance: the trials scatter too much")
	}
	return true
}

// tooLate reports whether a level exceeds the limit of the response time.
func (t *threads) tooLate(p *point) bool {
	return t.spec.Latency > 0 && p.P99 != nil && *p.P99 > float64(t.spec.Latency)
}

// best returns the level with the highest throughput within the limit, nil if there is none.
func (t *threads) best() *point {
	var best *point
	for _, p := range t.points {
		if p.N > 0 && !t.tooLate(p) && (best == nil || p.Throughput > best.Throughput) {
			best = p
		}
	}
	return best
}

func (t *threads) choose(result *record.ProcedureResult) {
	defer func() { result.Points = points(t.points) }()
	best := t.best()
	if best == nil {
		result.Reason = "no level has a result: " + t.firstTrouble()
		for _, p := range t.points { // every level is above the limit
			if p.N > 0 {
				result.Chosen = p.Value
				result.Reason = fmt.Sprintf("even with %s p99 was %s, above the limit of %s. Raise the limit, or search with fewer workers",
					figure.Plural(int(p.Value), "worker"), figure.Duration(time.Duration(*p.P99)), figure.Duration(t.spec.Latency.Std()))
				break
			}
		}
		return
	}
	chosen := best
	for _, p := range t.points {
		if p.N > 0 && !t.tooLate(p) && p.Throughput >= (1-float64(t.spec.Gain))*best.Throughput {
			chosen = p
			break
		}
	}
	t.annotate(best)
	result.Chosen = chosen.Value
	result.Settled, result.Reason = t.verdict(chosen, best)
}

// verdict decides whether the search found an answer, and why this level was chosen.
func (t *threads) verdict(chosen, best *point) (settled bool, reason string) {
	reason = fmt.Sprintf("%s operations/s with %s", figure.Rate(chosen.Throughput), figure.Plural(int(chosen.Value), "worker"))
	if chosen != best {
		reason += fmt.Sprintf(", %s of the best, which needs %d", figure.Percent(chosen.Throughput/best.Throughput), int(best.Value))
	}
	if se := t.scatter(); se > float64(t.spec.Gain) && (t.idle == 0 || t.late < t.idle) {
		return false, reason + fmt.Sprintf("; but trials of one level scatter so much that levels are known only to within %s, and a "+
			"gain of %s is not significant. Use more or longer trials, or a quieter machine", figure.Percent(se),
			figure.Percent(float64(t.spec.Gain)))
	}
	last := t.points[len(t.points)-1]
	switch {
	case t.idle < 2 && t.idle > 0:
		return false, reason + fmt.Sprintf("; only the last level, %d, did not gain enough, so the knee is not confirmed. Try more "+
			"workers", int(last.Value))
	case t.idle == 0:
		return false, reason + fmt.Sprintf("; throughput was still rising at the last level, %d, so the knee is above it. Try more "+
			"workers", int(last.Value))
	}
	if found := t.clientLimited(); len(found) > 0 && t.late < t.idle {
		return false, reason + fmt.Sprintf("; but above that the load generator may be the limit, not the target (%s). Give it more "+
			"cores or several clients, and search again", strings.Join(found, ", "))
	}
	switch {
	case t.late == t.idle:
		reason += "; more workers exceed the limit of the response time"
	case chosen == t.points[0] && chosen.Value > 1:
		reason += "; the fewest that were tried already saturate the target"
	default:
		reason += "; more gain less than " + figure.Percent(float64(t.spec.Gain))
	}
	return true, reason + t.asymptotes(best)
}

// scatter returns the standard error of the ratio of two levels, from the scatter of trials of the same level over all
// levels, because each has only a few: √(Σ(x−x̄)²/Σ(n−1)) · √(2/n) on logarithms. It is 0 if no level has two trials.
func (t *threads) scatter() float64 {
	sum, freedom, trials := 0.0, 0, 0
	for _, p := range t.points {
		for _, x := range p.rates {
			d := math.Log(x / p.Throughput)
			sum += d * d
		}
		if p.N > 0 {
			freedom += p.N - 1
			trials = max(trials, p.N)
		}
	}
	if freedom == 0 {
		return 0
	}
	return math.Sqrt(sum / float64(freedom) * 2 / float64(trials))
}

// clientLimited returns the findings about the load generator at the levels that ended the search.
func (t *threads) clientLimited() []string {
	var found []string
	for _, p := range t.points[max(0, len(t.points)-t.idle):] {
		found = append(found, p.blamed(limitsRate...)...)
	}
	return distinct(found)
}

// asymptotes describes where the two bounds of a closed loop meet: N workers reach at most N/R₀ with R₀ the response
// time without a queue, and never more than the best throughput X, so N* = X·R₀ (Little's law). The fewest workers have
// no queue if they are far below that.
func (t *threads) asymptotes(best *point) string {
	first := t.points[0]
	if first.N == 0 || first == best || first.Throughput <= 0 {
		return ""
	}
	if n := best.Throughput / first.Throughput * first.Value; n >= 2*first.Value {
		return fmt.Sprintf(" (the asymptotes of throughput meet at %s workers)", figure.Significant(n))
	}
	return ""
}

// annotate marks the best level and the knee of the curve, which depends on the range and decides nothing.
func (t *threads) annotate(best *point) {
	var x, y []float64
	var at []*point
	for _, p := range t.points {
		if p.N > 0 {
			x, y, at = append(x, p.Value), append(y, p.Throughput), append(at, p)
		}
	}
	if i, ok := stats.Kneedle(x, y); ok {
		at[i].note("knee of the curve (Kneedle)")
	}
	best.note("highest throughput")
}

// firstTrouble returns why the first trial does not count.
func (t *threads) firstTrouble() string {
	for _, p := range t.points {
		for _, o := range p.trials {
			if !o.counts() {
				return o.why()
			}
		}
	}
	return "no trial was made"
}
