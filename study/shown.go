package study

import (
	"maps"
	"slices"
	"strings"

	"github.com/plimsoll-bench/plimsoll/spec"
	"github.com/plimsoll-bench/plimsoll/store"
)

// Shown returns a copy of the plan without credentials, to be printed. It cannot be run.
func (p *Plan) Shown() *Plan {
	s := *p
	s.specs = nil
	s.Spec = copyStudy(s.Spec)
	s.Spec.Run, s.Base = shownRun(s.Spec.Run), shownRun(s.Base)
	for _, f := range s.Spec.Factors {
		for i := range f.Levels {
			f.Levels[i].Value = shownValue(f.Levels[i].Value)
			f.Levels[i].Set = shownSet(f.Levels[i].Set)
		}
	}
	s.Configurations = slices.Clone(s.Configurations)
	for i := range s.Configurations {
		s.Configurations[i].Set = shownSet(s.Configurations[i].Set)
	}
	return &s
}

func shownRun(r spec.Run) spec.Run {
	r = copySpec(r)
	r.Target = store.Redact(r.Target)
	for _, m := range []map[string]string{r.Workload.Params, r.Labels} {
		for k, v := range m {
			m[k] = shownText(v)
		}
	}
	return r
}

func shownSet(set map[string]any) map[string]any {
	set = maps.Clone(set)
	for k, v := range set {
		set[k] = shownValue(v)
	}
	return set
}

func shownValue(v any) any {
	if text, ok := v.(string); ok {
		return shownText(text)
	}
	return v
}

func shownText(s string) string {
	if strings.Contains(s, "://") {
		return store.Redact(s)
	}
	return s
}
