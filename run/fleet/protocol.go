package fleet

import (
	"encoding/json"
	"errors"
	"io"
	"sync"
	"syscall"

	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/run"
	"github.com/plimsoll-bench/plimsoll/spec"
)

// The parent and its clients exchange lines of JSON: the parent writes [command]s to a client's standard input, the
// client writes [message]s to its standard output. The first command is an order. A client ends with its input, so that
// it does not outlive its parent.

// command is a command of the parent. One field is set.
type command struct {
	Order *order `json:"order,omitempty"`
	// Start is the wall clock, in nanoseconds of the Unix epoch, at which the load starts.
	Start int64 `json:"start,omitempty"`
	// Stop ends the load as a first Ctrl-C does, Abort as a second one.
	Stop  bool `json:"stop,omitempty"`
	Abort bool `json:"abort,omitempty"`
}

// order is the task of a client. It has the credentials of the target.
type order struct {
	Spec    spec.Run    `json:"spec"` // its part of the load
	Dir     string      `json:"dir"`  // of its own record
	Tool    record.Tool `json:"tool"`
	Command []string    `json:"command,omitempty"`
	Address string      `json:"address,omitempty"` // of the lab that is the target, with credentials
	Client  int         `json:"client"`
	Clients int         `json:"clients"`
	Streams int         `json:"streams"` // of all clients together
	Number  uint64      `json:"number"`  // see run.Options
	Duty    string      `json:"duty,omitempty"`

	Brief json.RawMessage `json:"brief,omitempty"` // parameters of the duty
}

// message is a message of a client. One field is set, or none as a sign of life.
type message struct {
	Ready    bool                   `json:"ready,omitempty"` // everything is open; it waits for the start
	Began    int64                  `json:"began,omitempty"` // wall clock of its start
	Interval *record.PackedInterval `json:"interval,omitempty"`
	Event    *measure.Event         `json:"event,omitempty"`
	Done     *result                `json:"done,omitempty"` // the last one
}

// result is the result of a client's run.
type result struct {
	Run     *record.Run `json:"run,omitempty"` // its own record, if it has one
	Stage   run.Stage   `json:"stage,omitempty"`
	Error   string      `json:"error,omitempty"`
	Stopped bool        `json:"stopped,omitempty"` // the error is that the client was stopped
	Full    bool        `json:"full,omitempty"`    // the error is a full disk
}

// fullError is the error of a client whose disk is full.
type fullError struct{ text string }

func (e *fullError) Error() string { return e.text }
func (e *fullError) Unwrap() error { return syscall.ENOSPC }

func (r *result) err() error {
	switch {
	case r.Error == "":
		return nil
	case r.Full:
		return &fullError{r.Error}
	}
	return errors.New(r.Error)
}

// lines writes JSON lines from its own goroutine, so that a slow reader does not block senders.
type lines struct {
	mu     sync.Mutex
	filled sync.Cond
	queue  [][]byte
	closed bool
	err    error
	done   chan struct{} // closed when everything is written, or after an error
}

func newLines(w io.Writer) *lines {
	l := &lines{done: make(chan struct{})}
	l.filled.L = &l.mu
	go l.write(w)
	return l
}

// send queues a line. It returns the first error of writing.
func (l *lines) send(v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err == nil && !l.closed {
		l.queue = append(l.queue, append(b, '\n'))
		l.filled.Signal()
	}
	return l.err
}

// close ends the writing when the queue is empty.
func (l *lines) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	l.filled.Signal()
}

func (l *lines) write(w io.Writer) {
	defer close(l.done)
	for {
		b, ok := l.next()
		if !ok {
			return
		}
		if _, err := w.Write(b); err != nil {
			l.mu.Lock()
			l.err, l.queue = err, nil
			l.mu.Unlock()
			return
		}
	}
}

func (l *lines) next() ([]byte, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for len(l.queue) == 0 && !l.closed {
		l.filled.Wait()
	}
	if len(l.queue) == 0 {
		return nil, false
	}
	b := l.queue[0]
	l.queue = l.queue[1:]
	return b, true
}
