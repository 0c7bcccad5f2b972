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

// A target that cannot be reached stops a study, because all its trials would fail. They are repeated on resume. If
// configurations have different targets, only the trials of that target fail, and the study continues with the others.
// It stops when none of its targets could be reached.

// streak holds the trials that failed since the last success.
type streak struct {
	failures  int                       // one after the other, of targets that were reached
	unreached map[string][]record.Trial // that did not reach their target, by that, since one was reached last
}

// doorOf names what a connection depends on.
func doorOf(asked spec.Run) string { return asked.Target + " " + asked.Client }

// notReached adds a trial that did not reach its target, and reports whether none of the targets could be reached.
func (s *streak) notReached(t record.Trial, at spec.Run, targets []spec.Run) (none bool) {
	s.unreached[doorOf(at)] = append(s.unreached[doorOf(at)], t)
	doors := map[string]bool{}
	for _, target := range targets {
		doors[doorOf(target)] = true
	}
	return len(doors) <= len(s.unreached)
}

// ended updates the streak after a trial.
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

// names lists the targets that could not be reached.
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

// innocent lists the trials that failed since a target was last reached. They are repeated, because their
// configurations are not the cause.
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
