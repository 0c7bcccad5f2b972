package study

import (
	"fmt"

	"github.com/plimsoll-bench/plimsoll/record"
)

// Scaled returns a study as its engine can do it ([ForEngine]) with its own scale applied, once: what is planned, run and recorded has the values of this machine.
func Scaled(spec record.StudySpec) (record.StudySpec, error) {
	spec, err := ForEngine(spec)
	if err != nil {
		return spec, err
	}
	if spec.Scale == nil {
		return spec, nil
	}
	out, _, err := spec.Scaled(*spec.Scale)
	return out, err
}

// ScaleNotes say how much smaller than its file a study is, and what floors kept from that.
func ScaleNotes(spec *record.StudySpec) []string {
	var notes []string
	for _, l := range spec.Instead {
		notes = append(notes, fmt.Sprintf("%s, so instead: %s", l.Why, l.To))
	}
	if spec.Scale == nil || !spec.Scale.Applied {
		return notes
	}
	if text := spec.Scale.String(); text != "1" {
		notes = append(notes, fmt.Sprintf("scaled by %s: names of levels are those of the document, values are those of here", text))
	}
	for _, l := range spec.Floors {
		notes = append(notes, fmt.Sprintf("%s is %s, and not as small as the rest: %s", l.What, l.To, l.Why))
	}
	return notes
}
