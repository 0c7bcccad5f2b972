package record

import (
	"path/filepath"
	"time"

	"github.com/plimsoll-bench/plimsoll/spec"
)

// SuiteEvent is a line of the journal of a suite. The journal only grows, and a line is on the disk before the suite
// goes on: whatever happens to the machine, it says which parts began and what became of them.
type SuiteEvent struct {
	At time.Time `json:"at"`
	// Event is session, begin or end, as in the journal of a study.
	Event   string        `json:"event"`
	Session *StudySession `json:"session,omitempty"`
	Part    *Part         `json:"part,omitempty"`
}

// whole reports whether an event has what its kind needs.
func (e SuiteEvent) complete() bool {
	switch e.Event {
	case EventSession:
		return e.Session != nil
	case EventBegin, EventEnd:
		return e.Part != nil && e.Part.Name != ""
	}
	return false
}

// ReadSuiteJournal reads the journal of a suite, in the order in which it was written. Lines that cannot be read, such
// as a last one that a power cut tore, are left out and counted.
func ReadSuiteJournal(dir string) (events []SuiteEvent, unreadable int, err error) {
	events, unreadable, err = readLines(filepath.Join(dir, SuiteJournal), "the suite in "+dir, (*SuiteEvent).complete)
	for i := range events {
		if p := events[i].Part; p != nil {
			spec.Plain(p.Set)
		}
	}
	return events, unreadable, err
}

// SuiteWorked is how long the sessions of a suite worked together, by its journal: each from its begin to the last that
// is known of it, which is now for one that goes on; zero is that none does. The time between two of them does not
// count.
func SuiteWorked(dir string, now time.Time) (time.Duration, error) {
	events, _, err := ReadSuiteJournal(dir)
	if err != nil {
		return 0, err
	}
	var worked time.Duration
	var begun, last time.Time
	end := func() { worked += max(0, last.Sub(begun)) } // a clock may be set back
	for _, e := range events {
		if e.Session != nil {
			end()
			begun = e.At
		}
		last = e.At
	}
	if !now.IsZero() {
		last = now
	} else if sign := lastOfPart(dir, events); sign.After(last) {
		last = sign
	}
	end()
	return worked, nil
}

// lastOfPart is when the study that was under way last wrote into its journal; zero for other parts, of which nothing
// is known.
func lastOfPart(dir string, events []SuiteEvent) time.Time {
	if len(events) == 0 {
		return time.Time{}
	}
	e := events[len(events)-1]
	if e.Event != EventBegin || e.Part.Kind != KindStudy || e.Part.inside() != nil {
		return time.Time{}
	}
	trials, _, err := ReadJournal(filepath.Join(dir, PartsDir, e.Part.Name))
	if err != nil || len(trials) == 0 {
		return time.Time{}
	}
	return trials[len(trials)-1].At
}
