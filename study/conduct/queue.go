package conduct

import (
	"slices"

	"github.com/plimsoll-bench/plimsoll/record"
)

// queue is the trials of the plan that are still to be done, in their order.
type queue struct {
	todo  []record.Trial
	each  int // trials of the plan for each configuration
	total int // trials of the plan
}

// beforeBlock reports whether no trial of the next block has been run.
func (q *queue) beforeBlock(all []record.Trial) bool {
	next := slices.IndexFunc(q.todo, func(t record.Trial) bool { return t.Kind == record.TrialCompared })
	if next < 0 {
		return false
	}
	of := func(list []record.Trial) int {
		numbers := map[int]bool{}
		for _, t := range list {
			if t.Kind == record.TrialCompared && t.Block == q.todo[next].Block {
				numbers[t.Number] = true
			}
		}
		return len(numbers)
	}
	return of(q.todo) == of(all)
}

// turn returns which trial of its configuration a trial is, from 1. Batches have their own blocks.
func (q *queue) turn(t record.Trial) int { return (t.Block-1)%max(1, q.each) + 1 }

// within returns the trials to run with at most so many of each configuration, without canaries after the last one.
func (q *queue) within(trials int) []record.Trial {
	var kept []record.Trial
	last := 0
	for _, t := range q.todo {
		if t.Kind == record.TrialCompared && q.turn(t) > trials {
			continue
		}
		kept = append(kept, t)
		if t.Kind == record.TrialCompared {
			last = len(kept)
		}
	}
	return kept[:last]
}

// leave keeps the trials to run with at most so many of each configuration, and returns the others.
func (q *queue) leave(trials int) (left []record.Trial) {
	kept := q.within(trials)
	for _, t := range q.todo {
		if !slices.ContainsFunc(kept, func(k record.Trial) bool { return k.Number == t.Number }) {
			left = append(left, t)
		}
	}
	q.todo = kept
	return left
}
