package record

import (
	"path/filepath"
	"time"

	"github.com/plimsoll-bench/plimsoll/spec"
)

// SuiteEvent is a line of the journal of a suite. The journal only grows, and each line is synced before the suite
// continues, so it has the parts that began and their outcome, even after a crash of the machine.
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

// SuiteWorked returns the time of all sessions of a suite from its journal: each from its beginning to its last known
// moment, which is now for a running one. now is zero if none runs. The time between sessions does not count.
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

// lastOfPart returns when the running study last wrote its journal; zero for other parts.
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
