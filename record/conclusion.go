package record

import (
	"slices"

	"github.com/plimsoll-bench/plimsoll/measure"
)

// Conclusion is the result of a record in one word, for scripts (each has an exit code) and for suites. Each kind of
// record has a rule for it (see [Result]).
type Conclusion string

const (
	// Satisfied: it is complete, and all expectations hold.
	Satisfied Conclusion = "satisfied"
	// Missed: it is complete, and an expectation does not hold or is unknown.
	Missed Conclusion = "missed"
	// WritesLost: an acknowledged write was lost that had to survive.
	WritesLost Conclusion = "writes lost"
	// Incredible: it is complete and invalid.
	Incredible Conclusion = "invalid"
	// Ended: it was interrupted or killed. The results until then are kept.
	Ended Conclusion = "interrupted"
	// Refused: the request is wrong, and nothing was done.
	Refused Conclusion = "refused"
	// OutOfReach: the target is unreachable or refused the credentials.
	OutOfReach Conclusion = "unreachable"
	// NoResult: it ended without a result for another reason.
	NoResult Conclusion = "failed"
)

// Conclude is the conclusion of a record from its head alone, for kinds without further judgement.
func (h *Head) Conclude() Conclusion {
	switch {
	case h.Status == Interrupted, h.Status == Killed:
		return Ended
	case h.Status == Failed:
		return NoResult
	case measure.Worst(h.Validity) == measure.Invalid:
		return Incredible
	}
	return Satisfied
}

// NothingMeasured is false for kinds that are interrupted with a result.
func (h *Head) NothingMeasured() bool { return false }

// Conclude is [Missed] if an objective is not met.
func (r *Run) Conclude() Conclusion { return missing(r.Head.Conclude(), r.Objectives) }

// missing is a conclusion, or [Missed] if it is satisfied but an objective is not met.
func missing(c Conclusion, objectives []measure.ObjectiveResult) Conclusion {
	if c == Satisfied && slices.ContainsFunc(objectives, func(o measure.ObjectiveResult) bool { return !o.Met }) {
		return Missed
	}
	return c
}

// NothingMeasured reports whether a run was interrupted before its measured phase.
func (r *Run) NothingMeasured() bool {
	return r.Status == Interrupted && r.Phase(phaseMeasure) == nil && !r.Specification.LoadPhase.Only
}

// Conclude is [Missed] if a deciding objective does not hold or is not known, or if a capacity search confirmed no
// rate.
func (s *Study) Conclude() Conclusion {
	c := s.Head.Conclude()
	if c == Satisfied && (s.Capacity != nil && !s.Capacity.Confirmed ||
		slices.ContainsFunc(s.Objectives, func(o ConfigurationObjective) bool { return !o.Holds && !o.Exploratory })) {
		return Missed
	}
	return c
}

// Conclude counts a lost write more than an interruption or a failure.
func (d *Drill) Conclude() Conclusion {
	for i := range d.Rounds {
		r := &d.Rounds[i]
		if l := r.Ledger; r.Verdict == Violated && l != nil && l.LostWrites() > 0 && !r.LossAllowed() {
			return WritesLost
		}
	}
	switch c := d.Head.Conclude(); {
	case c == Ended || c == NoResult:
		return c
	case d.Verdict == Violated:
		return Missed
	case d.Verdict != Holds || c == Incredible:
		return Incredible
	}
	return Satisfied
}

// Conclude counts a proven lie of the storage, whatever the figures are worth.
func (p *Probe) Conclude() Conclusion {
	c := p.Head.Conclude()
	altered := slices.ContainsFunc(p.Validity, func(f measure.Finding) bool { return f.ID == "altered" })
	if p.Verdict == Lying && !altered && (c == Incredible || c == Satisfied) {
		return Missed
	}
	return missing(c, p.Objectives)
}

// Conclude returns the outcome of a suite from those of its parts: the suite was ended early; else a write was lost
// that had to survive; else the outcome of the failed parts, if it is the same for all; else the worst outcome of the
// parts.
func (s *Suite) Conclude() Conclusion {
	switch s.Status {
	case Interrupted, Killed:
		return Ended
	case Failed:
		return NoResult
	}
	var failed Conclusion
	worst := Satisfied
	rank := map[Conclusion]int{Missed: 1, Incredible: 2, WritesLost: 3}
	for _, p := range s.Parts {
		switch {
		case p.Status == PartFailed && (failed == "" || failed == p.Conclusion):
			failed = p.Conclusion
		case p.Status == PartFailed:
			failed = NoResult
		case p.Status == PartDone && rank[p.Conclusion] > rank[worst]:
			worst = p.Conclusion
		}
	}
	if worst == WritesLost || failed == "" {
		return worst
	}
	return failed
}
