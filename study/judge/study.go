package judge

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/record"
)

// Study judges a study from its trials. It sets Canary, Comparisons, Effects, Objectives and the findings about trials
// in Validity. Other findings stay. It is idempotent.
func Study(s *record.Study) {
	j := newJudgement(s)
	s.Canary = j.canary()
	j.look()
	cells, effects := j.comparisons(), j.effects()
	decide(append(slices.Clone(cells), cellsOf(effects)...), j.rules)
	s.Comparisons, s.Effects = j.ordered(cells), conclude(effects)
	s.Objectives = j.objectives()
	others := slices.DeleteFunc(slices.Clone(s.Validity), func(f measure.Finding) bool {
		return slices.Contains(ownFindings, f.ID)
	})
	s.Validity = append(append([]measure.Finding{}, others...), j.findings()...)
	measure.SortFindings(s.Validity)
}

type judgement struct {
	study    *record.Study
	rules    rules
	metrics  []Metric
	baseline string
	final    []*record.Trial            // the last attempt of each trial, except those of procedures, in order
	earlier  []*record.Trial            // previous attempts
	counted  map[string][]*record.Trial // valid trials by configuration
	silent   string                     // why the study has no verdicts yet
}

func newJudgement(s *record.Study) *judgement {
	j := &judgement{study: s, baseline: s.BaselineID(), counted: map[string][]*record.Trial{},
		rules: newRules(float64(s.Specification.Margin), float64(s.Specification.Confidence))}
	j.sortAttempts()
	var values []map[string]float64
	for _, t := range j.final {
		if t.Kind == record.TrialCompared && counts(t) {
			j.counted[t.Configuration] = append(j.counted[t.Configuration], t)
			values = append(values, t.Values)
		}
	}
	j.metrics = compared(s.Specification.Metrics, values)
	return j
}

// sortAttempts separates the last attempt of each trial from the previous ones.
func (j *judgement) sortAttempts() {
	last := map[int]*record.Trial{}
	for i := range j.study.Trials {
		t := &j.study.Trials[i]
		if t.Kind == record.TrialSearch {
			continue
		}
		have, ok := last[t.Number]
		switch {
		case !ok:
			last[t.Number] = t
		case later(t, have):
			j.earlier = append(j.earlier, have)
			last[t.Number] = t
		default:
			j.earlier = append(j.earlier, t)
		}
	}
	for _, n := range slices.Sorted(maps.Keys(last)) {
		j.final = append(j.final, last[n])
	}
}

// later reports whether an attempt replaces another one: a finished one replaces an unfinished one, otherwise the later
// one counts.
func later(t, than *record.Trial) bool {
	if a, b := t.Status == record.TrialDone, than.Status == record.TrialDone; a != b {
		return a
	}
	return t.Attempt >= than.Attempt
}

// counts reports whether a trial is valid.
func counts(t *record.Trial) bool {
	return t.Status == record.TrialDone && measure.Worst(t.Validity) != measure.Invalid
}

// look sets the level of the verdicts, and records it with the study. All looks at a study use at most 1 − confidence
// together (Bonferroni): one that may be followed by another uses half of what is left, the last one all of it.
func (j *judgement) look() {
	left, repeatable, valid := 0, false, 0
	for _, t := range j.final {
		switch {
		case t.Kind != record.TrialCompared:
		case counts(t):
			valid++
		case missing(t):
			left++
		default: // failed, invalid or left out
			repeatable = true
		}
	}
	if left > 0 && j.study.Specification.UntilDecided && j.atLook() {
		left, repeatable = 0, true
	}
	if left > 0 {
		j.silent = fmt.Sprintf("preliminary: %s missing. There is no verdict before the planned number of trials",
			isOrAre(left, "trial"))
		return
	}
	looks := j.study.Looks
	if n := len(looks); n > 0 && looks[n-1].Trials == valid {
		j.rules.level = looks[n-1].Level
	} else {
		level := j.rules.alpha()
		for _, l := range looks {
			level -= l.Level
		}
		if repeatable {
			level /= 2
		}
		j.rules.level = max(0, level)
		j.study.Looks = append(looks, record.Look{Trials: valid, Level: j.rules.level})
	}
	if j.study.Specification.UntilDecided {
		// A study that ends at a difference ends where it looks large, so its intervals cover at all looks together.
		j.rules.interval = 1 - j.rules.level
	}
}

// missing reports whether a compared trial is still to be run.
func missing(t *record.Trial) bool {
	return t.Kind == record.TrialCompared && (t.Status == record.TrialPlanned || t.Status == record.TrialRunning ||
		t.Status == record.TrialLost)
}

func isOrAre(n int, noun string) string {
	if n == 1 {
		return "1 " + noun + " is"
	}
	return fmt.Sprintf("%d %ss are", n, noun)
}

