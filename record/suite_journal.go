package record

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
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
	b, err := os.ReadFile(filepath.Join(dir, SuiteJournal))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, 0, nil
	}
	if err != nil {
		return nil, 0, fmt.Errorf("cannot read the suite in %s: %w", dir, cause(err))
	}
	for line := range bytes.Lines(b) {
		line = bytes.TrimSpace(line)
		if len(line) == 0 {
			continue
		}
		var e SuiteEvent
		if json.Unmarshal(line, &e) != nil || !e.whole() {
			unreadable++
			continue
		}
		if e.Part != nil {
			Plain(e.Part.Set)
		}
		events = append(events, e)
	}
	return events, unreadable, nil
}
