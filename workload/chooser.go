package workload

import (
	"math"
	"sync/atomic"
)

// chooser draws numbers: key numbers, lengths, fields. A chooser belongs to one stream.
type chooser interface {
	next(r *random) int64
}

// constant always returns the same number.
type constant int64

func (c constant) next(*random) int64 { return int64(c) }

// uniform draws from [lo, lo+n).
type uniform struct{ lo, n int64 }

func (u uniform) next(r *random) int64 { return u.lo + r.below(u.n) }

// hotspot draws from the lowest hot numbers with probability hotShare, otherwise from the others, both
// uniformly.
type hotspot struct {
	lo, hot, cold int64
	hotShare      float64
}

// newHotspot splits [lo, lo+n) into a hot part with the given share of the numbers and a cold rest.
func newHotspot(lo, n int64, dataShare, hotShare float64) hotspot {
	hot := int64(float64(n) * dataShare)
	return hotspot{lo: lo, hot: hot, cold: n - hot, hotShare: hotShare}
}

func (h hotspot) next(r *random) int64 {
	toHot := r.float() < h.hotShare
	if h.cold == 0 || (toHot && h.hot > 0) {
		return h.lo + r.below(h.hot)
	}
	return h.lo + h.hot + r.below(h.cold)
}

// sharedSequence counts through [lo, lo+n) again and again, one counter for all streams, as YCSB does.
type sharedSequence struct {
	lo, n   int64
	counter *atomic.Int64
}

func (s sharedSequence) next(*random) int64 { return s.lo + (s.counter.Add(1)-1)%s.n }

// sequence counts through [0, n) in steps of the number of workers, so that all workers together visit
// every number, and each of them the same numbers in every run.
type sequence struct{ at, step, n int64 }

func (s *sequence) next(*random) int64 {
	v := s.at
	s.at = (s.at + s.step) % s.n
	return v
}

// exponential draws non-negative numbers, small ones most often.
type exponential struct{ gamma float64 }

// newExponential draws such that percentile percent of the numbers are below span.
func newExponential(percentile, span float64) exponential {
	return exponential{gamma: -math.Log(1-percentile/100) / span}
}

func (e exponential) next(r *random) int64 { return javaInt(e.draw(r)) }

func (e exponential) draw(r *random) float64 { return -math.Log(r.float()) / e.gamma }

// offset shifts another chooser.
type offset struct {
	by int64
	of chooser
}

func (o offset) next(r *random) int64 { return o.by + o.of.next(r) }

// acknowledged draws from another chooser until the key number is one whose insert has ended. YCSB's
// nextKeynum does so for all distributions but exponential.
type acknowledged struct {
	of   chooser
	last func() int64
}

func (a acknowledged) next(r *random) int64 {
	for {
		if n := a.of.next(r); n <= a.last() {
			return n
		}
	}
}

// beforeLast draws how far before the last acknowledged key to read: YCSB's exponential.
type beforeLast struct {
	back exponential
	last func() int64
}

func (b beforeLast) next(r *random) int64 {
	for {
		if n := b.last() - b.back.next(r); n >= 0 {
			return n
		}
	}
}

// scattered spreads the ranks of a true zipfian over all keys.
type scattered struct {
	zipf  zipf
	order scatter
}

func newScattered(n int64, theta float64, seed uint64) *scattered {
	return &scattered{zipf: newZipf(n, theta), order: newScatter(n, seed)}
}

func (s *scattered) next(r *random) int64 { return s.order.at(s.zipf.next(r)) }

// byAge turns ranks into keys, rank 0 being the newest: first what this process inserted and the
// database acknowledged, then the loaded records from the last one down.
type byAge struct {
	records int64
	recent  *recentKeys
}

func (a *byAge) size() int64 { return a.records + a.recent.size() }

func (a *byAge) key(rank int64) int64 {
	inserted := a.recent.size()
	if rank < inserted {
		if key, ok := a.recent.newest(rank); ok {
			return key
		}
	}
	return max(0, a.records-1-max(0, rank-inserted))
}

// trueLatest draws keys by age with a true zipfian.
type trueLatest struct {
	byAge
	zipf zipf
}

func (l *trueLatest) next(r *random) int64 {
	if n := l.size(); n != l.zipf.n {
		l.zipf.resize(n)
	}
	return l.key(l.zipf.next(r))
}

// trueExponential draws keys by age with an exponential distribution.
type trueExponential struct {
	byAge
	back exponential
}

func (e *trueExponential) next(r *random) int64 {
	n := float64(e.size())
	for {
		if rank := e.back.draw(r); rank < n {
			return e.key(int64(rank))
		}
	}
}

// mix draws kinds of operations by weight.
type mix struct {
	upTo []float64 // cumulative shares
	kind []int
}

// newMix takes one weight per kind. Weights that are not positive are left out. ok is false if none
// is left.
func newMix(weights ...float64) (m mix, ok bool) {
	sum := 0.0
	for _, w := range weights {
		sum += max(w, 0)
	}
	at := 0.0
	for kind, w := range weights {
		if w <= 0 {
			continue
		}
		at += w / sum
		m.upTo = append(m.upTo, at)
		m.kind = append(m.kind, kind)
	}
	return m, len(m.kind) > 0
}

func (m *mix) next(r *random) int {
	u := r.float()
	last := len(m.kind) - 1
	for i := range last {
		if u < m.upTo[i] {
			return m.kind[i]
		}
	}
	return m.kind[last]
}
