package fit

import (
	"strconv"
	"time"

	"github.com/plimsoll-bench/plimsoll/spec"
	"github.com/plimsoll-bench/plimsoll/study"
)

// fewer takes the rest of a study to so many trials, or to those that are done if these are more.
func fewer(r *study.Rest, trials int) []spec.Left {
	trials = max(trials, r.Done)
	if trials >= r.Trials || r.Takes(trials) >= r.Takes(r.Trials) {
		return nil
	}
	left := spec.Left{What: "trials", From: strconv.Itoa(r.Trials), To: strconv.Itoa(trials)}
	if trials == 0 {
		left.To = "those that are done" // of some batches; others have none
	}
	r.Trials = trials
	return []spec.Left{left}
}

// under takes the study that is under way to so many trials.
func (f *fitter) under(trials int) {
	for i := range f.parts {
		if p := &f.parts[i]; p.Under != nil && !p.Out {
			for _, l := range fewer(p.Under, trials) {
				l.Part, l.Why = p.Name, f.why
				f.left = append(f.left, l)
			}
			p.estimate()
		}
	}
}

// end leaves as many trials of a study that is under way as there is time for.
func (f *fitter) end(p *Part) {
	for trials := p.Under.Trials - 1; trials >= p.Under.Done && p.Estimate > f.limit; trials-- {
		f.under(trials)
	}
}

// refitSpare is the share of the remaining time that stays free while cuts cost no answers. The estimates already
// include the speed of this machine.
const refitSpare = 0.05

// Refit makes the parts that are left of a suite fit into what is left of its time, if they do not: with the steps of
// [Fit] in their order, which are taken with the parts that have not begun and, as far as trials go, with the one
// that is under way. All that it sheds is marked as late, and why is the first part of each reason. Where there is no
// time at all everything is left out.
func Refit(parts []Part, left time.Duration, why string) (fitted []Part, shed []spec.Left) {
	f := fitter{why: why, limit: max(0, left.Seconds())}
	for _, p := range parts {
		f.add(p)
	}
	if f.total() <= f.limit {
		return f.parts, nil
	}
	f.left = nil // floors of scales, which were said before
	for _, take := range quickSteps() {
		if f.total() > f.limit*(1-refitSpare) {
			take(&f)
		}
	}
	f.shedLast()
	f.leaveParts(false)
	shed = merged(f.kept())
	for i := range shed {
		shed[i].Late = true
	}
	return f.parts, shed
}
