package conduct

import (
	"fmt"
	"slices"
	"time"

	"github.com/plimsoll-bench/plimsoll/internal/figure"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/study"
)

// Budget says how much of a study may still be done, where it is one of several parts that share a time. It is asked
// from the goroutine that conducts the study.
type Budget interface {
	// Block is asked before a block begins, how many trials of each configuration there may be. Where that is less than
	// Rest.Trials, the other trials are left out, in whole blocks, and why says in a sentence why.
	Block(study.Rest) (trials int, why string)
	// Search is asked before a trial of a procedure that takes about so long. It returns why there is no time for it, ""
	// if there is.
	Search(next time.Duration) (why string)
}

// budget is the time that a session has: its own, and its share of one that several parts have together.
type budget struct {
	dir    string // of the study
	clock  study.Clock
	began  time.Time     // of the session
	limit  time.Duration // of the session, 0 for none
	trials int           // that ended in the session
	shared Budget        // nil for none
}

// lasts stops the study if its next trial would go beyond the time of the session. left says what would be left to do.
func (b *budget) lasts(next time.Duration, left string) error {
	if b.limit == 0 || b.trials == 0 {
		return nil // the plan was held against it, and a session that does nothing gets nowhere
	}
	if b.clock.Now().Sub(b.began)+next <= b.limit {
		return nil
	}
	return &Stop{Reason: BudgetUsed, Text: fmt.Sprintf(
		"the budget of %s is used up with %s left to do; go on with plimsoll study resume %s, which begins a new budget",
		figure.Duration(b.limit), left, b.dir)}
}

// search stops the study where the shared time is too short for another trial of a procedure.
func (b *budget) search(next time.Duration) error {
	if b.shared == nil {
		return nil
	}
	if why := b.shared.Search(next); why != "" {
		return &Stop{Reason: OutOfTime, Text: why}
	}
	return nil
}

// mayBegin makes sure that the budget of the session is enough for a trial.
func (s *session) mayBegin(t record.Trial) error {
	next, _ := s.pace.expect(t.Configuration)
	left := figure.Plural(len(s.queue.todo), "trial")
	if t.Kind == record.TrialSearch {
		left = "its procedures" // only they know how many trials they need
	}
	return s.budget.lasts(next+s.spec.Settle.Std(), left)
}

// fitBlocks leaves out what there is no time for, where a block is about to begin: within one the trials stay balanced.
// The first block of a study that has just begun counts as one that is under way: whoever began the study looked at the
// time.
func (s *session) fitBlocks() error {
	begun := func(t record.Trial) bool { return t.Kind != record.TrialCanary && t.Status.Begun() }
	all := s.log.study.Trials
	if s.budget.shared == nil || !s.resumed && !slices.ContainsFunc(all, begun) || !s.queue.beforeBlock(all) {
		return nil
	}
	rest := s.rest()
	trials, why := s.budget.shared.Block(rest)
	if trials >= rest.Trials {
		return nil
	}
	for _, t := range s.queue.leave(trials) {
		if t.Status.Begun() {
			t.Attempt++ // the one that was lost stays what it is
		}
		t.Status, t.Problem = record.TrialLeft, why
		t.Record, t.Started, t.Seconds, t.Redeployed, t.Values, t.Validity = "", nil, 0, 0, nil, nil
		s.log.study.Place(t)
	}
	return s.log.write()
}

// rest is what is left to do, with how long it takes by what was measured here.
func (s *session) rest() study.Rest {
	r := study.Rest{Done: s.queue.each}
	open := map[string]int{}
	for _, t := range s.queue.todo {
		if t.Kind == record.TrialCompared {
			r.Trials = max(r.Trials, s.queue.turn(t))
			open[t.Configuration]++
		}
	}
	for _, t := range s.log.study.Trials {
		if t.Kind == record.TrialCompared && t.Status == record.TrialLeft {
			open[t.Configuration]++
		}
	}
	for _, n := range open {
		r.Done = min(r.Done, max(0, s.queue.each-n))
	}
	for k := range r.Trials {
		r.Seconds = append(r.Seconds, s.secondsOf(s.queue.within(k)))
	}
	r.Seconds = append(r.Seconds, s.secondsOf(s.queue.todo))
	return r
}

// secondsOf is how many seconds trials take, with labs and data that have to be made for them.
func (s *session) secondsOf(trials []record.Trial) (seconds float64) {
	redeploy, _ := redeployed(s.log.study.Trials)
	lab := s.lab.up
	for _, t := range trials {
		spec := s.runs[t.Configuration]
		seconds += s.pace.measured(t.Configuration, length(spec.Load)) + s.spec.Settle.Std().Seconds()
		key := lab
		if l, ok := s.labs[t.Configuration]; ok {
			key = study.LabKey(l)
		}
		switch {
		case key != lab:
			seconds += redeploy + s.pace.fill("")
			lab = key
		case spec.LoadPhase.Drop || s.pace.fillsAlways(t.Configuration):
			seconds += s.pace.fill(t.Configuration)
		}
	}
	return seconds
}

// standing says where the study is when a trial begins.
func (s *session) standing(t record.Trial, j job) Standing {
	st := Standing{Trial: t, Procedure: j.procedure}
	if j.procedure != "" {
		return st
	}
	st.Total, st.Done = s.queue.total, s.queue.total-len(s.queue.todo)
	all := s.log.study.Trials
	for i := len(all) - 1; i >= 0 && st.Blocks == 0; i-- {
		st.Blocks = all[i].Block // canaries have none
	}
	redeploy, _ := redeployed(all)
	lab := s.lab.up
	for _, left := range s.queue.todo {
		d, known := s.pace.expect(left.Configuration)
		if !known {
			st.Left = 0
			break
		}
		st.Left += d + s.spec.Settle.Std()
		if l, ok := s.labs[left.Configuration]; ok && study.LabKey(l) != lab {
			lab = study.LabKey(l)
			st.Left += time.Duration(redeploy * float64(time.Second))
		}
	}
	return st
}
