// Package observe samples machines and servers during the load, once a second, and keeps the samples for the record.
//
// It knows neither the load nor the clock of the record, judges nothing and writes nothing. Sampling must not disturb
// the run: each source has its own goroutine, and a slow or failing source only leaves gaps.
package observe

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/plimsoll-bench/plimsoll/internal/finite"
	"github.com/plimsoll-bench/plimsoll/record"
)

// Every is the sampling period.
const Every = time.Second

// Source is something to sample. One goroutine calls its methods.
type Source interface {
	// Look reads the current state. An error leaves a gap; after [errNever] the source is not sampled again.
	Look(ctx context.Context) (Reading, error)
	Close() error
}

// errNever says that a source can never be sampled.
var errNever = errors.New("")

// Reading is one sample of a source.
type Reading struct {
	Source string    // as in [record.Sample]
	Time   time.Time // on this machine's clock; zero for now
	// Values are gauges, or rates per second since the last sample; the first sample has no rates.
	Values map[string]float64
	Events []Event
	Notes  []string // what cannot be sampled, and why; each is kept once
	// Others are further sources that are sampled together with this one.
	Others []Reading
}

// Event is an event of a machine, a server or a lab.
type Event struct {
	Time time.Time
	Kind string
	Text string
	Data map[string]string
}

// Sample is the values of a source at a time.
type Sample struct {
	Time   time.Time
	Source string
	Values map[string]float64
}

// Record returns the sample on a clock that began at start.
func (s Sample) Record(start time.Time) record.Sample {
	return record.Sample{At: int64(s.Time.Sub(start)), Source: s.Source, Values: s.Values}
}

// Limits between two calls of [Watch.Take].
const (
	maxSamples = 10_000
	maxEvents  = 1_000
)

// Watch samples sources until it is stopped. Any goroutine may call its methods.
type Watch struct {
	mu      sync.Mutex
	samples []Sample
	events  []Event
	notes   []string
	lost    int64
	dropped map[[2]string]int64 // values that are not finite, by source and name

	late bool // there is a source that is read at the end

	ctx    context.Context
	cancel context.CancelFunc
	group  sync.WaitGroup
	firsts sync.WaitGroup // of the first looks
}

// New returns a watch without sources. They may do what ctx permits, and do not end with it.
func New(ctx context.Context) *Watch {
	w := &Watch{dropped: map[[2]string]int64{}}
	w.ctx, w.cancel = context.WithCancel(context.WithoutCancel(ctx))
	return w
}

// Follow samples sources, each of them once per period. The watch closes them at the end.
func (w *Watch) Follow(period time.Duration, sources ...Source) {
	for _, s := range sources {
		if _, late := s.(Late); late {
			w.mu.Lock()
			w.late = true
			w.mu.Unlock()
		}
		w.firsts.Add(1)
		w.group.Go(func() { w.follow(period, s) })
	}
}

// First waits until each source was looked at once, successfully or not, but no longer than a time. Connections are
// open then, and rates are known from the second look on: a load that fills the network or the processors delays both.
func (w *Watch) First(ctx context.Context, within time.Duration) {
	done := make(chan struct{})
	go func() { w.firsts.Wait(); close(done) }()
	late := time.NewTimer(within)
	defer late.Stop()
	select {
	case <-done:
	case <-late.C:
	case <-ctx.Done():
	}
}

// follow samples one source. A sample that takes longer than a period skips the next.
func (w *Watch) follow(period time.Duration, s Source) {
	defer s.Close()
	ticker := time.NewTicker(period)
	defer ticker.Stop()
	var last error // noted if the source never has values
	seen, first := false, sync.OnceFunc(w.firsts.Done)
	defer first()
	defer func() {
		if !seen && last != nil {
			w.note(last.Error())
		}
	}()
	for {
		r, err := s.Look(w.ctx)
		w.keep(r)
		first()
		seen = seen || !r.empty()
		if err != nil && w.ctx.Err() == nil { // not if the watch was stopped
			last = err
		}
		if err != nil && errors.Is(err, errNever) {
			seen = true // noted here
			w.note(err.Error())
			return
		}
		select {
		case <-ticker.C:
		case <-w.ctx.Done():
		}
		// A slow source has a tick waiting when it is stopped, and select takes either.
		if w.ctx.Err() != nil {
			if _, late := s.(Late); late {
				w.readLast(s)
			}
			return
		}
	}
}

// readLast reads the last values of a source whose values come late.
func (w *Watch) readLast(s Source) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(w.ctx), lateAtMost)
	defer cancel()
	r, err := s.Look(ctx)
	w.keep(r)
	if err != nil {
		w.note("the last values are missing: " + err.Error())
	}
}

// never returns an [errNever].
func never(format string, args ...any) error {
	return fmt.Errorf(format+"%w", append(args, errNever)...)
}

func (w *Watch) keep(r Reading) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.keepOne(r)
	for _, other := range r.Others {
		w.keepOne(other)
	}
}

func (w *Watch) keepOne(r Reading) {
	for _, name := range finite.Take(r.Values) {
		w.dropped[[2]string{r.Source, name}]++
	}
	if len(r.Values) > 0 && len(w.samples) < maxSamples {
		if r.Time.IsZero() {
			r.Time = time.Now()
		}
		w.samples = append(w.samples, Sample{Time: r.Time, Source: r.Source, Values: r.Values})
	}
	for _, e := range r.Events {
		w.add(e)
	}
	for _, n := range r.Notes {
		w.remember(n)
	}
}

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

func (w *Watch) remember(text string) {
	if !slices.Contains(w.notes, text) {
		w.notes = append(w.notes, text)
	}
}

// Tell adds an event from elsewhere, such as a driver. It returns at once.
func (w *Watch) Tell(kind, text string, data map[string]string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.add(Event{Time: time.Now(), Kind: kind, Text: text, Data: data})
}

// Take returns the samples and events since the last call, in the order of their arrival, and how many events were
// discarded.
func (w *Watch) Take() (samples []Sample, events []Event, lost int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	samples, events, lost = w.samples, w.events, w.lost
	w.samples, w.events, w.lost = nil, nil, 0
	return samples, events, lost
}

// Notes returns what cannot be sampled, and why.
func (w *Watch) Notes() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	notes := slices.Clone(w.notes)
	for key, n := range w.dropped {
		if len(notes) >= len(w.notes)+mostDropped {
			notes = append(notes, fmt.Sprintf("values of %d more series are left out for the same reason", len(w.dropped)-mostDropped))
			break
		}
		notes = append(notes, record.NotTaken(key[0], key[1], n))
	}
	slices.Sort(notes[len(w.notes):])
	return notes
}

// mostDropped bounds the series that notes name.
const mostDropped = 10

// stopAtMost is how long Stop waits for current samples.
func (w *Watch) stopAtMost() time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.late {
		return time.Second + lateAtMost
	}
	return time.Second
}

// Stop ends the sampling. It does not wait for a source that hangs.
func (w *Watch) Stop() {
	w.cancel()
	done := make(chan struct{})
	go func() { w.group.Wait(); close(done) }()
	select {
	case <-done:
	case <-time.After(w.stopAtMost()):
	}
}
