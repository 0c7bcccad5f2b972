package study

import (
	"fmt"

	"github.com/plimsoll-bench/plimsoll/internal/deep"
	"github.com/plimsoll-bench/plimsoll/spec"
)

// Scaled adapts a study to its engine ([ForEngine]) and applies its scale, once. Plans, runs and records have the
// values of this machine.
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

// Complete applies the engine and the scale that a study names ([Scaled]) to the study as its file and flags have it,
// and completes it ([spec.Study.Complete]).
func Complete(asked spec.Study) (spec.Study, error) {
	asked, err := Scaled(asked)
	if err != nil {
		return asked, err
	}
	asked = deep.Copy(asked)
	return asked, asked.Complete()
}

// ScaleNotes describe how a study was scaled down, with the values that have a lower limit.
func ScaleNotes(asked *spec.Study) []string {
	var notes []string
	for _, l := range asked.Instead {
		notes = append(notes, fmt.Sprintf("%s, so instead: %s", l.Why, l.To))
	}
	if asked.Scale == nil || !asked.Scale.Applied {
		return notes
	}
	if text := asked.Scale.String(); text != "1" {
		notes = append(notes, fmt.Sprintf("scaled by %s. Names of levels are those of the document, values are those of this machine", text))
	}
	for _, l := range asked.Floors {
		notes = append(notes, fmt.Sprintf("%s is %s, which is not scaled further: %s", l.What, l.To, l.Why))
	}
	return notes
}
