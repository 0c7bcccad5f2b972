package load

import (
	"context"
	"encoding/binary"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/store"
	"github.com/plimsoll-bench/plimsoll/workload"
)

// The classes of fakeWorkload.
const (
	classRead = iota
	classInsert
	classPart
)

// fakeWorkload reads, unless kind says otherwise for the n-th operation of a worker.
type fakeWorkload struct {
	kind     func(worker int, n int64) int // classRead if nil
	parts    int                           // requests per read, each timed as a part, if more than one
	held     int                           // inserts that Flush sends at the end
	checking bool                          // streams verify
	records  int64
	done     atomic.Int64
	applied  atomic.Int64
}

func (w *fakeWorkload) Name() string { return "fake" }
func (w *fakeWorkload) Classes() []workload.Class {
	return []workload.Class{{Name: "read"}, {Name: "insert"}, {Name: "part", Part: true}}
}
func (w *fakeWorkload) Collections() []string     { return []string{"docs"} }
func (w *fakeWorkload) Indexes() []workload.Index { return nil }
func (w *fakeWorkload) Records() int64            { return w.records }
func (w *fakeWorkload) Loader() workload.Loader   { return &fakeLoader{} }
func (w *fakeWorkload) Stream(worker, _ int) workload.Stream {
	return (&fakeStream{w: w, worker: worker}).functions()
}

type fakeStream struct {
	w      *fakeWorkload
	worker int
	n      int64
	reqs   []workload.Request
}

func (s *fakeStream) functions() workload.Stream {
	of := workload.Stream{Next: s.Next, Done: s.Done, Flush: s.Flush}
	if s.w.checking { // documents that begin with 'g' are good
		of.Verify = func(_ *workload.Op, _ int, doc []byte) (ok, checked bool) { return len(doc) > 0 && doc[0] == 'g', true }
	}
	return of
}

func (s *fakeStream) Next(op *workload.Op) {
	class := classRead
	if s.w.kind != nil {
		class = s.w.kind(s.worker, s.n)
	}
	s.n++
	s.fill(op, class, max(1, s.w.parts))
}

func (s *fakeStream) fill(op *workload.Op, class, requests int) {
	s.reqs = s.reqs[:0]
	for range requests {
		r := workload.Request{Verb: workload.Find, Class: workload.NoClass, Collection: "docs"}
		if class == classInsert {
			r.Verb = workload.Insert
		}
		if requests > 1 {
			r.Class = classPart
		}
		s.reqs = append(s.reqs, r)
	}
	op.Class, op.Requests, op.Seq = class, s.reqs, -1
}

func (s *fakeStream) Done(_ *workload.Op, applied bool) {
	s.w.done.Add(1)
	if applied {
		s.w.applied.Add(1)
	}
}

func (s *fakeStream) Flush(op *workload.Op) bool {
	if s.w.held == 0 {
		return false
	}
	s.fill(op, classInsert, 1)
	return true
}

// fakeLoader makes documents that consist of their record number.
type fakeLoader struct {
	reqs [1]workload.Request
	docs [][]byte
}

func (l *fakeLoader) Load(seq int64, n int, op *workload.Op) {
	l.docs = l.docs[:0]
	for i := range n {
		l.docs = append(l.docs, binary.LittleEndian.AppendUint64(nil, uint64(seq+int64(i))))
	}
	l.reqs[0] = workload.Request{Verb: workload.Insert, Class: workload.NoClass, Collection: "docs", Docs: l.docs}
	op.Class, op.Requests, op.Seq = classInsert, l.reqs[:], seq
}

func (l *fakeLoader) Probe(seq int64, op *workload.Op) {
	l.reqs[0] = workload.Request{Verb: workload.Find, Class: workload.NoClass, Collection: "docs", Limit: 1,
		Filter: binary.LittleEndian.AppendUint64(nil, uint64(seq))}
	op.Class, op.Requests, op.Seq = classRead, l.reqs[:], -1
}

// call is what a fakeStore is asked.
type call struct {
	worker   int
	at       time.Duration // since the store was made
	n        int64         // number of the call, from 0
	deadline time.Time
	req      *workload.Request
}

// fakeStore answers as do says; do sleeps for the service time.
type fakeStore struct {
	base   time.Time
	do     func(c call, res *store.Result)
	openFn func(worker int) error
	n      atomic.Int64
	opened atomic.Int64
	closed atomic.Int64

	mu   sync.Mutex
	docs map[uint64]int
	more int64 // added to Count
}

