package lab

import (
	"bytes"
	"context"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/plimsoll-bench/plimsoll/record"
)

// keptEvents is how many events stay in memory. Older ones are read from the file.
const keptEvents = 2000

// eventLog has the events of a lab, all in a file and the recent ones in memory.
type eventLog struct {
	mu     sync.Mutex
	file   *os.File
	path   string
	last   int64
	recent []record.LabEvent
	more   chan struct{} // closed by the next event
	now    func() time.Time
}

func openEvents(dir string, now func() time.Time) (*eventLog, error) {
	path := filepath.Join(dir, eventsFile)
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND|os.O_TRUNC, 0o600)
	if err != nil {
		return nil, err
	}
	return &eventLog{file: f, path: path, more: make(chan struct{}), now: now}, nil
}

// add appends an event. It ignores errors of the file, because a lab works without it.
func (l *eventLog) add(kind, text string, data map[string]string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.last++
	e := record.LabEvent{Seq: l.last, Time: l.now().UTC(), Kind: kind, Text: text, Data: maps.Clone(data)}
	if b, err := json.Marshal(e); err == nil {
		_, _ = l.file.Write(append(b, '\n'))
	}
	if len(l.recent) == keptEvents {
		l.recent = append(l.recent[:0:0], l.recent[keptEvents/2:]...)
	}
	l.recent = append(l.recent, e)
	close(l.more)
	l.more = make(chan struct{})
}

// since returns the events after a sequence number, and waits for the next event if there are none.
func (l *eventLog) since(ctx context.Context, after int64) []record.LabEvent {
	for {
		l.mu.Lock()
		last, more := l.last, l.more
		var found []record.LabEvent
		if after < last {
			first := l.last - int64(len(l.recent)) // the last event that is not in memory
			if after >= first {
				found = append(found, l.recent[after-first:]...)
			} else {
				found = eventsAfter(l.path, after)
			}
		}
		l.mu.Unlock()
		if len(found) > 0 {
			return found
		}
		select {
		case <-more:
		case <-ctx.Done():
			return nil
		}
	}
}

func (l *eventLog) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	_ = l.file.Close() // every line was written at once
}

// eventsAfter reads events from a file, up to a torn line.
func eventsAfter(path string, after int64) []record.LabEvent {
	content, err := os.ReadFile(path)
	if err != nil {
		return nil
	}
	var found []record.LabEvent
	for line := range bytes.Lines(content) {
		var e record.LabEvent
		if !bytes.HasSuffix(line, []byte("\n")) || json.Unmarshal(line, &e) != nil {
			break
		}
		if e.Seq > after {
			found = append(found, e)
		}
	}
	return found
}
