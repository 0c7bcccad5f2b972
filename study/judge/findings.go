package judge

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/plimsoll-bench/plimsoll/internal/figure"
	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/measure/stats"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/spec"
)

var plural = figure.Plural

// ownFindings are the ids of the findings of this package about a study.
var ownFindings = []string{"no-baseline", "few-trials", "failed-trials", "invalid-trials", "doubtful-trials",
	"repeated-trials", "missing-trials", "unknown-objective", "unknown-metric", "batched-order", "drift", "outliers",
	"not-settled", "not-confirmed", "no-capacity"}

func (j *judgement) findings() []measure.Finding {
	var all []measure.Finding
	for _, check := range []func() []measure.Finding{
		j.checkBaseline, j.checkNumber, j.checkFailed, j.checkInvalid, j.checkDoubtful, j.checkRepeated, j.checkMissing,
		j.checkObjectives, j.checkMetrics, j.checkOrder, j.checkDrift, j.checkOutliers, j.checkProcedures,
	} {
		all = append(all, check()...)
	}
	return all
}

func finding(id string, severity measure.Severity, text string, args ...any) []measure.Finding {
	return []measure.Finding{{ID: id, Severity: severity, Text: fmt.Sprintf(text, args...)}}
}

const (
	trialsForRanks  = 4 // with fewer, the rank test cannot reach 5 %
	trialsForMedian = 6 // with fewer, the median has no interval of 95 %
)

func (j *judgement) checkBaseline() []measure.Finding {
	if len(j.study.Configurations) < 2 || len(j.final) == 0 || len(j.counted[j.baseline]) > 0 {
		return nil
	}
	return finding("no-baseline", measure.Invalid,
		"the baseline has no valid trial, so nothing can be compared with it. See why its trials failed and repeat them")
}

func (j *judgement) checkNumber() []measure.Finding {
	least, which := math.MaxInt, ""
	for _, c := range j.study.Configurations {
		if n := len(j.counted[c.ID]); n < least {
			least, which = n, c.ID
		}
	}
	if len(j.final) == 0 || least >= trialsForMedian || j.study.Specification.UntilDecided && least >= spec.FirstLook {
		return nil
	}
	severity, text := measure.Warning, ""
	switch {
	case least == 0:
		text = "Without trials there is no result"
	case least == 1:
		text = "One trial does not show how much trials differ"
	case least < trialsForRanks && len(j.study.Configurations) < 2:
		text = "So few hardly show how much trials differ"
	case least < trialsForRanks:
		text = fmt.Sprintf("Verdicts rely on the t distribution alone, because the rank test needs %d trials", trialsForRanks)
	default:
		severity, text = measure.Note, fmt.Sprintf("The 95 %% interval of a median needs %d", trialsForMedian)
	}
	f := finding("few-trials", severity, "%s has the fewest valid trials: %d. %s. Increase trials", which, least, text)
	value, limit := float64(least), float64(trialsForMedian)
	f[0].Value, f[0].Limit, f[0].Unit = &value, &limit, "trials"
	return f
}

// named lists trials by number, at most 12.
func named(trials []*record.Trial) string {
	const most = 12
	var list []string
	for _, t := range trials {
		if len(list) == most {
			list = append(list, "…")
			break
		}
		list = append(list, strconv.Itoa(t.Number))
	}
	return strings.Join(list, ", ")
}

func (j *judgement) pick(is func(*record.Trial) bool) []*record.Trial {
	var list []*record.Trial
	for _, t := range j.final {
		if is(t) {
			list = append(list, t)
		}
	}
	return list
}

func (j *judgement) checkFailed() []measure.Finding {
	failed := j.pick(func(t *record.Trial) bool {
		return t.Status == record.TrialFailed || t.Status == record.TrialTimeout
	})
	if len(failed) == 0 {
		return nil
	}
	return finding("failed-trials", measure.Warning, "%s of %d failed or timed out (%s). They are shown but do not count, which biases the result if "+
		"the failures depend on what is compared. See why they failed and repeat them",
		plural(len(failed), "trial"), len(j.final), named(failed))
}

func (j *judgement) checkInvalid() []measure.Finding {
	invalid := j.pick(func(t *record.Trial) bool { return t.Status == record.TrialDone && !counts(t) })
	if len(invalid) == 0 {
		return nil
	}
	severity, text := measure.Warning, ""
	if 2*len(invalid) > len(j.final) {
		severity, text = measure.Invalid, " These are more than half of the study."
	}
	return finding("invalid-trials", severity, "invalid: %s of %d (%s), because of %s. They are shown but do not count.%s Remove the cause "+
		"and repeat them", plural(len(invalid), "trial"), len(j.final), named(invalid), reasons(invalid, measure.Invalid), text)
}

