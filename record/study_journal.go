package record

import (
	"os"
	"path/filepath"
	"time"

	"github.com/plimsoll-bench/plimsoll/internal/safeopen"
)

// The kinds of lines in the journal of a study.
const (
	EventSession = "session" // the study was begun or resumed
	EventBegin   = "begin"   // a trial is about to begin
	EventEnd     = "end"     // a trial ended
)

// StudyEvent is a line of the journal of a study. The journal only grows, and each line is synced before the study
// continues, so it has the trials that began and ended, even after a crash of the machine.
type StudyEvent struct {
	At      time.Time     `json:"at"`
	Event   string        `json:"event"`
	Session *StudySession `json:"session,omitempty"`
	Trial   *Trial        `json:"trial,omitempty"`
	// Procedure and Step say which trial of which procedure it is; Step counts from 1.
	Procedure string `json:"procedure,omitempty"`
	Step      int    `json:"step,omitempty"`
	// Data is what the trial works on.
	Data *TrialData `json:"data,omitempty"`
}

// StudySession is one process that worked on a study.
type StudySession struct {
	Tool    Tool     `json:"tool"`
	Command []string `json:"command,omitempty"`
	Pid     int      `json:"pid"`
	// Host, CPU and Cores are the machine.
	Host  string  `json:"host,omitempty"`
	CPU   string  `json:"cpu,omitempty"`
	Cores float64 `json:"cores,omitempty"`
	// Directory is where relative paths of the specification count from.
	Directory string `json:"directory,omitempty"`
}

// TrialData is what is known of the documents that a trial works on.
type TrialData struct {
	// Place is where they are: target, database and collection.
	Place string `json:"place"`
	// Dropped is true if the trial dropped what was there before.
	Dropped bool `json:"dropped,omitempty"`
	// Ready is true once they were known to be all there; Ours if this study loaded every one of them.
	Ready bool `json:"ready,omitempty"`
	Ours  bool `json:"ours,omitempty"`
	// Records is how many there have to be, Held how many there were when the load began.
	Records int64 `json:"records,omitempty"`
	Held    int64 `json:"held,omitempty"`
	// Taken is true if the trial inserted documents under keys that the next one would use again.
	Taken bool `json:"taken,omitempty"`
}

// ReadJournal reads the journal of a study, in the order in which it was written. Lines that cannot be read, such as
// a last one that a power cut tore, are left out and counted.
func ReadJournal(dir string) (events []StudyEvent, unreadable int, err error) {
	return readLines(filepath.Join(dir, JournalFile), "the study in "+dir, (*StudyEvent).complete)
}

// whole reports whether an event has what its kind needs.
func (e StudyEvent) complete() bool {
	switch e.Event {
	case EventSession:
		return e.Session != nil
	case EventBegin, EventEnd:
		return e.Trial != nil && e.Trial.Number > 0 && e.Trial.Attempt > 0
	}
	return false
}

// openLines opens a file of lines to append to it. An incomplete last line is ended, never overwritten.
func openLines(dir, name string) (*os.File, error) {
	f, err := os.OpenFile(filepath.Join(dir, name), os.O_CREATE|os.O_RDWR|os.O_APPEND|safeopen.NoLink, 0o644)
	if err != nil {
		return nil, err
	}
	if err := endLine(f); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

func endLine(f *os.File) error {
	info, err := f.Stat()
	if err != nil || info.Size() == 0 {
		return err
	}
	last := make([]byte, 1)
	if _, err := f.ReadAt(last, info.Size()-1); err != nil || last[0] == '\n' {
		return err
	}
	_, err = f.Write([]byte("\n"))
	return err
}
