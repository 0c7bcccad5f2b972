package record

import (
	"path/filepath"
	"time"
)

// SuiteEvent is a line of the journal of a suite. The journal only grows, and a line is on the disk before the suite goes
// on: whatever happens to the machine, it says which parts began and what became of them.
type SuiteEvent struct {
	At time.Time `json:"at"`
	// Event is session, begin or end, as in the journal of a study.
	Event   string        `json:"event"`
	Session *StudySession `json:"session,omitempty"`
	Part    *Part         `json:"part,omitempty"`
}

// whole reports whether an event has what its kind needs.
func (e *SuiteEvent) whole() bool {
	switch e.Event {
	case EventSession:
		return e.Session != nil
	case EventBegin, EventEnd:
		return e.Part != nil && e.Part.Name != ""
	}
	return false
}

// ReadSuiteJournal reads the journal of a suite, in the order in which it was written. Lines that cannot be read, such as
// a last one that a power cut tore, are left out and counted.
func ReadSuiteJournal(dir string) (events []SuiteEvent, unreadable int, err error) {
	events, unreadable, err = readLines(filepath.Join(dir, SuiteJournal), "the suite in "+dir, (*SuiteEvent).whole)
	for i := range events {
		if p := events[i].Part; p != nil {
			Plain(p.Set)
		}
	}
	return events, unreadable, err
}
