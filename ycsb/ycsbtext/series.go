package ycsbtext

import (
	"math"
	"slices"
	"time"

	"github.com/plimsoll-bench/plimsoll/internal/javahash"
)

// series has the measurements of one name ("READ", "UPDATE-FAILED", …). Each measurement type has its own
// implementation.
type series interface {
	// record adds n latencies of us microseconds that ended at a time since the start.
	record(at time.Duration, us, n int64)
	// summary is the text of a status line about the time since the last call.
	summary(at time.Duration) (string, error)
	// export writes the final lines. returns are the counts of statuses in the order of printing.
	export(e *lines, returns []statusCount)
}

// statusCount is the number of returns of a status.
type statusCount struct {
	name string
	n    int64
}

// statusOrder is the order in which YCSB prints the statuses of an operation. It is the order of a hash table, which
// follows from their names and descriptions.
var statusOrder = []string{
	"OK", "NOT_IMPLEMENTED", "TIMEOUT", "BAD_REQUEST", "FORBIDDEN", "UNEXPECTED_STATE", "BATCHED_OK",
	"SERVICE_UNAVAILABLE", "NOT_FOUND", "ERROR",
}

func sortStatuses(counts []statusCount) {
	slices.SortStableFunc(counts, func(a, b statusCount) int {
		return slices.Index(statusOrder, a.name) - slices.Index(statusOrder, b.name)
	})
}

// hashOrder sorts names in the order of a Java ConcurrentHashMap: by the slot in a table of 16 entries that doubles
// when it is three quarters full. Names in the same slot keep their order.
func hashOrder(names []string) {
	size := 16
	for len(names) >= size*3/4 {
		size *= 2
	}
	slot := func(name string) int { return int(javahash.Spread(name)) & (size - 1) }
	slices.SortStableFunc(names, func(a, b string) int { return slot(a) - slot(b) })
}

// lines writes the lines of one series. It keeps the first error and writes nothing after it.
type lines struct {
	to   Exporter
	name string
	err  error
}

func (l *lines) int(measurement string, v int64) {
	if l.err == nil {
		l.err = l.to.Int(l.name, measurement, v)
	}
}

func (l *lines) double(measurement string, v float64) {
	if l.err == nil {
		l.err = l.to.Double(l.name, measurement, v)
	}
}

func (l *lines) returns(counts []statusCount) {
	for _, c := range counts {
		l.int("Return="+c.name, c.n)
	}
}

func (l *lines) percentiles(h *latencies, ps []float64) {
	for _, p := range ps {
		l.int(ordinal(p)+"PercentileLatency(us)", h.at(p))
	}
}

// window has the latencies since the last status line.
type window struct {
	n, sum int64
}

func (w *window) record(us, n int64) {
	w.n += n
	w.sum += us * n
}

// reset returns the window and starts an empty one.
func (w *window) reset() window {
	was := *w
	*w = window{}
	return was
}

func (w window) mean() float64 { return float64(w.sum) / float64(w.n) }

// totals are exact figures of the whole run for the bucket and time series types.
type totals struct {
	n        int64
	sum      int64
	squares  float64
	min, max int64
}

func newTotals() totals { return totals{min: -1, max: -1} }

func (t *totals) record(us, n int64) {
	t.n += n
	t.sum += us * n
	t.squares += float64(us) * float64(us) * float64(n)
	if t.min < 0 || us < t.min {
		t.min = us
	}
	t.max = max(t.max, us)
}

func (t *totals) mean() float64 { return float64(t.sum) / float64(t.n) }

func (t *totals) variance() float64 {
	m := t.mean()
	return t.squares/float64(t.n) - m*m
}

// inInt clamps a value to a Java int, as which YCSB prints bucket limits.
func inInt(v int64) int64 { return min(v, math.MaxInt32) }
