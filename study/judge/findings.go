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
)

var plural = figure.Plural

// ownFindings are the findings about a study that are made here.
var ownFindings = []string{"no-baseline", "few-trials", "failed-trials", "invalid-trials", "doubtful-trials", "repeated-trials",
	"missing-trials", "unknown-objective", "unknown-metric", "batched-order", "drift", "outliers", "not-settled", "not-confirmed", "no-capacity"}

// findings looks for reasons not to believe a study.
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

// The numbers of trials from which on something can be said; see statistics on trials and intervals in the
// documentation of comparisons.
const (
	trialsForRanks  = 4 // the rank test can reach 5 %
	trialsForMedian = 6 // the median has an interval of 95 %
)

func (j *judgement) checkBaseline() []measure.Finding {
	if len(j.study.Configurations) < 2 || len(j.final) == 0 || len(j.counted[j.baseline]) > 0 {
		return nil
	}
	return finding("no-baseline", measure.Invalid,
		"no trial of the baseline counts, so nothing can be compared with it; see what became of its trials and run them again")
}

func (j *judgement) checkNumber() []measure.Finding {
	least, which := math.MaxInt, ""
	for _, c := range j.study.Configurations {
		if n := len(j.counted[c.ID]); n < least {
			least, which = n, c.ID
		}
	}
	if len(j.final) == 0 || least >= trialsForMedian {
		return nil
	}
	severity, text := measure.Warning, ""
	switch {
	case least == 0:
		text = "nothing can be said of it"
	case least == 1:
		text = "one trial tells nothing of how much trials differ"
	case least < trialsForRanks && len(j.study.Configurations) < 2:
		text = "they say little of how much trials differ"
	case least < trialsForRanks:
		text = fmt.Sprintf("a verdict rests on the t distribution alone, and the rank test, which needs %d, cannot confirm it", trialsForRanks)
	default:
		severity, text = measure.Note, fmt.Sprintf("a median has no interval of 95 %% below %d", trialsForMedian)
	}
	f := finding("few-trials", severity, "the fewest trials that count are those of %s, %d: %s; raise trials", which, least, text)
	value, limit := float64(least), float64(trialsForMedian)
	f[0].Value, f[0].Limit, f[0].Unit = &value, &limit, "trials"
	return f
}

// named lists trials by their numbers, not all of many.
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
		return t.Status == record.TrialFailed ||
			t.Status == record.TrialTimeout
	})
	if len(failed) == 0 {
		return nil
	}
	return finding("failed-trials", measure.Warning, "%s of %d failed or ran out of time (%s); they are kept and shown but count for nothing, "+
		"and what makes trials fail may be what is compared: see why, and run them again", plural(len(failed), "trial"), len(j.final), named(failed))
}

func (j *judgement) checkInvalid() []measure.Finding {
	invalid := j.pick(func(t *record.Trial) bool { return t.Status == record.TrialDone && !counts(t) })
	if len(invalid) == 0 {
		return nil
	}
	severity, text := measure.Warning, ""
	if 2*len(invalid) > len(j.final) {
		severity, text = measure.Invalid, "; that is more than half of the study"
	}
	return finding("invalid-trials", severity, "%s of %d must not be believed (%s) because of %s; they are shown but count for nothing%s: remove the cause and run them again",
		plural(len(invalid), "trial"), len(j.final), named(invalid), reasons(invalid, measure.Invalid), text)
}

func (j *judgement) checkDoubtful() []measure.Finding {
	doubtful := j.pick(func(t *record.Trial) bool { return counts(t) && measure.Worst(t.Validity) == measure.Warning })
	if len(doubtful) == 0 {
		return nil
	}
	return finding("doubtful-trials", measure.Warning, "%s of %d that count are to be believed with care: %s; see the trials",
		plural(len(doubtful), "trial"), len(j.final), reasons(doubtful, measure.Warning))
}

// reasons lists the findings of a severity and in how many trials they were made, the most frequent first.
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

// tally lists what was counted, the most frequent first.
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
	return finding("repeated-trials", measure.Note, "%s had to be repeated after failing or being lost (%s), at another time than the rest of their block",
		plural(len(j.earlier), "attempt"), named(j.earlier))
}

