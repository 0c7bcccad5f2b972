package campaign

import (
	"maps"
	"slices"
)

// Streak is what failed since the last job that did not.
//
// A target that cannot be reached stops a campaign, because all its jobs would fail. If jobs have different targets,
// only those of that target fail, and the campaign continues with the others. It stops when none of its targets could
// be reached. The jobs that failed for that are repeated, because they are not the cause.
type Streak[J any] struct {
	Most int    // failures in a row after which the campaign stops; 0 for any number
	Noun string // of jobs, plural

	failures  int    // in a row, of targets that were reached
	last      string // why the last one failed
	unreached map[string][]J
}

// Done ends the streak.
func (s *Streak[J]) Done() { s.failures, s.unreached = 0, nil }

// Failed adds a job that reached its target.
func (s *Streak[J]) Failed(problem string) {
	s.failures++
	s.last, s.unreached = problem, nil
}

// NoneReached reports whether none of the targets could be reached since one was, after it failed for this one.
func (s *Streak[J]) NoneReached(target string, targets []string) bool {
	s.unreach(target)
	return !slices.ContainsFunc(targets, func(t string) bool { _, tried := s.unreached[t]; return !tried })
}

// NotReached adds a job that failed because its target could not be reached.
func (s *Streak[J]) NotReached(target string, j J) { s.unreach(target, j) }

func (s *Streak[J]) unreach(target string, jobs ...J) {
	if s.unreached == nil {
		s.unreached = map[string][]J{}
	}
	s.unreached[target] = append(s.unreached[target], jobs...)
}

// Unreached returns the targets that could not be reached, and the jobs of [Streak.NotReached].
func (s *Streak[J]) Unreached() (targets []string, jobs []J) {
	targets = slices.Sorted(maps.Keys(s.unreached))
	for _, t := range targets {
		jobs = append(jobs, s.unreached[t]...)
	}
	return targets, jobs
}
