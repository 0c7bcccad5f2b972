package conduct

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/spec"
	"github.com/plimsoll-bench/plimsoll/store"
)

// A target that cannot be reached stops a study, because nothing is gained by failing all its trials: they are repeated
// when the study goes on. Where configurations have different targets, only the trials of that one fail, and the study
// goes on with the others; it stops once none of its targets could be reached.

// streak is the trials that failed since one succeeded last.
type streak struct {
	failures  int                       // one after the other, of targets that were reached
	unreached map[string][]record.Trial // that did not reach their target, by that, since one was reached last
}

// doorOf is what it depends on whether a target can be reached.
func doorOf(asked spec.Run) string { return asked.Target + " " + asked.Client }

// notReached takes into account that a trial did not reach its target, and reports whether none of the targets could be
// reached.
func (s *streak) notReached(t record.Trial, at spec.Run, targets []spec.Run) (none bool) {
	s.unreached[doorOf(at)] = append(s.unreached[doorOf(at)], t)
	doors := map[string]bool{}
	for _, target := range targets {
		doors[doorOf(target)] = true
	}
	return len(doors) <= len(s.unreached)
}

// ended takes into account how a trial ended.
func (s *streak) ended(t record.Trial) {
	switch t.Status {
	case record.TrialDone:
		s.failures = 0
		clear(s.unreached)
	case record.TrialFailed, record.TrialTimeout:
		for _, trials := range s.unreached {
			for _, u := range trials {
				if u.Number == t.Number && u.Kind == t.Kind {
					return // its target was not there, which says nothing about the others
				}
			}
		}
		s.failures++
		clear(s.unreached)
	}
}

// names are the targets that could not be reached.
func (s *streak) names() string {
	var names []string
	for _, door := range slices.Sorted(maps.Keys(s.unreached)) {
		address, client, _ := strings.Cut(door, " ")
		name := store.Redact(address)
		if slices.Contains(names, name) {
			name += " with client " + client
		}
		names = append(names, name)
	}
	return strings.Join(names, ", ")
}

// innocent lists the trials that failed since a target was reached last. It was not their configurations, so they are
// to be repeated.
func (s *streak) innocent(all []record.Trial) []record.Trial {
	var list []record.Trial
	for _, trials := range s.unreached {
		for _, u := range trials {
			for _, t := range all {
				if t.Number == u.Number && t.Attempt == u.Attempt && t.Kind == u.Kind && t.Status == record.TrialFailed {
					list = append(list, t)
				}
			}
		}
	}
	slices.SortFunc(list, func(a, b record.Trial) int { return cmp.Compare(a.Number, b.Number) })
	return list
}