func (j *judgement) checkMissing() []measure.Finding {
	missing := j.pick(func(t *record.Trial) bool {
		return t.Status == record.TrialPlanned || t.Status == record.TrialRunning || t.Status == record.TrialLost
	})
	if len(missing) == 0 {
		return nil
	}
	return finding("missing-trials", measure.Warning, "%s of %d have not been done, so this is what can be said so far; plimsoll study resume does them",
		plural(len(missing), "trial"), len(j.final))
}

// checkObjectives tells of objectives of which nobody knows whether they hold.
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
	return finding("unknown-objective", measure.Warning, "not every trial could state what %s limits, so nobody knows whether it holds: there is no such operation in the workload, "+
		"or too few of them for such a percentile; run longer, or ask for another one", strings.Join(unknown, ", "))
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

// unknownMetrics tells of metrics that were asked for and that nobody can compare.
func unknownMetrics(names []string) []measure.Finding {
	if len(names) == 0 {
		return nil
	}
	return finding("unknown-metric", measure.Warning, "nothing could state %s, so it is not compared: there is no such operation in the workload, "+
		"or too few of them for such a percentile; see the operations with plimsoll show", strings.Join(names, ", "))
}

func (j *judgement) checkOrder() []measure.Finding {
	if !j.batched() {
		return nil
	}
	return finding("batched-order", measure.Warning, "trials that share %s ran one after the other, so in comparisons between batches whatever else changed on the machine "+
		"meanwhile counts as their effect; order: blocks is the certain way, and the canary shows how much moved", strings.Join(j.study.Specification.Batch, ", "))
}

// maxBlockDrift is the drift beyond which even a study in blocks is doubted: ratios within blocks stand it, but the
// values of its beginning and its end are not those of the same system.
const maxBlockDrift = 0.1

func (j *judgement) checkDrift() []measure.Finding {
	c := j.study.Canary
	if c == nil || c.P == nil || *c.P >= j.rules.alpha() || math.Abs(c.Drift) <= j.rules.margin {
		return nil
	}
	severity, text := measure.Note, "the comparison within blocks is made to stand that; single values are not comparable over time"
	switch {
	case j.batched():
		severity, text = measure.Invalid, "in batched order nobody can tell that from the effect of what was varied: find what moved, or use order: blocks"
	case math.Abs(c.Drift) > maxBlockDrift:
		severity, text = measure.Warning, "the comparison within blocks is made to stand a drift, but this is another system at the end than at the beginning: find what moved"
	}
	f := finding("drift", severity, "the %s of the repeated baseline moved by %s from the first to the last of %d trials; %s",
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
	return finding("outliers", measure.Note, "the %s of %s lies far from that of the other trials of its configuration (number %s); it counts like all others, "+
		"and its record may say why", m.Name, plural(len(found), "trial"), named(found))
}

func (j *judgement) checkProcedures() []measure.Finding {
	var all []measure.Finding
	for _, p := range j.study.Procedures {
		if !p.Settled {
			all = append(all, finding("not-settled", measure.Warning, "the procedure %s did not find what it looked for: %s; what it chose is the best that was tried",
				p.Name, strings.TrimSuffix(p.Reason, "."))...)
		}
	}
	switch c := j.study.Capacity; {
	case c == nil || c.Confirmed:
	case c.Rate > 0:
		all = append(all, finding("not-confirmed", measure.Warning, "the capacity was not confirmed by fresh trials: %s", strings.TrimSuffix(c.Reason, "."))...)
	default:
		all = append(all, finding("no-capacity", measure.Warning, "the search for the capacity found no rate that holds: %s", strings.TrimSuffix(c.Reason, "."))...)
	}
	return all
}

// canary says how the repeated baseline moved. All trials of the baseline are looked at, those of the comparison as
// well: they are the same configuration.
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

// driftOf is the trend from the first to the last value as a share of where it began. It is estimated on logarithms, so
// that nothing can shrink by more than all of it; where a value is zero, it is a share of the median and bounded.
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

// course returns when trials ran, in seconds or, where that is not known of all, by their numbers, and their values.
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

// canaryMetric is the throughput, but for an offered rate, which is the same whatever the target does: there it is the
// first time that is compared.
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

// maxTrend is how many points a trend is made of; it takes as many steps as there are pairs of them.
const maxTrend = 400

// thin takes the medians of neighbours where there are very many values.
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
