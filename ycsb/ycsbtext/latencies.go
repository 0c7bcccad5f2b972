package ycsbtext

import (
	"iter"
	"math"
	"math/bits"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/plimsoll-bench/plimsoll/measure"
)

// maxLatency is YCSB's largest latency: it stores microseconds in a Java int.
const maxLatency = math.MaxInt32

// latencies is a histogram of microseconds with the geometry of YCSB's (unit 1, three digits). Queries return the
// values of HdrHistogram 2.1.4 for Java, which differ from later versions for an empty histogram.
type latencies struct{ h *hdrhistogram.Histogram }

func newLatencies() *latencies {
	return &latencies{hdrhistogram.New(1, maxLatency, 3)}
}

// record adds n values of us microseconds, clamped to maxLatency.
func (l *latencies) record(us, n int64) {
	// There is no error: the histogram tracks all of [0, maxLatency].
	_ = l.h.RecordValues(max(0, min(us, maxLatency)), n)
}

func (l *latencies) count() int64 { return l.h.TotalCount() }

// add merges other into l. Both have the same geometry, so no value is dropped.
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

// mean is Σ(median of bucket · count) / Σ count, summed before the division, so that the last digits are Java's. Empty:
// not a number.
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

// microseconds yields the times of a nanosecond histogram, truncated to microseconds like in YCSB, with their counts. A
// bucket has the value of its middle. The largest time has its measured value, so the maximum is exact.
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

// bucketSize is the width of the bucket at low in a histogram with unit 1 and three digits: 2048 buckets of width 1,
// then 1024 for each doubling.
func bucketSize(low int64) int64 {
	return int64(1) << max(0, bits.Len64(uint64(low))-11)
}
