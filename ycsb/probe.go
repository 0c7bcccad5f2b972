package ycsb

import (
	"slices"
	"sort"
	"sync"
	"time"

	"github.com/plimsoll-bench/plimsoll/store"
	"github.com/plimsoll-bench/plimsoll/workload"
	"github.com/plimsoll-bench/plimsoll/ycsb/ycsbtext"
)

// YCSB's summary has values that intervals do not have: the duration of closing a session, the time of a scan per
// document, the latencies of failures by status, those of the verification of reads, and with measurementtype=raw every
// single value. Probes around sessions and streams note them, one probe per worker.

// point is one noted value.
type point struct {
	op     string        // series
	status string        // counted as a return of op; "" is none
	at     time.Duration // since the start
	us     int64
	timed  bool // false: the point has a status only
}

// probe has the points of one worker.
type probe struct {
	opts *probes

	mu     sync.Mutex
	points []point

	// Only the worker uses the following fields.
	outcome store.Outcome // of the last request
	docs    int
	began   time.Time     // of the first request of the current operation
	took    time.Duration // of the last request
	ended   time.Time
	request int // sent requests of the current operation
}

type probes struct {
	start     time.Time
	every     bool // keep every value, not only those that intervals lack
	perRecord bool // note the time of scans per document
	integrity bool // reads are verified
	tracked   ycsbtext.Tracked
	workers   []*probe
}

func newProbes(start time.Time, s *settings, integrity bool) *probes {
	p := &probes{
		start: start, every: s.text.Type.NeedsPoints(), perRecord: !s.text.Release017,
		integrity: integrity, tracked: s.tracked,
	}
	for range s.threads {
		p.workers = append(p.workers, &probe{opts: p})
	}
	return p
}

// drain records the points until a time since the start. Intervals are closed some time after their end; the points of
// the next interval stay.
func (p *probes) drain(m *ycsbtext.Measurements, until time.Duration) {
	for _, w := range p.workers {
		for _, pt := range w.remove(until) {
			if pt.timed {
				m.Record(pt.op, pt.at, pt.us, 1)
			}
			if pt.op == ycsbtext.OpCleanup { // YCSB has no intended time for it
				m.RecordIntended(pt.op, pt.at, pt.us, 1)
			}
			if pt.status != "" {
				m.Status(pt.op, pt.status, 1)
			}
		}
	}
}

// remove removes and returns the points until a time. Points are in order of time.
func (w *probe) remove(until time.Duration) []point {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := sort.Search(len(w.points), func(i int) bool { return w.points[i].at > until })
	removed := w.points[:n:n]
	w.points = slices.Clone(w.points[n:])
	return removed
}

func (w *probe) note(pt point) {
	w.mu.Lock()
	w.points = append(w.points, pt)
	w.mu.Unlock()
}

// sample notes the duration of something that ended at a time.
func (w *probe) sample(op string, end time.Time, took time.Duration) {
	w.note(point{op: op, at: end.Sub(w.opts.start), us: took.Microseconds(), timed: true})
}

// requestName is YCSB's name for a request, also as a part of a larger operation.
func requestName(req *workload.Request) string {
	switch {
	case req.Verb == workload.Find && req.Limit == 1 && req.Sort == nil:
		return ycsbtext.OpRead
	case req.Verb == workload.Find:
		return ycsbtext.OpScan
	case req.Verb == workload.Insert, len(req.Updates) > 0 && req.Updates[0].Upsert:
		return ycsbtext.OpInsert
	}
	return ycsbtext.OpUpdate
}

// requestEnded notes the values of a request.
func (w *probe) requestEnded(req *workload.Request, res *store.Result, begin, end time.Time) {
	if w.request == 0 {
		w.began = begin
	}
	w.request++
	w.outcome, w.docs, w.took, w.ended = res.Outcome, res.Docs, end.Sub(begin), end
	op, status := requestName(req), ycsbtext.StatusOf(requestName(req), res.Outcome.String())
	if !res.Outcome.Success() || w.opts.every {
		w.sample(w.opts.tracked.Series(op, status), end, w.took)
	}
	if op == ycsbtext.OpScan && w.opts.perRecord && res.Docs > 0 && res.Outcome == store.OK {
		w.sample(ycsbtext.OpScanPerRecord, end, w.took/time.Duration(res.Docs))
	}
	if op == ycsbtext.OpRead && w.opts.integrity && res.Outcome != store.OK && res.Outcome != store.NotFound {
		w.verified("ERROR", end, 0)
	}
}

// verified notes the verification of a read.
func (w *probe) verified(status string, end time.Time, took time.Duration) {
	w.note(point{op: ycsbtext.OpVerify, status: status, at: end.Sub(w.opts.start), us: took.Microseconds(), timed: true})
}

// operationEnded notes the values of an operation.
func (w *probe) operationEnded(op *workload.Op, rmw bool) {
	if w.opts.every && rmw {
		w.sample(ycsbtext.OpReadModifyWrite, w.ended, w.ended.Sub(w.began))
	}
	if w.opts.every && len(op.Requests) == 0 {
		w.sample(ycsbtext.OpInsert, time.Now(), 0)
	}
	w.request = 0
}

// probedStore has a probe around every session.
type probedStore struct {
	store.Store
	probes *probes
}

func (s *probedStore) Session(worker int) (store.Session, error) {
	inner, err := s.Store.Session(worker)
	if err != nil {
		return nil, err
	}
	return &probedSession{inner, s.probes.workers[worker]}, nil
}

type probedSession struct {
	inner store.Session
	probe *probe
}

func (s *probedSession) Do(deadline time.Time, req *workload.Request, res *store.Result) {
	begin := time.Now()
	s.inner.Do(deadline, req, res)
	s.probe.requestEnded(req, res, begin, time.Now())
}

func (s *probedSession) Close() error {
	begin := time.Now()
	err := s.inner.Close()
	end := time.Now()
	s.probe.sample(ycsbtext.OpCleanup, end, end.Sub(begin))
	return err
}
