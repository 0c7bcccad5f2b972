// Package observe says what machines and servers do beside the load: it looks at them once a second and keeps
// what it saw until somebody takes it, for the record.
//
// It knows neither the load nor the record's clock, judges nothing and writes nothing. What is looked at must
// never disturb the run: every source has a goroutine of its own, and one that is slow or refuses only leaves
// gaps.
package observe

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/plimsoll-bench/plimsoll/record"
)

// Every is how often sources are looked at.
const Every = time.Second

// Source is something that can be looked at. Its methods are called from one goroutine.
type Source interface {
	// Look reads the state of now. An error leaves a gap; one that is [ErrNever] says that looking again is
	// useless.
	Look(ctx context.Context) (Reading, error)
	// Close gives back what the source holds.
	Close() error
}

// ErrNever says that a source cannot be looked at, now or later.
var ErrNever = errors.New("")

// Reading is what was seen at one look.
type Reading struct {
	Source string // as in [record.Sample]
	// Values are gauges, or rates per second since the look before; the first look has none of those.
	Values map[string]float64
	Events []Event
	Notes  []string // what cannot be seen, and why; each is kept once
	// Others were seen at the same look: sources that are asked together.
	Others []Reading
}

// Event is something that happened beside the load.
type Event struct {
	Time time.Time
	Kind string
	Text string
	Data map[string]string
}

// Sample is what was seen of a source at a moment.
type Sample struct {
	Time   time.Time
	Source string
	Values map[string]float64
}

// Record returns the sample on a clock that began at start.
func (s Sample) Record(start time.Time) record.Sample {
	return record.Sample{At: int64(s.Time.Sub(start)), Source: s.Source, Values: s.Values}
}

// Limits of what is kept while nobody takes it.
const (
	maxSamples = 10_000
	maxEvents  = 1_000
)

// Watch looks at sources until it is stopped. Its methods may be called from any goroutine.
type Watch struct {
	mu      sync.Mutex
	samples []Sample
	events  []Event
	notes   []string
	lost    int64

	ctx    context.Context
	cancel context.CancelFunc
	group  sync.WaitGroup
}

// New returns a watch over nothing yet.
func New() *Watch {
	w := &Watch{}
	w.ctx, w.cancel = context.WithCancel(context.Background())
	return w
}

// Follow begins to look at sources, each of them once per period. The watch closes them in the end.
func (w *Watch) Follow(period time.Duration, sources ...Source) {
	for _, s := range sources {
		w.group.Go(func() { w.follow(period, s) })
	}
}

// follow looks at one source again and again. A look that takes longer than a period leaves out the next.
func (w *Watch) follow(period time.Duration, s Source) {
	defer s.Close()
	ticker := time.NewTicker(period)
	defer ticker.Stop()
	var last error // of a source that never showed anything
	seen := false
	defer func() {
		if !seen && last != nil {
			w.note(last.Error())
		}
	}()
	for {
		r, err := s.Look(w.ctx)
		w.keep(r)
		seen = seen || !r.empty()
		if err != nil && w.ctx.Err() == nil { // being stopped is no reason
			last = err
		}
		if err != nil && errors.Is(err, ErrNever) {
			seen = true // that is said here
			w.note(err.Error())
			return
		}
		select {
		case <-ticker.C:
		case <-w.ctx.Done():
		}
		// A slow source has a tick waiting when it is stopped, and select takes either.
		if w.ctx.Err() != nil {
			return
		}
	}
}

// never wraps an error that will not go away.
func never(format string, args ...any) error {
	return &neverError{fmt.Errorf(format, args...)}
}

type neverError struct{ error }

func (*neverError) Is(target error) bool { return target == ErrNever }

func (w *Watch) keep(r Reading) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.keepOne(r)
	for _, other := range r.Others {
		w.keepOne(other)
	}
}

func (w *Watch) keepOne(r Reading) {
	if len(r.Values) > 0 && len(w.samples) < maxSamples {
		w.samples = append(w.samples, Sample{Time: time.Now(), Source: r.Source, Values: r.Values})
	}
	for _, e := range r.Events {
		w.add(e)
	}
	for _, n := range r.Notes {
		w.remember(n)
	}
}

// empty reports whether nothing was seen.
func (r *Reading) empty() bool {
	return len(r.Values) == 0 && !slices.ContainsFunc(r.Others, func(o Reading) bool { return !o.empty() })
}

func (w *Watch) add(e Event) {
	if len(w.events) >= maxEvents {
		w.lost++
		return
	}
	w.events = append(w.events, e)
}

func (w *Watch) note(text string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.remember(text)
}

// remember keeps a note once.
func (w *Watch) remember(text string) {
	for _, n := range w.notes {
		if n == text {
			return
		}
	}
	w.notes = append(w.notes, text)
}

// Tell adds an event from elsewhere, such as a driver's view of the servers. It returns at once.
func (w *Watch) Tell(kind, text string, data map[string]string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.add(Event{Time: time.Now(), Kind: kind, Text: text, Data: data})
}

// Take returns what was seen since the last call, in order of time, and how many events were not kept.
func (w *Watch) Take() (samples []Sample, events []Event, lost int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	samples, events, lost = w.samples, w.events, w.lost
	w.samples, w.events, w.lost = nil, nil, 0
	return samples, events, lost
}

// Notes returns what cannot be seen, and why.
func (w *Watch) Notes() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return append([]string(nil), w.notes...)
}

// stopAtMost is how long Stop waits for a look that is under way.
const stopAtMost = time.Second

// Stop ends the looking. It does not wait for a source that hangs.
func (w *Watch) Stop() {
	w.cancel()
	done := make(chan struct{})
	go func() { w.group.Wait(); close(done) }()
	select {
	case <-done:
	case <-time.After(stopAtMost):
	}
}