func (j *judgement) checkDoubtful() []measure.Finding {
	doubtful := j.pick(func(t *record.Trial) bool { return counts(t) && measure.Worst(t.Validity) == measure.Warning })
	if len(doubtful) == 0 {
		return nil
	}
	return finding("doubtful-trials", measure.Warning, "warnings in %s of %d: %s. These trials count. See the trials",
		plural(len(doubtful), "trial"), len(j.final), reasons(doubtful, measure.Warning))
}

// reasons lists the findings of a severity with the number of trials that have them, most frequent first.
func reasons(trials []*record.Trial, severity measure.Severity) string {
	count := map[string]int{}
	for _, t := range trials {
		seen := map[string]bool{}
		for _, f := range t.Validity {
			if f.Severity == severity && !seen[f.ID] {
				seen[f.ID] = true
				count[f.ID]++
			}
		}
	}
	return tally(count)
}

// tally lists names with their counts, most frequent first.
func tally(count map[string]int) string {
	names := slices.SortedFunc(maps.Keys(count), func(a, b string) int {
		return cmp.Or(count[b]-count[a], cmp.Compare(a, b))
	})
	for i, name := range names {
		names[i] = fmt.Sprintf("%s (%d×)", name, count[name])
	}
	return strings.Join(names, ", ")
}

func (j *judgement) checkRepeated() []measure.Finding {
	if len(j.earlier) == 0 {
		return nil
	}
	return finding("repeated-trials", measure.Note, "repeated after a failure or loss: %s (%s), at another time than the rest of the block",
		plural(len(j.earlier), "attempt"), named(j.earlier))
}

func (j *judgement) checkMissing() []measure.Finding {
	missing := j.pick(func(t *record.Trial) bool {
		return t.Status == record.TrialPlanned || t.Status == record.TrialRunning || t.Status == record.TrialLost
	})
	if len(missing) == 0 {
		return nil
	}
	return finding("missing-trials", measure.Warning, "not run yet: %s of %d, so the result is preliminary. Run them with: plimsoll study resume",
		plural(len(missing), "trial"), len(j.final))
}

// checkObjectives finds objectives that not every trial could measure.
func (j *judgement) checkObjectives() []measure.Finding {
	var unknown []string
	for _, o := range objectives(j.study.Specification) {
		for _, trials := range j.counted {
			if !slices.Contains(unknown, o.Text) && slices.ContainsFunc(trials,
				func(t *record.Trial) bool { _, known := objectiveOf(t, o); return !known }) {
				unknown = append(unknown, o.Text)
			}
		}
	}
	if len(unknown) == 0 {
		return nil
	}
	return finding("unknown-objective", measure.Warning, "not every trial measured the metric of %s, so whether it holds is not known. The workload has no "+
		"such operation, or too few for this percentile. Use longer trials or another objective", strings.Join(unknown, ", "))
}

func (j *judgement) checkMetrics() []measure.Finding {
	var values []map[string]float64
	for _, trials := range j.counted {
		for _, t := range trials {
			values = append(values, t.Values)
		}
	}
	return unknownMetrics(unstated(j.metrics, values))
}

// unknownMetrics reports requested metrics that no trial measured.
func unknownMetrics(names []string) []measure.Finding {
	if len(names) == 0 {
		return nil
	}
	return finding("unknown-metric", measure.Warning, "no trial measured %s, so it is not compared. The workload has no such operation, or too few for "+
		"this percentile. See the operations with: plimsoll show", strings.Join(names, ", "))
}

func (j *judgement) checkOrder() []measure.Finding {
	if !j.batched() {
		return nil
	}
	return finding("batched-order", measure.Warning, "trials with the same %s ran one after the other, so a drift of the machine looks like a difference "+
		"between batches. Use order: blocks. The canary shows how much the machine drifted",
		strings.Join(j.study.Specification.Batch, ", "))
}

// maxBlockDrift is the drift beyond which even a study in blocks is doubtful: ratios within blocks tolerate it, but the
// system is not the same at the beginning and at the end.
const maxBlockDrift = 0.1

func (j *judgement) checkDrift() []measure.Finding {
	c := j.study.Canary
	if c == nil || c.P == nil || *c.P >= j.rules.alpha() || math.Abs(c.Drift) <= j.rules.margin {
		return nil
	}
	severity, text := measure.Note, "Comparisons within blocks tolerate that, but single values are not comparable over time"
	switch {
	case j.batched():
		severity, text = measure.Invalid, "In batched order it cannot be distinguished from the effect of the factors. Find the cause, or use order: blocks"
	case math.Abs(c.Drift) > maxBlockDrift:
		severity, text = measure.Warning, "Comparisons within blocks tolerate a drift, but this system is not the same at the beginning and at the end. "+
			"Find the cause"
	}
	f := finding("drift", severity, "the %s of the repeated baseline changed by %s from the first to the last of %d trials. %s",
		c.Metric, figure.Change(1+c.Drift), c.N, text)
	drift, limit := c.Drift, j.rules.margin
	f[0].Value, f[0].Limit, f[0].Unit = &drift, &limit, measure.UnitShare
	return f
}

