package measure

import (
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"math"
	"math/bits"
	"time"

	hdr "github.com/HdrHistogram/hdrhistogram-go"
)

// The geometry of all histograms of this package, so that merging is exact.
const (
	LowestValue       = int64(1)         // resolution in nanoseconds
	HighestValue      = int64(time.Hour) // longer times count as this
	SignificantDigits = 3                // a quantile has an error of at most 0.1 %
)

// Histogram is a distribution of times in nanoseconds: HdrHistogram with one fixed geometry, and the exact minimum,
// maximum and sum. It has only the used buckets, so a closed interval needs some kilobytes. It is not safe for
// concurrent use. [NewHistogram] makes one. A nil histogram is empty and can be read.
type Histogram struct {
	packed  *hdr.PackedHistogram
	exact   Exact
	touched bool // a value was recorded, so exact.Min is valid
}

// Exact has the exact figures, which buckets do not have.
type Exact struct {
	Min     int64 `json:"min_ns"`
	Max     int64 `json:"max_ns"`
	Sum     int64 `json:"sum_ns"`                 // saturates instead of wrapping
	Outside int64 `json:"out_of_range,omitempty"` // values below 0 or above an hour, counted as the nearest that fits
}

// NewHistogram returns an empty histogram.
func NewHistogram() *Histogram {
	return &Histogram{packed: hdr.NewPacked(LowestValue, HighestValue, SignificantDigits)}
}

// clamp limits a time to the range of the histogram, and reports whether it was outside.
func clamp(ns int64) (int64, bool) {
	switch {
	case ns < 0:
		return 0, true
	case ns > HighestValue:
		return HighestValue, true
	}
	return ns, false
}

// Record counts one time in nanoseconds. Times out of range are clamped, and counted as that.
func (h *Histogram) Record(ns int64) { h.RecordN(ns, 1) }

// RecordN counts a time n times, for n ≥ 1.
func (h *Histogram) RecordN(ns, n int64) {
	if n < 1 {
		return
	}
	v, outside := clamp(ns)
	if h.packed.RecordValues(v, n) != nil {
		return // the total would pass 2⁶³: 292 years of one operation per nanosecond
	}
	add := Exact{Min: v, Max: v, Sum: saturatingMul(v, n)}
	if outside {
		add.Outside = n
	}
	h.widen(add)
}

// widen includes the exact figures of other values.
func (h *Histogram) widen(e Exact) {
	if !h.touched || e.Min < h.exact.Min {
		h.exact.Min = e.Min
	}
	h.exact.Max = max(h.exact.Max, e.Max)
	h.exact.Sum = saturatingAdd(h.exact.Sum, e.Sum)
	h.exact.Outside += e.Outside
	h.touched = true
}

func saturatingAdd(a, b int64) int64 {
	if b > math.MaxInt64-a {
		return math.MaxInt64
	}
	return a + b
}

func saturatingMul(v, n int64) int64 {
	if v > 0 && n > math.MaxInt64/v {
		return math.MaxInt64
	}
	return v * n
}

// Merge adds the counts of from, bucket by bucket. It fails if counts do not fit, which cannot happen between
// histograms of this package. A nil from is empty.
func (h *Histogram) Merge(from *Histogram) error {
	if from == nil || from.Count() == 0 {
		return nil
	}
	return h.account(h.Count(), from.Count(), h.packed.Merge(from.packed), from.exact)
}

// account checks that a merge kept every count, then adds the exact figures.
func (h *Histogram) account(before, added, dropped int64, e Exact) error {
	if dropped != 0 || h.Count() != before+added {
		return fmt.Errorf("merging histograms lost values: %d and %d made %d, %d did not fit; this result cannot be trusted",
			before, added, h.Count(), dropped)
	}
	h.widen(e)
	return nil
}

func (h *Histogram) Count() int64 {
	if h == nil {
		return 0
	}
	return h.packed.TotalCount()
}

// Quantile returns the value of rank ⌈q·n⌉ in nanoseconds, for q from 0 to 1; 0 without values. It is the upper end of
// its bucket, at most the largest value.
func (h *Histogram) Quantile(q float64) int64 {
	switch {
	case h.Count() == 0:
		return 0
	case q <= 0:
		return h.exact.Min
	case q >= 1:
		return h.exact.Max
	}
	return max(h.exact.Min, min(h.packed.ValueAtPercentile(percentileOf(q, h.Count())), h.exact.Max))
}