// observations returns the values of trials in a metric, in the order of the plan.
func observations(trials []*record.Trial, metric string, weight float64) []observation {
	list := make([]observation, 0, len(trials))
	for _, t := range trials {
		if x, ok := t.Values[metric]; ok {
			list = append(list, observation{x, t.Block, weight})
		}
	}
	return list
}

func (j *judgement) batched() bool { return j.study.Specification.Order == "batched" }

// comparisons compares every configuration with the baseline in every metric. Trials of another batch ran at another
// time, so they are not compared with them, even if the blocks have the same number.
func (j *judgement) comparisons() []*cell {
	var all []*cell
	batch := map[string]string{}
	for _, c := range j.study.Configurations {
		batch[c.ID] = j.study.Specification.BatchOf(c.Levels)
	}
	for _, m := range j.metrics {
		base := observations(j.counted[j.baseline], m.Name, -1)
		for _, c := range j.study.Configurations {
			if c.ID == j.baseline {
				continue
			}
			value, silent := observations(j.counted[c.ID], m.Name, 1), j.silent
			if batch[c.ID] != batch[j.baseline] {
				value, silent = unpaired(value), otherBatch
			}
			one := newCell(m, base, value, silent, j.rules)
			one.Configuration, one.Baseline = c.ID, j.baseline
			withoutAnswer(one, j.counted[j.baseline], j.counted[c.ID], func(t *record.Trial) []string { return t.NoAnswer })
			if missing := len(j.counted[c.ID]) - len(value); missing > 0 && len(value) > 0 {
				one.notes = append(one.notes, plural(missing, "trial")+" without a value")
			}
			all = append(all, one)
		}
	}
	return all
}

// unpaired returns the observations without their blocks.
func unpaired(list []observation) []observation {
	for i := range list {
		list[i].block = 0
	}
	return list
}

// ordered sorts the comparisons by configuration, then by metric.
func (j *judgement) ordered(cells []*cell) []record.Comparison {
	place := map[string]int{}
	for i, c := range j.study.Configurations {
		place[c.ID] = i
	}
	slices.SortStableFunc(cells, func(a, b *cell) int {
		return cmp.Compare(place[a.Configuration], place[b.Configuration])
	})
	var list []record.Comparison
	for _, c := range cells {
		if c.N+c.NBase > 0 {
			list = append(list, c.Comparison)
		}
	}
	return list
}

// otherBatch is why comparisons between batches have no verdict.
const otherBatch = "no verdict: it ran in another batch than the baseline, so a drift in between looks like its effect. " +
	"order: blocks alternates"

// objectives checks the objectives for the trials of each configuration. A failed trial does not meet them. An invalid
// one does not count. A study that compares nothing, such as a capacity search, has no results.
func (j *judgement) objectives() []record.ConfigurationObjective {
	tried := map[string][]*record.Trial{}
	for _, t := range j.final {
		failed := t.Status == record.TrialFailed || t.Status == record.TrialTimeout
		if t.Kind == record.TrialCompared && (counts(t) || failed) {
			tried[t.Configuration] = append(tried[t.Configuration], t)
		}
	}
	var results []record.ConfigurationObjective
	if !slices.ContainsFunc(j.final, func(t *record.Trial) bool { return t.Kind == record.TrialCompared }) {
		return nil
	}
	for _, c := range j.study.Configurations {
		for _, o := range objectives(j.study.Specification) {
			r := record.ConfigurationObjective{Configuration: c.ID, Objective: o.Text, Exploratory: c.Exploratory}
			for _, t := range tried[c.ID] {
				r.N++
				if t.Status != record.TrialDone {
					continue
				}
				switch holds, known := objectiveOf(t, o); {
				case !known:
					r.Unknown++
				case holds:
					r.Met++
				}
			}
			r.Holds = r.N > 0 && r.Met == r.N
			results = append(results, r)
		}
	}
	return results
}

// objectiveOf checks an objective for a trial. A time without an answer is missed. A percentile that the trial could
// not state is below a limit if the trial's maximum is.
func objectiveOf(t *record.Trial, o measure.Objective) (holds, known bool) {
	if slices.Contains(t.NoAnswer, ofObjective(o)) {
		return false, true
	}
	if x, ok := t.Values[ofObjective(o)]; ok {
		return o.MetBy(x), true
	}
	x, ok := t.Values[boundOf(o)]
	return true, ok && o.AtMost() && o.MetBy(x)
}

// boundOf returns the maximum of the operations whose percentile an objective limits; "" for objectives of other
// metrics.
func boundOf(o measure.Objective) string {
	if !strings.HasPrefix(o.Metric, "p") {
		return ""
	}
	o.Metric = "max"
	return ofObjective(o)
}
