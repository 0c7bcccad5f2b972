package study

import (
	"fmt"

	"github.com/plimsoll-bench/plimsoll/spec"
)

// Scaled returns a study as its engine can do it ([ForEngine]) with its own scale applied, once: what is planned, run
// and recorded has the values of this machine.
func Scaled(asked spec.Study) (spec.Study, error) {
	asked, err := ForEngine(asked)
	if err != nil {
		return asked, err
	}
	if asked.Scale == nil {
		return asked, nil
	}
	out, _, err := asked.Scaled(*asked.Scale)
	return out, err
}

// Complete takes a study as its file and flags have it to the engine and the scale that it names ([Scaled]), and
// completes it ([spec.Study.Complete]).
func Complete(asked spec.Study) (spec.Study, error) {
	asked, err := Scaled(asked)
	if err != nil {
		return asked, err
	}
	asked = copyStudy(asked)
	return asked, asked.Complete()
}

// ScaleNotes say how much smaller than its file a study is, and what floors kept from that.
func ScaleNotes(asked *spec.Study) []string {
	var notes []string
	for _, l := range asked.Instead {
		notes = append(notes, fmt.Sprintf("%s, so instead: %s", l.Why, l.To))
	}
	if asked.Scale == nil || !asked.Scale.Applied {
		return notes
	}
	if text := asked.Scale.String(); text != "1" {
		notes = append(notes, fmt.Sprintf("scaled by %s: names of levels are those of the document, values are those of here", text))
	}
	for _, l := range asked.Floors {
		notes = append(notes, fmt.Sprintf("%s is %s, and not as small as the rest: %s", l.What, l.To, l.Why))
	}
	return notes
}