// percentileOf returns the percentile for which the library returns the value of rank ⌈q·n⌉. The library rounds q·n to
// the nearest rank: the p90 of 37 values would be the 33rd, with 89.2 % below it. The rounding error of a share like
// 0.999 must not change the rank.
func percentileOf(q float64, n int64) float64 {
	x := q * float64(n)
	rank := math.Ceil(x - x*1e-15)
	return (rank - 0.25) / float64(n) * 100 // the library adds a half and rounds down
}

// Enough reports whether there are enough values for the quantile q: see [MinCount].
func (h *Histogram) Enough(q float64) bool { return h.Count() >= MinCount(q) }

// MinCount is the smallest number of independent values for which the quantile q has a finite two-sided 95 % confidence
// interval from order statistics. The largest of n values is below the quantile with probability qⁿ, and the smallest
// is above it with (1−q)ⁿ. Each must be at most 2.5 %:
//
//	n ≥ ln 0.025 / ln max(q, 1−q)
//
// which gives 6 for p50, 36 for p90, 72 for p95, 368 for p99, 3,688 for p99.9 and 36,887 for p99.99. The extremes
// themselves need one value.
func MinCount(q float64) int64 {
	far := max(q, 1-q)
	if !(far < 1) {
		return 1
	}
	return int64(math.Ceil(math.Log(0.025) / math.Log(far)))
}

// Mean returns the arithmetic mean in nanoseconds, from the exact sum; 0 without values.
func (h *Histogram) Mean() float64 {
	if h.Count() == 0 {
		return 0
	}
	return float64(h.exact.Sum) / float64(h.Count())
}

func (h *Histogram) Min() int64 { return h.Exact().Min }

func (h *Histogram) Max() int64 { return h.Exact().Max }

func (h *Histogram) Sum() int64 { return h.Exact().Sum }

// OutOfRange returns the number of values below zero or above [HighestValue].
func (h *Histogram) OutOfRange() int64 { return h.Exact().Outside }

// Exact returns the figures that are not in the encoded form.
func (h *Histogram) Exact() Exact {
	if h == nil {
		return Exact{}
	}
	return h.exact
}

// Buckets yields the lowest value of each used bucket in nanoseconds and its count, in ascending order.
func (h *Histogram) Buckets() iter.Seq2[int64, int64] {
	if h == nil {
		return func(func(int64, int64) bool) {}
	}
	return h.packed.ForEachBucket
}

// Cumulative yields the highest value of each used bucket in nanoseconds, at most the largest recorded value, and the
// number of values up to it, in ascending order.
func (h *Histogram) Cumulative() iter.Seq2[int64, int64] {
	return func(yield func(int64, int64) bool) {
		var n int64
		for v, c := range h.Buckets() {
			n += c
			if !yield(min(bucketEnd(v), h.Max()), n) {
				return
			}
		}
	}
}

// bucketEnd is the highest value of the bucket that begins at v nanoseconds. With three digits, values below 2·10³,
// rounded up to a power of two, have buckets of their own; every further power of two has half as many (HdrHistogram,
// "Bucket structure").
func bucketEnd(v int64) int64 { return v + 1<<bucketShift(v) - 1 }

// exactBits is the number of bits of a value that select its bucket.
const exactBits = 11

func bucketShift(v int64) int { return max(0, bits.Len64(uint64(v))-exactBits) }

// bucketIndex numbers the buckets in ascending order.
func bucketIndex(v int64) uint64 {
	shift := bucketShift(v)
	return uint64(shift)<<(exactBits-1) + uint64(v)>>shift
}

// bucketStart is the lowest value of a bucket.
func bucketStart(index uint64) int64 {
	shift := max(1, index>>(exactBits-1)) - 1
	return int64((index - shift<<(exactBits-1)) << shift)
}

// CountAbove returns the number of values above ns, by buckets.
func (h *Histogram) CountAbove(ns int64) int64 {
	var n int64
	for v, c := range h.Buckets() {
		if v > ns {
			n += c
		}
	}
	return n
}