func (j *judgement) checkOutliers() []measure.Finding {
	if len(j.metrics) == 0 {
		return nil
	}
	m := j.metrics[0]
	var found []*record.Trial
	for _, c := range j.study.Configurations {
		var xs []float64
		var trials []*record.Trial
		for _, t := range j.counted[c.ID] {
			if x, ok := t.Values[m.Name]; ok {
				xs, trials = append(xs, x), append(trials, t)
			}
		}
		for i, far := range stats.Outliers(xs) {
			if far {
				found = append(found, trials[i])
			}
		}
	}
	if len(found) == 0 {
		return nil
	}
	return finding("outliers", measure.Note, "the %s of %s is far from that of the other trials of its configuration (number %s). Outliers count. "+
		"Their records may say why", m.Name, plural(len(found), "trial"), named(found))
}

func (j *judgement) checkProcedures() []measure.Finding {
	var all []measure.Finding
	for _, p := range j.study.Procedures {
		if !p.Settled {
			all = append(all, finding("not-settled", measure.Warning, "procedure %s found no answer: %s. It chose "+
				"the best value that was tried", p.Name, strings.TrimSuffix(p.Reason, "."))...)
		}
	}
	switch c := j.study.Capacity; {
	case c == nil || c.Confirmed:
	case c.Rate > 0:
		all = append(all, finding("not-confirmed", measure.Warning, "confirming trials did not confirm the load line: %s",
			strings.TrimSuffix(c.Reason, "."))...)
	default:
		all = append(all, finding("no-capacity", measure.Warning, "the search for the load line found no rate that holds: %s",
			strings.TrimSuffix(c.Reason, "."))...)
	}
	return all
}

// canary returns the drift of the baseline over all its trials, canaries and compared ones.
func (j *judgement) canary() *record.CanaryResult {
	metric := j.canaryMetric()
	trials := j.pick(func(t *record.Trial) bool {
		_, has := t.Values[metric]
		return has && counts(t) && (t.Kind == record.TrialCanary || t.Configuration == j.baseline)
	})
	at, values := course(trials, metric)
	middle := measure.Median(values)
	if len(values) < 3 || middle == 0 {
		return nil
	}
	c := &record.CanaryResult{Metric: metric, N: len(values), Spread: (slices.Max(values) - slices.Min(values)) / middle}
	at, values = thin(at, values)
	c.Drift = driftOf(at, values)
	if len(values) >= trialsForRanks {
		_, p := measure.MannKendall(values)
		c.P = &p
	}
	return c
}

// driftOf returns the trend from the first to the last value as a share of the first. It is estimated on logarithms, so
// it cannot be below −100 %. If a value is zero, it is a share of the median instead, and bounded.
func driftOf(at, values []float64) float64 {
	length := slices.Max(at) - slices.Min(at)
	if !positive(values) {
		return max(-1, measure.TheilSen(at, values)*length/measure.Median(values))
	}
	logs := make([]float64, len(values))
	for i, x := range values {
		logs[i] = math.Log(x)
	}
	return math.Expm1(measure.TheilSen(at, logs) * length)
}

// course returns the values of trials, and their times in seconds, or their numbers if not all times are known.
func course(trials []*record.Trial, metric string) (at, values []float64) {
	timed := !slices.ContainsFunc(trials, func(t *record.Trial) bool { return t.Started == nil })
	for _, t := range trials {
		when := float64(t.Number)
		if timed {
			when = t.Started.Sub(*trials[0].Started).Seconds()
		}
		at, values = append(at, when), append(values, t.Values[metric])
	}
	return at, values
}

// canaryMetric returns throughput. At an offered rate, throughput is the same whatever the target does, so it returns
// the first compared latency then.
func (j *judgement) canaryMetric() string {
	if j.study.Base.Load.Open() || j.study.Specification.Run.Load.Open() {
		for _, m := range j.metrics {
			if m.Unit == measure.UnitTime {
				return m.Name
			}
		}
	}
	return "throughput"
}

// maxTrend bounds the points of a trend, because its cost is quadratic.
const maxTrend = 400

// thin replaces groups of neighbours by their medians if there are very many values.
func thin(at, values []float64) (x, y []float64) {
	if len(values) <= maxTrend {
		return at, values
	}
	step := (len(values) + maxTrend - 1) / maxTrend
	for i := 0; i < len(values); i += step {
		end := min(i+step, len(values))
		x, y = append(x, measure.Median(at[i:end])), append(y, measure.Median(values[i:end]))
	}
	return x, y
}
