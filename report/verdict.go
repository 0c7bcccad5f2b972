package report

import (
	"fmt"
	"strings"

	"github.com/plimsoll-bench/plimsoll/internal/figure"
	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/record"
)

// held counts objectives by what became of them.
type held struct{ met, missed, unknown int }

func (h held) all() int { return h.met + h.missed + h.unknown }

// words answer the question of the objectives, "" where there were none.
func (h held) words() string {
	of := fmt.Sprintf(" of %s ", figure.Plural(h.all(), "objective"))
	switch {
	case h.all() == 0:
		return ""
	case h.missed > 0:
		return "does not hold: " + fmt.Sprint(h.missed) + of + "missed"
	case h.unknown > 0:
		return "cannot be told: " + fmt.Sprint(h.unknown) + of + "unknown"
	}
	return "holds: " + fmt.Sprint(h.met) + of + "met"
}

// verdict joins whether it holds with whether it can be believed. What cannot be believed says so first.
func verdict(h held, findings []measure.Finding, status record.Status) string {
	belief := validityWords(findings)
	if status != record.Complete {
		belief += " (" + string(status) + ")"
	}
	switch words := h.words(); {
	case words == "":
		return belief
	case measure.Worst(findings) == measure.Invalid:
		return fmt.Sprintf("%s; %d of %s met", belief, h.met, figure.Plural(h.all(), "objective"))
	default:
		return words + "; " + belief
	}
}

func runHeld(r *record.Run) (h held) {
	for _, o := range r.Objectives {
		switch {
		case o.Unknown:
			h.unknown++
		case o.Met:
			h.met++
		default:
			h.missed++
		}
	}
	return h
}

func studyHeld(s *record.Study) (h held) {
	for _, o := range s.Objectives {
		switch {
		case o.Exploratory:
		case o.Holds:
			h.met++
		case o.Missed():
			h.missed++
		default:
			h.unknown++
		}
	}
	return h
}

// RunVerdict says whether the objectives of a run hold, and whether its figures can be believed. Terminal, page and
// documents say it in these words.
func RunVerdict(r *record.Run) string { return verdict(runHeld(r), r.Validity, r.Status) }

// StudyVerdict is [RunVerdict] of a study; exploratory factors do not decide.
func StudyVerdict(s *record.Study) string { return verdict(studyHeld(s), s.Validity, s.Status) }

// RunMissed says whether a run missed an objective, and StudyMissed whether a configuration of a study did.
func RunMissed(r *record.Run) bool { return runHeld(r).missed > 0 }

// StudyMissed says whether a configuration that decides missed an objective.
func StudyMissed(s *record.Study) bool { return studyHeld(s).missed > 0 }

// Brief is a verdict for a list: what it refers to is not below it there.
func Brief(verdict string) string {
	return strings.NewReplacer("; see below", "", ": do not use these figures; the reasons are below", "").Replace(verdict)
}
