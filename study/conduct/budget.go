package conduct

import (
	"fmt"
	"slices"
	"time"

	"github.com/plimsoll-bench/plimsoll/campaign"
	"github.com/plimsoll-bench/plimsoll/internal/figure"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/study"
)

// Budget limits the time of a study that is one of several parts. It is called from the goroutine that runs the study.
type Budget interface {
	// Block is called before a block begins. It returns how many trials of each configuration may be run. If that is less
	// than Rest.Trials, the others are skipped, in complete blocks, and why is the reason.
	Block(study.Rest) (trials int, why string)
	// Search is called before a trial of a procedure that takes about next. It returns why there is no time for it, or "".
	Search(next time.Duration) (why string)
}

// search stops the study if the shared time is too short for another trial of a procedure.
func (s *session) search(next time.Duration) error {
	if s.o.Budget == nil {
		return nil
	}
	if why := s.o.Budget.Search(next); why != "" {
		return &campaign.Stop{Reason: campaign.OutOfTime, Text: why}
	}
	return nil
}

// mayBegin checks the budget of the session for a trial. The plan fits, and each session must run at least one trial.
func (s *session) mayBegin(t record.Trial) error {
	next, _ := s.pace.expect(t.Configuration)
	if s.Ended == 0 || s.spec.UntilDecided && t.Kind != record.TrialSearch ||
		s.Budget.Lasts(s.o.Clock.Now(), next+s.spec.Settle.Std()) {
		return nil
	}
	left := figure.Plural(len(s.queue.todo), "trial")
	if t.Kind == record.TrialSearch {
		left = "its procedures" // their number of trials is not known
	}
	return &campaign.Stop{Reason: campaign.BudgetUsed, Text: fmt.Sprintf(
		"the budget of %s is used up with %s left. Continue with a new budget: plimsoll study resume %s",
		figure.Duration(s.Budget.Limit), left, s.Dir)}
}

// fitBlocks skips trials for which there is no time, before a block, so that blocks stay balanced. The first block of a
// new study is never skipped, because the caller checked the time.
func (s *session) fitBlocks() error {
	begun := func(t record.Trial) bool { return t.Kind != record.TrialCanary && t.Status.Begun() }
	all := s.Result.Trials
	if s.o.Budget == nil || !s.resumed && !slices.ContainsFunc(all, begun) || !s.queue.beforeBlock(all) {
		return nil
	}
	rest := s.rest()
	trials, why := s.o.Budget.Block(rest)
	if trials >= rest.Trials {
		return nil
	}
	return s.skip(trials, why)
}

// skip leaves out what is to be run beyond so many trials of each configuration.
func (s *session) skip(trials int, why string) error {
	for _, t := range s.queue.leave(trials) {
		if t.Status.Begun() {
			t.Attempt++ // the lost attempt stays in the record
		}
		t.Status, t.Problem = record.TrialLeft, why
		t.Record, t.Started, t.Seconds, t.Redeployed, t.Storage, t.Values, t.Validity = "", nil, 0, 0, nil, nil, nil
		s.Result.Place(t)
	}
	return s.Write()
}

// rest returns the remaining work, with times from the trials so far.
func (s *session) rest() study.Rest {
	r := study.Rest{Done: s.queue.each}
	open := map[string]int{}
	for _, t := range s.queue.todo {
		if t.Kind == record.TrialCompared {
			r.Trials = max(r.Trials, s.queue.turn(t))
			open[t.Configuration]++
		}
	}
	for _, t := range s.Result.Trials {
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

// secondsOf returns the time of trials in seconds, with the labs and data that they need.
func (s *session) secondsOf(trials []record.Trial) (seconds float64) {
	redeploy, _ := redeployed(s.Result.Trials)
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

func (s *session) status(t record.Trial, j job) Status {
	st := Status{Trial: t, Procedure: j.procedure}
	if j.procedure != "" {
		return st
	}
	st.Total, st.Done = s.queue.total, s.queue.total-len(s.queue.todo)
	all := s.Result.Trials
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
	if s.spec.UntilDecided && s.Budget.Limit > 0 {
		st.Left = min(st.Left, max(0, s.Budget.Left(s.o.Clock.Now())))
	}
	return st
}