func newFakeStore(do func(c call, res *store.Result)) *fakeStore {
	return &fakeStore{base: time.Now(), do: do, docs: map[uint64]int{}}
}

// serving answers everything well after d.
func serving(d time.Duration) func(call, *store.Result) {
	return func(_ call, res *store.Result) {
		time.Sleep(d)
		res.Docs = 1
	}
}

func (s *fakeStore) Session(worker int) (store.Session, error) {
	if s.openFn != nil {
		if err := s.openFn(worker); err != nil {
			return nil, err
		}
	}
	s.opened.Add(1)
	return &fakeSession{s: s, worker: worker}, nil
}
func (s *fakeStore) Info(context.Context) (store.Info, error)              { return store.Info{}, nil }
func (s *fakeStore) EnsureIndexes(context.Context, []workload.Index) error { return nil }
func (s *fakeStore) Drop(context.Context, string) error                    { return nil }
func (s *fakeStore) Close() error                                          { return nil }
func (s *fakeStore) Count(ctx context.Context, collection string) (int64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return int64(len(s.docs)) + s.more, ctx.Err()
}

type fakeSession struct {
	s      *fakeStore
	worker int
	inUse  atomic.Bool
}

func (f *fakeSession) Do(deadline time.Time, req *workload.Request, res *store.Result) {
	if !f.inUse.CompareAndSwap(false, true) {
		panic("two goroutines use one session")
	}
	defer f.inUse.Store(false)
	res.Reset()
	res.Attempts = 1
	f.s.do(call{worker: f.worker, at: time.Since(f.s.base), n: f.s.n.Add(1) - 1, deadline: deadline, req: req}, res)
}

func (f *fakeSession) Close() error {
	if f.inUse.Load() {
		panic("session closed while in use")
	}
	f.s.closed.Add(1)
	return nil
}

// memorySink keeps all, and fails after some intervals if asked to.
type memorySink struct {
	intervals []*measure.Interval
	events    []measure.Event
	failAfter int
}

var errDiskFull = errors.New("no space left on device")

func (m *memorySink) Interval(iv *measure.Interval) error {
	if m.failAfter > 0 && len(m.intervals) >= m.failAfter {
		return errDiskFull
	}
	m.intervals = append(m.intervals, iv)
	return nil
}

func (m *memorySink) Event(e measure.Event) error {
	m.events = append(m.events, e)
	return nil
}

// count sums the operations of a class with an outcome in the given phases (all if none).
func (m *memorySink) count(class int, outcome store.Outcome, phases ...string) int64 {
	var n int64
	for _, iv := range m.in(phases...) {
		n += iv.Classes[class].Counts[outcome]
	}
	return n
}

func (m *memorySink) in(phases ...string) []*measure.Interval {
	var found []*measure.Interval
	for _, iv := range m.intervals {
		ok := len(phases) == 0
		for _, p := range phases {
			ok = ok || p == iv.Phase
		}
		if ok {
			found = append(found, iv)
		}
	}
	return found
}

// sums returns the offered and dropped operations of the given phases.
func (m *memorySink) sums(phases ...string) (offered, dropped int64) {
	for _, iv := range m.in(phases...) {
		offered += iv.Offered
		dropped += iv.Dropped
	}
	return offered, dropped
}

// kinds lists the events of a kind.
func (m *memorySink) kinds(kind string) []measure.Event {
	var found []measure.Event
	for _, e := range m.events {
		if e.Kind == kind {
			found = append(found, e)
		}
	}
	return found
}

// quantiles merges a histogram of a class over phases.
func (m *memorySink) merged(t *testing.T, pick func(measure.ClassInterval) *measure.Histogram, class int,
	phases ...string) *measure.Histogram {
	t.Helper()
	all := measure.NewHistogram()
	for _, iv := range m.in(phases...) {
		if h := pick(iv.Classes[class]); h != nil {
			if err := all.Merge(h); err != nil {
				t.Fatal(err)
			}
		}
	}
	return all
}

func response(c measure.ClassInterval) *measure.Histogram { return c.Response }
func service(c measure.ClassInterval) *measure.Histogram  { return c.Service }

// mustRun runs with plain timers and fails the test on an error.
func mustRun(t *testing.T, cfg Config, w workload.Workload, st store.Store) (Report, *memorySink) {
	t.Helper()
	sink := &memorySink{}
	cfg.PlainTimers = true
	r, err := Run(t.Context(), cfg, w, st, sink)
	if err != nil {
		t.Fatalf("Run: %v", err)
	}
	return r, sink
}
