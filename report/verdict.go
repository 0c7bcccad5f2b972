package report

import (
	"fmt"

	"github.com/plimsoll-bench/plimsoll/internal/figure"
	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/record"
)

// objectiveCounts counts objectives by their outcome.
type objectiveCounts struct{ met, missed, unknown int }

func (h objectiveCounts) all() int { return h.met + h.missed + h.unknown }

// words answer the question of the objectives, "" where there were none.
func (h objectiveCounts) words() string {
	of := fmt.Sprintf(" of %s ", figure.Plural(h.all(), "objective"))
	switch {
	case h.all() == 0:
		return ""
	case h.missed > 0:
		return "does not hold: " + fmt.Sprint(h.missed) + of + "missed"
	case h.unknown > 0:
		return "undecided: " + fmt.Sprint(h.unknown) + of + "unknown"
	}
	return "holds: " + fmt.Sprint(h.met) + of + "met"
}

// doubt is the validity of a result, for a list and for a document, which has the reasons below.
func doubt(list []measure.Finding) (brief, text string) {
	switch measure.Worst(list) {
	case measure.Invalid:
		return "INVALID", "INVALID: do not use these figures; the reasons are below"
	case measure.Warning:
		return "valid, with warnings", "valid, with warnings; see below"
	}
	return "valid", "valid"
}

// refuse is the verdict of a question that the records do not answer.
func (d *Document) refuse(reasons []string) {
	if len(reasons) > 0 {
		d.Brief, d.Verdict = "refused", "refused: these records do not answer it; the reasons are below"
		d.Grade = Warn
	}
}

// verdict combines the outcome with the validity, for a list and for a document. An invalid result begins with that.
func verdict(h objectiveCounts, findings []measure.Finding, status record.Status) (brief, text string) {
	join := func(belief string) string {
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
	brief, text = doubt(findings)
	return join(brief), join(text)
}

func runObjectives(r *record.Run) (h objectiveCounts) {
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

func studyObjectives(s *record.Study) (h objectiveCounts) {
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