func (h *Histogram) Reset() {
	h.packed.Reset()
	h.exact, h.touched = Exact{}, false
}

// Clone returns an independent copy.
func (h *Histogram) Clone() *Histogram {
	if h == nil {
		return nil
	}
	c := *h
	c.packed = h.packed.Clone()
	return &c
}

// Packed returns a copy in the library's type, for writing histogram logs.
func (h *Histogram) Packed() *hdr.PackedHistogram { return h.orEmpty().packed.Clone() }

func (h *Histogram) orEmpty() *Histogram {
	if h == nil {
		return NewHistogram()
	}
	return h
}

// Encode returns the HdrHistogram V2 compressed form in base64, which every HdrHistogram tool reads.
func (h *Histogram) Encode() (string, error) {
	b, err := h.orEmpty().packed.Encode()
	if err != nil {
		return "", fmt.Errorf("encoding a histogram: %w", err)
	}
	return string(b), nil
}

var errGeometry = fmt.Errorf("the histogram has another geometry than 1 ns … 1 h with %d digits; it was not written by plimsoll",
	SignificantDigits)

// Decode reads the form that [Histogram.Encode] writes. Minimum, maximum and sum then have the precision of the buckets
// until [Histogram.Restore].
func Decode(text string) (*Histogram, error) {
	p, err := hdr.DecodePacked([]byte(text))
	if err != nil {
		return nil, fmt.Errorf("decoding a histogram: %w", err)
	}
	if p.LowestTrackableValue() != LowestValue || p.HighestTrackableValue() != HighestValue ||
		p.SignificantFigures() != SignificantDigits {
		return nil, errGeometry
	}
	if p.TotalCount() == math.MaxInt64 {
		return nil, errors.New("decoding a histogram: its counts sum past 2⁶³, so it is damaged")
	}
	h := &Histogram{packed: p}
	if p.TotalCount() > 0 {
		h.exact = Exact{Min: p.Min(), Max: min(p.Max(), HighestValue), Sum: math.MaxInt64}
		if sum := p.Mean() * float64(p.TotalCount()); sum < math.MaxInt64 {
			h.exact.Sum = int64(sum)
		}
		h.touched = true
	}
	return h, nil
}

// AppendBuckets appends the used buckets: for each the distance of its number to the one before, and its count, both as
// varints. This is as small as the form of [Histogram.Encode] and takes a fiftieth of its time.
func (h *Histogram) AppendBuckets(b []byte) []byte {
	var before uint64
	for v, n := range h.Buckets() {
		index := bucketIndex(v)
		b = binary.AppendUvarint(b, index-before)
		b = binary.AppendUvarint(b, uint64(n))
		before = index
	}
	return b
}

// DecodeBuckets reads the form that [Histogram.AppendBuckets] writes, as [Decode] does.
func DecodeBuckets(b []byte) (*Histogram, error) {
	h := NewHistogram()
	var index uint64
	for len(b) > 0 {
		distance, size := binary.Uvarint(b)
		count, more := binary.Uvarint(b[max(0, size):])
		if index += distance; size <= 0 || more <= 0 || max(distance, index) > bucketIndex(HighestValue) ||
			count == 0 || count > math.MaxInt64-uint64(h.Count()) {
			return nil, errors.New("decoding a histogram: it is cut or damaged")
		}
		h.RecordN(bucketStart(index), int64(count))
		b = b[size+more:]
	}
	if h.touched {
		h.exact.Max = min(bucketEnd(h.exact.Max), HighestValue)
	}
	return h, nil
}

// Restore sets the exact figures of a decoded histogram. It fails, and changes nothing, if they do not fit its buckets.
func (h *Histogram) Restore(e Exact) error {
	if h.Count() == 0 {
		if e != (Exact{}) {
			return errors.New("exact figures given for an empty histogram")
		}
		return nil
	}
	first, last := h.packed.Min(), h.packed.Max()
	if e.Min < first || e.Min > e.Max || e.Max > last || e.Sum < e.Max {
		return fmt.Errorf("minimum %d, maximum %d and sum %d ns do not fit a histogram from %d to %d ns", e.Min, e.Max, e.Sum, first, last)
	}
	h.exact, h.touched = e, true
	return nil
}
