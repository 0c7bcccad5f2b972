package ycsbtext

import (
	"iter"
	"math"
	"math/bits"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/plimsoll-bench/plimsoll/measure"
)

// maxLatency is the largest latency YCSB can hold: it keeps microseconds in a Java int.
const maxLatency = math.MaxInt32

// latencies is a histogram of microseconds with the geometry of YCSB's (unit 1, three digits), queried as
// HdrHistogram 2.1.4 for Java answers, which differs from later versions when it is empty.
type latencies struct{ h *hdrhistogram.Histogram }

func newLatencies() *latencies {
	return &latencies{hdrhistogram.New(1, maxLatency, 3)}
}

// record adds n values of us microseconds, clamped to what YCSB can hold.
func (l *latencies) record(us, n int64) {
	// The clamp makes an error impossible: the histogram tracks all of [0, maxLatency].
	_ = l.h.RecordValues(max(0, min(us, maxLatency)), n)
}

func (l *latencies) count() int64 { return l.h.TotalCount() }

// add merges other into l; both have the same geometry, so nothing is dropped.
func (l *latencies) add(other *latencies) { l.h.Merge(other.h) }

func (l *latencies) reset() { l.h.Reset() }

// min is the lowest value equivalent to the smallest one recorded. Empty: Long.MAX_VALUE.
func (l *latencies) min() int64 {
	if l.count() == 0 {
		return math.MaxInt64
	}
	return l.h.Min()
}

// max is the highest value equivalent to the largest one recorded. Empty: 0.
func (l *latencies) max() int64 { return l.h.Max() }

// mean is Σ(median of bucket · count) / Σ count, summed before it is divided, so that the last digits are
// those that Java prints. Empty: not a number.
func (l *latencies) mean() float64 {
	var sum float64
	for _, bar := range l.h.Distribution() {
		if bar.Count != 0 {
			median := bar.From + (bar.To-bar.From+1)/2
			sum += float64(median * bar.Count)
		}
	}
	return sum / float64(l.count())
}

// at is the value at a percentile. Empty: 0.
func (l *latencies) at(percentile float64) int64 { return l.h.ValueAtPercentile(percentile) }

// microseconds yields the times of a nanosecond histogram in whole microseconds, to which YCSB truncates,
// with their counts. A bucket counts at its middle; the largest time counts as it was measured, so that
// the maximum is the same as if every value had been recorded here.
func microseconds(h *measure.Histogram) iter.Seq2[int64, int64] {
	return func(yield func(us, n int64) bool) {
		least, most := h.Min(), h.Max()
		for low, n := range h.Buckets() {
			size := bucketSize(low)
			if most >= low && most < low+size && n > 0 {
				if !yield(most/1000, 1) {
					return
				}
				n--
			}
			if n > 0 && !yield(min(max(low+size/2, least), most)/1000, n) {
				return
			}
		}
	}
}

// bucketSize is the width of the bucket that begins at low, in a histogram with unit 1 and three digits:
// 2048 buckets of width 1, then 1024 for each doubling.
func bucketSize(low int64) int64 {
	return int64(1) << max(0, bits.Len64(uint64(low))-11)
}
