package conduct

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/plimsoll-bench/plimsoll/internal/figure"
	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/spec"
	"github.com/plimsoll-bench/plimsoll/study"
)

// Budget says how much of a study may still be done, where it is one of several parts that share a time. It is asked from
// the goroutine that conducts the study.
type Budget interface {
	// Block is asked before a block begins, how many trials of each configuration there may be. Where that is less than
	// Rest.Trials, the other trials are left out, in whole blocks, and why says in a sentence why.
	Block(study.Rest) (trials int, why string)
	// Search is asked before a trial of a procedure that takes about so long. It returns why there is no time for it, "" if there is.
	Search(next time.Duration) (why string)
}

// fitBlocks leaves out what there is no time for, where a block is about to begin: within one the trials stay balanced.
func (c *conductor) fitBlocks() error {
	if c.o.Budget == nil || !c.beforeBlock() {
		return nil
	}
	rest := c.rest()
	trials, why := c.o.Budget.Block(rest)
	if trials >= rest.Trials {
		return nil
	}
	kept := c.within(trials)
	for _, t := range c.todo {
		if slices.ContainsFunc(kept, func(k record.Trial) bool { return k.Number == t.Number }) {
			continue
		}
		if t.Status.Begun() {
			t.Attempt++ // the one that was lost stays what it is
		}
		t.Status, t.Problem = record.TrialLeft, why
		t.Record, t.Started, t.Seconds, t.Redeployed, t.Values, t.Validity = "", nil, 0, 0, nil, nil
		c.study.Place(t)
	}
	c.todo = kept
	if err := c.w.Write(c.study); err != nil {
		return c.fullOr(err)
	}
	return nil
}

// beforeBlock reports whether all trials of the block that comes next are still to be done. The first block of a study that has just
// begun counts as one that is under way: whoever began the study looked at the time.
func (c *conductor) beforeBlock() bool {
	next := slices.IndexFunc(c.todo, func(t record.Trial) bool { return t.Kind == record.TrialCompared })
	if next < 0 {
		return false
	}
	begun := func(t record.Trial) bool { return t.Kind != record.TrialCanary && t.Status.Begun() }
	if !c.resumed && !slices.ContainsFunc(c.study.Trials, begun) {
		return false
	}
	of := func(list []record.Trial) int {
		numbers := map[int]bool{}
		for _, t := range list {
			if t.Kind == record.TrialCompared && t.Block == c.todo[next].Block {
				numbers[t.Number] = true
			}
		}
		return len(numbers)
	}
	return of(c.todo) == of(c.study.Trials)
}

// turn says which trial of its configuration a trial is, from 1. Batches have blocks of their own.
func (c *conductor) turn(t record.Trial) int {
	return (t.Block-1)%max(1, int(c.plan.Spec.Trials)) + 1
}

// within are the trials to do if there are at most so many of each configuration, without canaries behind the last one.
func (c *conductor) within(trials int) []record.Trial {
	var kept []record.Trial
	last := 0
	for _, t := range c.todo {
		if t.Kind == record.TrialCompared && c.turn(t) > trials {
			continue
		}
		kept = append(kept, t)
		if t.Kind == record.TrialCompared {
			last = len(kept)
		}
	}
	return kept[:last]
}

// rest is what is left to do, with how long it takes by what was measured here.
func (c *conductor) rest() study.Rest {
	r := study.Rest{Done: int(c.plan.Spec.Trials)}
	open := map[string]int{}
	for _, t := range c.todo {
		if t.Kind == record.TrialCompared {
			r.Trials = max(r.Trials, c.turn(t))
			open[t.Configuration]++
		}
	}
	for _, t := range c.study.Trials {
		if t.Kind == record.TrialCompared && t.Status == record.TrialLeft {
			open[t.Configuration]++
		}
	}
	for _, n := range open {
		r.Done = min(r.Done, max(0, int(c.plan.Spec.Trials)-n))
	}
	for k := range r.Trials {
		r.Seconds = append(r.Seconds, c.takes(c.within(k)))
	}
	r.Seconds = append(r.Seconds, c.takes(c.todo))
	return r
}

// takes is how many seconds trials take, with labs and data that have to be made for them.
func (c *conductor) takes(trials []record.Trial) (seconds float64) {
	redeploy, _ := c.redeployed()
	lab := c.lab
	for _, t := range trials {
		spec := c.specs[t.Configuration]
		seconds += c.pace.measured(t.Configuration, length(spec.Load)) + c.spec.Settle.Std().Seconds()
		key := lab
		if l, ok := c.labs[t.Configuration]; ok {
			key = study.LabKey(l)
		}
		switch {
		case key != lab:
			seconds += redeploy + c.pace.fill("")
			lab = key
		case spec.LoadPhase.Drop || c.pace.fillsAlways(t.Configuration):
			seconds += c.pace.fill(t.Configuration)
		}
	}
	return seconds
}

// timeToSearch stops the study where there is no time for another trial of a procedure.
func (c *conductor) timeToSearch(asked spec.Run) error {
	if c.o.Budget == nil {
		return nil
	}
	if why := c.o.Budget.Search(length(asked.Load)); why != "" {
		return &Stop{Reason: OutOfTime, Text: why}
	}
	return nil
}

// fillOf is how many seconds of a trial went into loading its data, by its record.
func (c *conductor) fillOf(t record.Trial) float64 {
	r, err := record.OpenBelow(c.o.Dir, t.Record)
	if err != nil {
		return 0
	}
	return filled(r)
}

// filled is how many seconds a run loaded data, 0 if they were there already.
func filled(r *record.Run) float64 {
	if r == nil || r.Fill == nil || r.Fill.Inserted == 0 {
		return 0
	}
	return r.Fill.Seconds
}

// leftOut is the finding about trials for which there was no time.
func (c *conductor) leftOut() []measure.Finding {
	count, why, kept := 0, "", map[string]bool{}
	for _, t := range c.study.Trials {
		switch {
		case t.Kind != record.TrialCompared:
		case t.Status == record.TrialLeft:
			count++
			why = t.Problem
		case t.Status.Begun():
			kept[t.Configuration] = true
		}
	}
	if count == 0 {
		return nil
	}
	f := measure.Finding{ID: "cut-short", Severity: measure.Note, Text: fmt.Sprintf(
		"%d of %s were left out, in whole blocks, because the time was not enough (%s): what is said rests on the others", count, figure.Plural(c.total, "trial"), why)}
	if without := c.without(kept); len(without) > 0 {
		f.Severity = measure.Warning
		f.Text += "; nothing is known of " + strings.Join(without, ", ")
	}
	return []measure.Finding{f}
}

// without are the configurations that are not among these, in their order.
func (c *conductor) without(kept map[string]bool) (list []string) {
	for _, configuration := range c.study.Configurations {
		if !kept[configuration.ID] {
			list = append(list, configuration.ID)
		}
	}
	return list
}

// allLeft reports whether no trial of a configuration began because there was no time for it.
func (c *conductor) allLeft(configuration string) bool {
	left := false
	for _, t := range c.study.Trials {
		if t.Configuration != configuration || t.Kind != record.TrialCompared {
			continue
		}
		if t.Status != record.TrialLeft {
			return false
		}
		left = true
	}
	return left
}
