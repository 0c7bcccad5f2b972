package study

import (
	"strings"

	"github.com/plimsoll-bench/plimsoll/internal/deep"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/spec"
	"github.com/plimsoll-bench/plimsoll/store"
)

// Shown returns a copy of the plan without credentials, to be printed.
func (p *Plan) Shown() *record.PlannedStudy {
	s := p.PlannedStudy
	s.Spec, s.Base, s.Configurations = deep.Copy(s.Spec), deep.Copy(s.Base), deep.Copy(s.Configurations)
	redactRun(&s.Spec.Run)
	redactRun(&s.Base)
	for _, f := range s.Spec.Factors {
		for i := range f.Levels {
			f.Levels[i].Value = shownValue(f.Levels[i].Value)
			redactSet(f.Levels[i].Set)
		}
	}
	for _, c := range s.Configurations {
		redactSet(c.Set)
	}
	return &s
}

func redactRun(r *spec.Run) {
	r.Target = store.Redact(r.Target)
	for _, m := range []map[string]string{r.Workload.Params, r.Labels} {
		for k, v := range m {
			m[k] = shownText(v)
		}
	}
}

func redactSet(set map[string]any) {
	for k, v := range set {
		set[k] = shownValue(v)
	}
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
