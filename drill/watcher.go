package drill

import (
	"slices"
	"sync"

	"github.com/plimsoll-bench/plimsoll/load"
	"github.com/plimsoll-bench/plimsoll/store"
	"github.com/plimsoll-bench/plimsoll/workload"
)

// sliceLength is how finely successes and failures are counted, in nanoseconds. Within a slice the first and the last
// success are kept exactly, so a time without any success that is longer than two slices is known to the nanosecond.
const sliceLength = int64(5e6)

// slice is what ended in one slice of time: how many operations, and the first and last end of each kind.
type slice struct {
	number            int64
	ok, failed        int64
	okFirst, okLast   int64
	failFirst, failAt int64 // the first and the last failure
}

func (s *slice) add(o slice) {
	if o.ok > 0 {
		if s.ok == 0 || o.okFirst < s.okFirst {
			s.okFirst = o.okFirst
		}
		s.okLast = max(s.okLast, o.okLast)
	}
	if o.failed > 0 {
		if s.failed == 0 || o.failFirst < s.failFirst {
			s.failFirst = o.failFirst
		}
		s.failAt = max(s.failAt, o.failAt)
	}
	s.ok += o.ok
	s.failed += o.failed
}

// course is what became of the operations of one class over time. Its slices are in order and none is empty.
type course struct {
	class  string
	writes bool
	slices []slice
}

// watcher is put around a workload and notes when each operation ended, and how: that is what outages are made of.
type watcher struct {
	workload.Workload
	mu      sync.Mutex
	classes []map[int64]*slice
	writes  []bool
	streams []*watched
}

func newWatcher(w workload.Workload) *watcher {
	n := len(w.Classes())
	x := &watcher{Workload: w, classes: make([]map[int64]*slice, n), writes: make([]bool, n)}
	for i := range x.classes {
		x.classes[i] = map[int64]*slice{}
	}
	return x
}

// Stream implements [workload.Workload].
func (w *watcher) Stream(worker, workers int) workload.Stream {
	s := w.Workload.Stream(worker, workers)
	x := &watched{Stream: s, of: w, open: make([]slice, len(w.classes)), writes: make([]bool, len(w.classes))}
	x.settler, _ = s.(load.Settler)
	w.mu.Lock()
	w.streams = append(w.streams, x)
	w.mu.Unlock()
	verifier, verifies := s.(workload.Verifier)
	ender, ends := s.(workload.Ender)
	switch {
	case verifies && ends:
		return struct {
			*watched
			workload.Verifier
			workload.Ender
		}{x, verifier, ender}
	case verifies:
		return struct {
			*watched
			workload.Verifier
		}{x, verifier}
	case ends:
		return struct {
			*watched
			workload.Ender
		}{x, ender}
	}
	return x
}

// watched is the stream of one worker. It keeps the slice that is under way to itself, so that workers meet only when a
// slice is over.
type watched struct {
	workload.Stream
	settler load.Settler
	of      *watcher
	open    []slice
	writes  []bool
}

// Settle implements [load.Settler].
func (w *watched) Settle(op *workload.Op, s *load.Settlement) {
	if w.settler != nil {
		w.settler.Settle(op, s)
	}
	if op.Class < 0 || op.Class >= len(w.open) || s.Outcome == store.Batched {
		return
	}
	if s.Abandoned && s.Reason == store.Client {
		return // whoever wanted no more of the load gave it up, which is no failure of the target
	}
	for i := range op.Requests {
		if v := op.Requests[i].Verb; v == workload.Insert || v == workload.Update {
			w.writes[op.Class] = true
		}
	}
	o := &w.open[op.Class]
	if n := s.Ended / sliceLength; n != o.number || o.ok+o.failed == 0 {
		w.of.keep(op.Class, *o)
		*o = slice{number: n}
	}
	if s.Outcome.Success() || s.Outcome == store.NotFound {
		o.add(slice{ok: 1, okFirst: s.Ended, okLast: s.Ended})
	} else {
		o.add(slice{failed: 1, failFirst: s.Ended, failAt: s.Ended})
	}
}

// keep adds a slice that is over to those of all workers.
func (w *watcher) keep(class int, s slice) {
	if s.ok+s.failed == 0 {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	addSlice(w.classes[class], s)
}

// addSlice adds a slice to those of other workers.
func addSlice(by map[int64]*slice, s slice) {
	have := by[s.number]
	if have == nil {
		have = &slice{number: s.number}
		by[s.number] = have
	}
	have.add(s)
}

// courses returns what happened over time, by class, the first one being all of them together. It is called when no
// stream is used any more.
func (w *watcher) courses() []course {
	for _, s := range w.streams {
		for class := range s.open {
			w.keep(class, s.open[class])
			s.open[class] = slice{}
			w.writes[class] = w.writes[class] || s.writes[class]
		}
	}
	var list []course
	for class, by := range w.classes {
		if len(by) > 0 {
			list = append(list, course{class: w.Classes()[class].Name, writes: w.writes[class], slices: inOrder(by)})
		}
	}
	return withAll(list)
}

// withAll puts what all classes did together in front of them.
func withAll(list []course) []course {
	return append([]course{{slices: sum(list...)}}, list...)
}

// sum is what several courses come to.
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

// writesOf returns the course of all classes that write.
func writesOf(list []course) course {
	var some []course
	for _, c := range list {
		if c.class != "" && c.writes {
			some = append(some, c)
		}
	}
	return course{class: "writes", writes: true, slices: sum(some...)}
}
