package fleet

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"syscall"
	"time"

	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/run"
	"github.com/plimsoll-bench/plimsoll/spec"
)

// The parent and its clients exchange lines of JSON: the parent writes [command]s to a client's standard
// input, the client writes [message]s to its standard output. The first command is an order; the end of the
// input ends the client, so that none outlives its parent.

// command is what the parent tells a client. One field is set.
type command struct {
	Order *order `json:"order,omitempty"`
	// Start is the wall clock, in nanoseconds of the Unix epoch, at which the load starts.
	Start int64 `json:"start,omitempty"`
	// Stop ends the load as a first Ctrl-C does, Abort as a second one.
	Stop  bool `json:"stop,omitempty"`
	Abort bool `json:"abort,omitempty"`
}

// order is all that a client is told before it starts. It holds the credentials of the target.
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
	// Duty is what the client does besides the load, and Brief what it is told of that.
	Duty  string          `json:"duty,omitempty"`
	Brief json.RawMessage `json:"brief,omitempty"`
}

// message is what a client tells its parent. One field is set, or none, which only says that it lives.
type message struct {
	Ready bool `json:"ready,omitempty"` // everything is open, it waits for the start
	// Began is the wall clock at which it started.
	Began    int64          `json:"began,omitempty"`
	Interval *wireInterval  `json:"interval,omitempty"`
	Event    *measure.Event `json:"event,omitempty"`
	Done     *result        `json:"done,omitempty"` // the last one
}

// result is how the run of a client ended.
type result struct {
	Run   *record.Run `json:"run,omitempty"` // its own record, if it has one
	Stage run.Stage   `json:"stage,omitempty"`
	Error string      `json:"error,omitempty"`
	// What kind of error it is, which a text cannot say: the client was told to end, or a disk is full.
	Stopped bool `json:"stopped,omitempty"`
	Full    bool `json:"full,omitempty"`
}

// fullError is the error of a client whose disk is full.
type fullError struct{ text string }

func (e *fullError) Error() string { return e.text }
func (e *fullError) Unwrap() error { return syscall.ENOSPC }

// err returns the error of a client as one of its parent's, or nil.
func (r *result) err() error {
	switch {
	case r.Error == "":
		return nil
	case r.Full:
		return &fullError{r.Error}
	}
	return errors.New(r.Error)
}

// wireInterval is an interval as it travels: histograms are encoded as in a record, with the figures that
// the encoding does not carry beside them.
type wireInterval struct {
	Phase    string                 `json:"phase"`
	Start    time.Duration          `json:"start"`
	End      time.Duration          `json:"end"`
	Classes  []wireClass            `json:"classes"`
	Failures []measure.FailureCount `json:"failures,omitempty"`
	Offered  int64                  `json:"offered,omitempty"`
	Dropped  int64                  `json:"dropped,omitempty"`
	Workers  int                    `json:"workers"`
	InFlight float64                `json:"in_flight"`
	Samples  int                    `json:"samples"`
	Lateness *wireHistogram         `json:"lateness,omitempty"`
	Client   measure.ClientUse      `json:"client"`
}

type wireClass struct {
	Counts   []int64                   `json:"counts"`
	Docs     int64                     `json:"docs,omitempty"`
	Bytes    int64                     `json:"bytes,omitempty"`
	Attempts int64                     `json:"attempts,omitempty"`
	Retries  int64                     `json:"retries,omitempty"`
	Times    map[string]*wireHistogram `json:"times,omitempty"`
}

type wireHistogram struct {
	Packed string        `json:"packed"`
	Exact  measure.Exact `json:"exact"`
}

func packHistogram(h *measure.Histogram) (*wireHistogram, error) {
	if h.Count() == 0 {
		return nil, nil
	}
	packed, err := h.Encode()
	return &wireHistogram{packed, h.Exact()}, err
}

func (w *wireHistogram) unpack() (*measure.Histogram, error) {
	if w == nil {
		return nil, nil
	}
	h, err := measure.Decode(w.Packed)
	if err != nil {
		return nil, err
	}
	return h, h.Restore(w.Exact)
}

// pack makes an interval ready to travel.
func pack(iv *measure.Interval) (*wireInterval, error) {
	w := &wireInterval{
		Phase: iv.Phase, Start: iv.Start, End: iv.End, Failures: iv.Failures, Offered: iv.Offered, Dropped: iv.Dropped,
		Workers: iv.Workers, InFlight: iv.InFlight, Samples: iv.Samples, Client: iv.Client,
	}
	var err error
	if w.Lateness, err = packHistogram(iv.Lateness); err != nil {
		return nil, err
	}
	for i := range iv.Classes {
		c := &iv.Classes[i]
		class := wireClass{Counts: c.Counts, Docs: c.Docs, Bytes: c.Bytes, Attempts: c.Attempts, Retries: c.Retries}
		for _, kind := range measure.Kinds() {
			h, err := packHistogram(*c.Histogram(kind))
			if err != nil {
				return nil, err
			}
			if h != nil {
				if class.Times == nil {
					class.Times = map[string]*wireHistogram{}
				}
				class.Times[kind] = h
			}
		}
		w.Classes = append(w.Classes, class)
	}
	return w, nil
}

// unpack makes it an interval again.
func (w *wireInterval) unpack() (*measure.Interval, error) {
	iv := &measure.Interval{
		Phase: w.Phase, Start: w.Start, End: w.End, Failures: w.Failures, Offered: w.Offered, Dropped: w.Dropped,
		Workers: w.Workers, InFlight: w.InFlight, Samples: w.Samples, Client: w.Client,
	}
	var err error
	if iv.Lateness, err = w.Lateness.unpack(); err != nil {
		return nil, err
	}
	for _, class := range w.Classes {
		c := measure.ClassInterval{Counts: class.Counts, Docs: class.Docs, Bytes: class.Bytes, Attempts: class.Attempts, Retries: class.Retries}
		for kind, packed := range class.Times {
			at := c.Histogram(kind)
			if at == nil {
				return nil, fmt.Errorf("a histogram of unknown kind %q", kind)
			}
			if *at, err = packed.unpack(); err != nil {
				return nil, err
			}
		}
		iv.Classes = append(iv.Classes, c)
	}
	return iv, nil
}

// lines writes JSON lines from a goroutine of its own, so that a reader which stands still does not hold up
// whoever has something to say.
type lines struct {
	mu     sync.Mutex
	filled sync.Cond
	queue  [][]byte
	closed bool
	err    error
	done   chan struct{} // closed when everything is written, or cannot be
}

func newLines(w io.Writer) *lines {
	l := &lines{done: make(chan struct{})}
	l.filled.L = &l.mu
	go l.write(w)
	return l
}

// send queues a line. It returns the first error of the writing.
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

// close ends the writing once the queue is empty.
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
