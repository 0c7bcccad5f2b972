package drill

import (
	"slices"
	"sync"

	"github.com/plimsoll-bench/plimsoll/load"
	"github.com/plimsoll-bench/plimsoll/store"
	"github.com/plimsoll-bench/plimsoll/workload"
)

// sliceLength is the resolution of counts, in nanoseconds. The first and the last success in a slice are exact, so a
// time without success that is longer than two slices is known to the nanosecond.
const sliceLength = int64(5e6)

// slice counts the operations that ended in one slice of time, with the first and last end of each kind.
type slice struct {
	number              int64
	ok, failed          int64
	okFirst, okLast     int64
	failFirst, failLast int64
	hung                bool  // the first failure was a reply that did not come within the timeout
	checked             int64 // successes with a write that the ledger checks
	timely              int64 // successes that came within the timeout, counted from when they were due
	sent                int64 // the earliest time at which one of its operations was sent
	probed, missed      int64 // successes and failures of probes, which are in no count of operations
	// again counts failures of workers whose last operation of that kind had failed too, so their connections are new or
	// proven. againSent is when the last of them was sent.
	again, againSent int64
}

// answered reports whether an operation of the load or of a probe succeeded.
func (s *slice) answered() bool { return s.ok+s.probed > 0 }

// refused reports whether an operation of the load or of a probe failed.
func (s *slice) refused() bool { return s.failed+s.missed > 0 }

func (s *slice) add(o slice) {
	if o.answered() || o.refused() {
		if !s.answered() && !s.refused() || o.sent < s.sent {
			s.sent = o.sent
		}
	}
	if o.answered() {
		if !s.answered() || o.okFirst < s.okFirst {
			s.okFirst = o.okFirst
		}
		s.okLast = max(s.okLast, o.okLast)
	}
	if o.refused() {
		if !s.refused() || o.failFirst < s.failFirst {
			s.failFirst, s.hung = o.failFirst, o.hung
		}
		s.failLast = max(s.failLast, o.failLast)
	}
	s.ok += o.ok
	s.failed += o.failed
	s.checked += o.checked
	s.timely += o.timely
	s.probed += o.probed
	s.missed += o.missed
	s.again += o.again
	s.againSent = max(s.againSent, o.againSent)
}

// course is the results of one class of operations over time. Its slices are in order and none is empty. A watcher's
// courses are of one shard each; -1 is for operations that use several shards, or an unknown one.
type course struct {
	class  string
	shard  int
	writes bool
	slices []slice
}

// placer returns the number of the shard of the document that a request inserts or queries.
type placer interface {
	Of(collection string, document []byte) int
}

// watcher records when and how each operation of a load ended. Outages are computed from that.
type watcher struct {
	classes []workload.Class
	mu      sync.Mutex
	place   placer // nil where there are no shards; set before the load begins
	timeout int64  // of an operation, in nanoseconds; 0 for none
	cells   []map[int64]*slice
	writes  []bool
	workers []*watched
}

func newWatcher(classes []workload.Class) *watcher {
	return &watcher{classes: classes, writes: make([]bool, len(classes))}
}

// cell is the index of the operations of a class on a shard.
func (w *watcher) cell(class, shard int) int { return (shard+1)*len(w.writes) + class }

// worker adds a worker.
func (w *watcher) worker() *watched {
	one := &watched{of: w, open: make([]slice, len(w.writes)), writes: make([]bool, len(w.writes))}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.workers = append(w.workers, one)
	return one
}

// watched is the operations of one worker. It keeps the current slice to itself, so workers take the lock only when a
// slice is over.
type watched struct {
	of     *watcher
	open   []slice // by cell
	writes []bool
	failed [2]bool // the last operation that only reads, and the last one that writes
}

// add adds the result of an operation. checked says that it is a success with a write that the ledger checks.
func (w *watched) add(op *workload.Op, s *load.Settlement, checked bool) {
	if op.Class < 0 || op.Class >= len(w.writes) || s.Outcome == store.Batched {
		return
	}
	if s.Abandoned && s.Reason == store.Client {
		return // the load generator cancelled it, so it is not a failure of the target
	}
	kind := 0
	for i := range op.Requests {
		if op.Requests[i].Writes() {
			w.writes[op.Class], kind = true, 1
		}
	}
	failedBefore := w.failed[kind]
	cell := op.Class
	if w.of.place != nil {
		cell = w.of.cell(op.Class, shardOf(w.of.place, op))
	}
	for len(w.open) <= cell {
		w.open = append(w.open, slice{})
	}
	o := &w.open[cell]
	if n := s.Ended / sliceLength; n != o.number || o.ok+o.failed == 0 {
		w.of.keep(cell, *o, w.writes[op.Class])
		*o = slice{number: n}
	}
	if s.Outcome.Success() || s.Outcome == store.NotFound {
		one := slice{ok: 1, okFirst: s.Ended, okLast: s.Ended, sent: s.Sent}
		if w.of.timeout == 0 || s.Ended-s.Due <= w.of.timeout {
			one.timely = 1
		}
		if s.Outcome.Success() && checked {
			one.checked = 1
		}
		o.add(one)
		w.failed[kind] = false
		return
	}
	one := slice{failed: 1, failFirst: s.Ended, failLast: s.Ended, hung: s.Reason == store.Timeout, sent: s.Sent}
	if failedBefore {
		one.again, one.againSent = 1, s.Sent
	}
	o.add(one)
	w.failed[kind] = true
}

