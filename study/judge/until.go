package judge

import (
	"slices"

	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/spec"
)

// IsLook reports whether a study until decided is to be judged now: 4, 8, 16 … blocks are over and the next one has not
// begun. Levels are halved from look to look, so blocks are doubled: more looks would need more trials in all.
func IsLook(s *record.Study) bool { return newJudgement(s).atLook() }

func (j *judgement) atLook() bool {
	over, open := 0, false
	first := map[int]bool{} // blocks with a trial that has not begun
	for _, t := range j.final {
		if t.Kind != record.TrialCompared {
			continue
		}
		if t.Status == record.TrialPlanned {
			first[t.Block] = true
		} else {
			over = max(over, t.Block)
			open = open || missing(t)
		}
	}
	for b := range first {
		open = open || b <= over
	}
	look := spec.FirstLook
	for look < over {
		look *= 2
	}
	return !open && over == look
}

// Decided reports whether each configuration of a judged study has a verdict: a metric that is better or worse, or all
// equivalent.
func Decided(s *record.Study) bool {
	differs, open := map[string]bool{}, map[string]bool{}
	for _, c := range s.Comparisons {
		differs[c.Configuration] = differs[c.Configuration] || c.Verdict == record.Better || c.Verdict == record.Worse
		open[c.Configuration] = open[c.Configuration] || c.Verdict == record.Inconclusive
	}
	return len(s.Comparisons) > 0 && !slices.ContainsFunc(s.Configurations, func(c record.Configuration) bool {
		return !c.Baseline && open[c.ID] && !differs[c.ID]
	})
}
