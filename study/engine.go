package study

import (
	"fmt"
	"maps"
	"slices"

	"github.com/plimsoll-bench/plimsoll/spec"
)

// ForEngine returns a study as the engine of its lab can do it: what the study says for a capability that the engine
// lacks takes the place of what needs it. The values are those of the document's hardware, so a scale comes afterwards.
// What was done instead is in the specification that is returned ([spec.Study.Instead]).
func ForEngine(asked spec.Study) (spec.Study, error) {
	if asked.Lab == nil || asked.Lab.Engine.Name == "" {
		return asked, nil
	}
	asked = copyStudy(asked)
	for _, capability := range spec.Capabilities() {
		why := spec.EngineLacks(asked.Lab.Engine.Name, capability)
		if why == "" {
			continue
		}
		if instead, ok := asked.Without[capability]; ok {
			if err := setKeys(&asked, instead.Set); err != nil {
				return asked, fmt.Errorf("without: %s: %w", capability, err)
			}
			asked.Instead = append(asked.Instead, spec.Left{What: capability, To: instead.Says, Why: why})
		}
		for i := range asked.Factors {
			levelsWithout(&asked.Factors[i], capability)
		}
	}
	return withoutDone(asked), nil
}

// setKeys sets keys of the base by their paths.
func setKeys(asked *spec.Study, set map[string]any) error {
	w := wholeOf(asked).copied()
	for _, path := range slices.Sorted(maps.Keys(set)) {
		c, err := newChange(path, set[path])
		if err != nil {
			return err
		}
		c.field.set(&w, c.value)
	}
	asked.Run, asked.Lab = w.Run, &w.Lab
	return nil
}

// levelsWithout gives the levels of a factor the values that they have without a capability.
func levelsWithout(f *spec.Factor, capability string) {
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
func withoutDone(asked spec.Study) spec.Study {
	asked.Without = nil
	for i := range asked.Factors {
		for j := range asked.Factors[i].Levels {
			asked.Factors[i].Levels[j].Without = nil
		}
	}
	return asked
}
