package recorded

import (
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"sync"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/plimsoll-bench/plimsoll/workload"
	"github.com/plimsoll-bench/plimsoll/workload/own"
)

// Replay is a workload that sends the operations of a recording again. Operations without kept commands are made by the
// workload file in the recording.
//
// A schedule that goes on after the last operation continues with the first one.
type Replay struct {
	*own.Plan
	header  Header
	open    func() (io.ReadCloser, error)
	total   int64 // operations that can be sent
	classes []int // by operation of the file
	length  time.Duration
	named   []workload.Named // databases in kept commands

	mu       sync.Mutex
	source   *cycle
	next     int64           // number of the next entry of source
	waiting  map[int64]entry // entries that were read before their turn
	concerns map[string]*workload.Concern
}

// OpenReplay opens a recording. open opens its file; each call reads from the begin.
func OpenReplay(open func() (io.ReadCloser, error), asked workload.Spec) (*Replay, error) {
	file, err := open()
	if err != nil {
		return nil, err
	}
	defer file.Close()
	in, err := openReader(file)
	if err != nil {
		return nil, err
	}
	defer in.close()
	f, err := own.Read(strings.NewReader(in.header.Workload))
	if err != nil {
		return nil, fmt.Errorf("the workload in the recording: %w", err)
	}
	for i, number := range in.header.Shapes {
		if number >= len(f.Operations) || number < -1 {
			return nil, fmt.Errorf("the recording is damaged: shape %d is operation %d of %d", i, number, len(f.Operations))
		}
	}
	r := &Replay{header: in.header, open: open, waiting: map[int64]entry{}, concerns: map[string]*workload.Concern{}}
	var kept []own.Operation // without readers of change streams, which no schedule drives
	numbers := make([]int, len(f.Operations))
	for i, o := range f.Operations {
		numbers[i] = -1
		if o.Watch == "" {
			numbers[i] = len(kept)
			kept = append(kept, o)
		}
	}
	for i, n := range r.header.Shapes {
		if n >= 0 {
			r.header.Shapes[i] = numbers[n]
		}
	}
	in.header.Shapes = r.header.Shapes
	if r.Plan, err = own.Compile(f, asked); err != nil {
		return nil, fmt.Errorf("the workload in the recording: %w", err)
	}
	for _, o := range kept {
		r.classes = append(r.classes, slices.IndexFunc(r.Plan.Classes(), func(c workload.Class) bool {
			return c.Name == o.Class()
		}))
	}
	last := time.Duration(0)
	for {
		e, ok := in.next(true)
		if !ok {
			break
		}
		if err := r.name(e); err != nil {
			return nil, fmt.Errorf("command %d of the recording: %w", in.number, err)
		}
		last = e.at
	}
	if r.total = in.number; r.total == 0 {
		return nil, errors.New("the recording has no operation that can be sent")
	}
	// The pause before a repetition is the mean distance.
	r.length = max(last+last/time.Duration(max(r.total-1, 1)), time.Millisecond)
	return r, nil
}

// Header returns what the recording says of itself.
func (r *Replay) Header() Header { return r.header }

// Total is the number of operations that can be sent.
func (r *Replay) Total() int64 { return r.total }

// Rate is the mean rate of the recording, in operations per second.
func (r *Replay) Rate() float64 { return float64(r.total) / r.length.Seconds() }

var _ workload.Timed = (*Replay)(nil)

func (r *Replay) Length(rate float64) time.Duration {
	return time.Duration(float64(r.length) * r.Rate() / rate)
}

// cycle reads a recording again and again.
type cycle struct {
	r    *Replay
	file io.ReadCloser
	in   *reader
	past time.Duration // of the passes before
}

// read returns the next operation; false if the recording cannot be read any more.
func (c *cycle) read(commands bool) (entry, bool) {
	for range 2 {
		if c.in != nil {
			if e, ok := c.in.next(commands); ok {
				e.at += c.past
				return e, true
			}
			c.close()
			c.past += c.r.length
		}
		file, err := c.r.open()
		if err != nil {
			return entry{}, false
		}
		in, err := openReader(file)
		if err != nil {
			_ = file.Close()
			return entry{}, false
		}
		in.header.Shapes = c.r.header.Shapes
		c.file, c.in = file, in
	}
	return entry{}, false
}

func (c *cycle) close() {
	c.in.close()
	_ = c.file.Close()
	c.in = nil
}

// times are the due times of a replay.
type times struct {
	cycle
	factor float64
}

func (r *Replay) Times(rate float64) workload.Times {
	return &times{cycle: cycle{r: r}, factor: r.Rate() / rate}
}

func (t *times) Next() (time.Duration, bool) {
	e, ok := t.read(false)
	at := float64(e.at) * t.factor
	return time.Duration(at), ok && at < math.MaxInt64/4
}

// take returns the operation with a number. Each number is taken once.
func (r *Replay) take(n int64) (entry, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.source == nil {
		r.source = &cycle{r: r}
	}
	for r.next <= n {
		e, ok := r.source.read(true)
		if !ok {
			return entry{}, false
		}
		r.waiting[r.next] = e
		r.next++
	}
	e, ok := r.waiting[n]
	delete(r.waiting, n)
	if len(r.waiting) > mostWaiting { // operations that were dropped because they were too late
		for old := range r.waiting {
			if old < n-mostWaiting/2 {
				delete(r.waiting, old)
			}
		}
	}
	return e, ok
}

// mostWaiting is from when on operations that nobody took are forgotten.
const mostWaiting = 1 << 17

// The first workers read the change streams of the recording beside the schedule.
func (r *Replay) Stream(worker, workers int) workload.Stream {
	if worker < r.Plan.Readers() {
		return r.Plan.Stream(worker, workers)
	}
	s := &replayStream{r: r}
	s.base, s.choose = r.Plan.Chosen(worker, workers)
	return workload.Stream{Next: s.Next, Done: s.Done, Flush: s.base.Flush, Turn: func(n int64) { s.turn = n }}
}

// replayStream sends the operations whose turn it is told.
type replayStream struct {
	r       *Replay
	base    workload.Stream
	choose  func(operation int)
	turn    int64
	made    bool // the workload made the last operation
	request [1]workload.Request
}

func (s *replayStream) Next(op *workload.Op) {
	e, ok := s.r.take(s.turn)
	if ok && e.command != nil {
		if request, err := s.r.request(e.command); err == nil {
			s.request[0] = request
			op.Class, op.Requests, op.Seq, op.Transaction, op.Think = s.r.classes[e.operation], s.request[:], -1, false, 0
			s.made = false
			return
		}
	}
	if ok {
		s.choose(e.operation)
	}
	s.made = true
	s.base.Next(op)
}

func (r *Replay) request(command bson.Raw) (workload.Request, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return requestOf(command, r.concerns)
}

func (s *replayStream) Done(op *workload.Op, applied bool) {
	if s.made {
		s.base.Done(op, applied)
	}
}
