package study

import (
	"fmt"
	"maps"
	"slices"

	"github.com/plimsoll-bench/plimsoll/record"
)

// ForEngine returns a study as the engine of its lab can do it: what the study says for a capability that the engine lacks
// takes the place of what needs it. The values are those of the document's hardware, so a scale comes afterwards. What was
// done instead is in the specification that is returned ([record.StudySpec.Instead]).
func ForEngine(spec record.StudySpec) (record.StudySpec, error) {
	if spec.Lab == nil || spec.Lab.Engine.Name == "" {
		return spec, nil
	}
	spec = copyStudy(spec)
	for _, capability := range record.Capabilities() {
		why := record.EngineLacks(spec.Lab.Engine.Name, capability)
		if why == "" {
			continue
		}
		if instead, ok := spec.Without[capability]; ok {
			if err := setKeys(&spec, instead.Set); err != nil {
				return spec, fmt.Errorf("without: %s: %w", capability, err)
			}
			spec.Instead = append(spec.Instead, record.Left{What: capability, To: instead.Says, Why: why})
		}
		for i := range spec.Factors {
			levelsWithout(&spec.Factors[i], capability)
		}
	}
	return withoutDone(spec), nil
}

// setKeys sets keys of the base by their paths.
func setKeys(spec *record.StudySpec, set map[string]any) error {
	w := wholeOf(spec).copied()
	for _, path := range slices.Sorted(maps.Keys(set)) {
		c, err := newChange(path, set[path])
		if err != nil {
			return err
		}
		c.field.set(&w, c.value)
	}
	spec.Run, spec.Lab = w.Run, &w.Lab
	return nil
}

// levelsWithout gives the levels of a factor the values that they have without a capability.
func levelsWithout(f *record.FactorSpec, capability string) {
	for i := range f.Levels {
		l := &f.Levels[i]
		for path, value := range l.Without[capability] {
			if l.Set == nil && path == f.Path {
				if l.Name == "" {
					l.Name = fmt.Sprint(l.Value)
				}
				l.Value = value
				continue
			}
			l.Set = maps.Clone(l.Set)
			if l.Set == nil {
				l.Set = map[string]any{f.Path: l.Value}
			}
			l.Set[path] = value
		}
	}
}

// withoutDone forgets what was said for capabilities, so that a study is taken to its engine once.
func withoutDone(spec record.StudySpec) record.StudySpec {
	spec.Without = nil
	for i := range spec.Factors {
		for j := range spec.Factors[i].Levels {
			spec.Factors[i].Levels[j].Without = nil
		}
	}
	return spec
}
