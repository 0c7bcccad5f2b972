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

// keptEvents is how many events stay in memory; older ones are read from the file.
const keptEvents = 2000

// eventLog is what happened in a lab, in a file and, as far as it is recent, in memory.
type eventLog struct {
	mu     sync.Mutex
	file   *os.File
	path   string
	last   int64
	recent []record.LabEvent
	more   chan struct{} // closed when the next event comes
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

// add tells that something happened. It returns at once; a file that cannot be written does not keep a lab from working.
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

// since returns the events after one, and waits for the next if there are none.
func (l *eventLog) since(ctx context.Context, after int64) []record.LabEvent {
	for {
		l.mu.Lock()
		last, more := l.last, l.more
		var found []record.LabEvent
		if after < last {
			first := l.last - int64(len(l.recent)) // the last one that is not in memory
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
	_ = l.file.Close() // every line was written when it came
}

// eventsAfter reads events from a file, as far as it is whole.
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