// shardOf returns the shard that all requests of an operation use; -1 if they use several, or an unknown one.
func shardOf(p placer, op *workload.Op) int {
	shard := -1
	same := func(collection string, document []byte) bool {
		at := p.Of(collection, document)
		one := at >= 0 && (shard < 0 || shard == at)
		shard = at
		return one
	}
	for i := range op.Requests {
		r := &op.Requests[i]
		switch r.Verb {
		case workload.Find:
			if !same(r.Collection, r.Filter) {
				return -1
			}
		case workload.Insert:
			for _, d := range r.Docs {
				if !same(r.Collection, d) {
					return -1
				}
			}
		case workload.Update:
			for k := range r.Updates {
				if !same(r.Collection, r.Updates[k].Filter) {
					return -1
				}
			}
		default:
			return -1
		}
	}
	return shard
}

// keep adds a finished slice to those of all workers. writes says whether its class has written until now.
func (w *watcher) keep(cell int, s slice, writes bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.writes[cell%len(w.writes)] = w.writes[cell%len(w.writes)] || writes
	if !s.answered() && !s.refused() {
		return
	}
	for len(w.cells) <= cell {
		w.cells = append(w.cells, map[int64]*slice{})
	}
	addSlice(w.cells[cell], s)
}

func addSlice(by map[int64]*slice, s slice) {
	have := by[s.number]
	if have == nil {
		have = &slice{number: s.number}
		by[s.number] = have
	}
	have.add(s)
}

// courses returns the courses by class and shard since the last call. After the load, last adds the slices that the
// workers keep to themselves.
func (w *watcher) courses(last bool) []course {
	if last {
		for _, s := range w.workers {
			for cell := range s.open {
				w.keep(cell, s.open[cell], s.writes[cell%len(s.writes)])
				s.open[cell] = slice{}
			}
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	var list []course
	for cell, by := range w.cells {
		if class := cell % len(w.writes); len(by) > 0 {
			list = append(list, course{class: w.classes[class].Name, shard: cell/len(w.writes) - 1, writes: w.writes[class],
				slices: inOrder(by)})
		}
	}
	w.cells = nil
	return list
}

// byClass merges the courses of each class over all shards. The first one is that of all classes.
func byClass(parts []course) []course {
	list := []course{{}}
	at := map[string]int{}
	for _, c := range parts {
		i, known := at[c.class]
		if !known {
			at[c.class], list = len(list), append(list, course{class: c.class, writes: c.writes, slices: sum(c)})
			continue
		}
		list[i] = course{class: c.class, writes: list[i].writes || c.writes, slices: sum(list[i], c)}
	}
	list[0].slices = sum(ofKind(list, false), ofKind(list, true))
	return list
}

func onShard(parts []course, shard int) (list []course) {
	for _, c := range parts {
		if c.shard == shard {
			list = append(list, c)
		}
	}
	return list
}

func sum(list ...course) []slice {
	by := map[int64]*slice{}
	for _, c := range list {
		for _, s := range c.slices {
			addSlice(by, s)
		}
	}
	return inOrder(by)
}

func inOrder(by map[int64]*slice) []slice {
	list := make([]slice, 0, len(by))
	for _, s := range by {
		list = append(list, *s)
	}
	slices.SortFunc(list, func(a, b slice) int { return int(a.number - b.number) })
	return list
}

// ofKind merges the courses of all classes that write, or of all that only read, with those successes of their probes
// that the load does not refute.
func ofKind(list []course, writes bool) course {
	var loaded, probed []course
	for _, c := range list {
		switch {
		case c.class == "" || c.writes != writes:
		case c.ofProbes():
			probed = append(probed, c)
		default:
			loaded = append(loaded, c)
		}
	}
	load := sum(loaded...)
	return course{writes: writes, slices: sum(course{slices: load}, course{slices: unrefuted(sum(probed...), load)})}
}
