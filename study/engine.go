package study

import (
	"fmt"
	"maps"

	"github.com/plimsoll-bench/plimsoll/spec"
)

// ForEngine adapts a study to the engine of its lab: for each capability that the engine lacks, the study's alternative
// replaces what needs it. The alternatives are recorded in [spec.Study.Instead]. Values are those of the document's
// hardware, so scaling comes afterwards.
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
			changes, err := newChanges(instead.Set)
			if err != nil {
				return asked, fmt.Errorf("without: %s: %w", capability, err)
			}
			w := baseOf(&asked).with(changes)
			asked.Run, asked.Lab = w.Run, &w.Lab
			asked.Instead = append(asked.Instead, spec.Left{What: capability, To: instead.Says, Why: why})
		}
		for i := range asked.Factors {
			levelsWithout(&asked.Factors[i], capability)
		}
	}
	return withoutDone(asked), nil
}

// levelsWithout sets the levels of a factor to their values without a capability.
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

// withoutDone removes the alternatives, so that a study is adapted once.
func withoutDone(asked spec.Study) spec.Study {
	asked.Without = nil
	for i := range asked.Factors {
		for j := range asked.Factors[i].Levels {
			asked.Factors[i].Levels[j].Without = nil
		}
	}
	return asked
}
