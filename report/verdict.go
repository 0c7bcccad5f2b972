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

// short answers the question of the objectives in the first line, "" where there were none.
func (h objectiveCounts) short() string {
	of := fmt.Sprintf(" of %s ", figure.Plural(h.all(), "objective"))
	switch {
	case h.all() == 0:
		return ""
	case h.missed > 0:
		return fmt.Sprint(h.missed) + of + "missed"
	case h.unknown > 0:
		return fmt.Sprint(h.unknown) + of + "unknown"
	}
	return fmt.Sprint(h.met) + of + "met"
}

// doubt is the validity of a result, for a list.
func doubt(list []measure.Finding) string {
	switch measure.Worst(list) {
	case measure.Invalid:
		return "INVALID"
	case measure.Warning:
		return "valid, with warnings"
	}
	return "valid"
}

// refuse is the verdict of a question that the records do not answer.
func (d *Document) refuse(reasons []string) {
	if len(reasons) > 0 {
		d.Brief, d.Sure, d.Grade = "refused", "refused: these records do not answer it", Warn
		for _, why := range reasons {
			d.Short = append(d.Short, Point{Warn, "", why})
		}
	}
}

// verdict combines the outcome with the validity, for a list. An invalid result begins with that.
func verdict(h objectiveCounts, findings []measure.Finding, status record.Status) string {
	belief := doubt(findings)
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
