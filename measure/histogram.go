package measure

import (
	"errors"
	"fmt"
	"iter"
	"math"
	"math/bits"
	"time"

	hdr "github.com/HdrHistogram/hdrhistogram-go"
)

// The geometry of every histogram of this package. One geometry everywhere is what makes merging exact.
const (
	// LowestValue is the smallest time told apart from its neighbours, in nanoseconds.
	LowestValue = int64(1)
	// HighestValue is the longest time that is kept, in nanoseconds. Longer ones count as this long.
	HighestValue = int64(time.Hour)
	// SignificantDigits is the precision: a quantile is at most 0.1 % off.
	SignificantDigits = 3
)

// Histogram is a distribution of times in nanoseconds: HdrHistogram with one fixed geometry, plus the
// exact minimum, maximum and sum. It keeps only the buckets that are in use, so a closed interval costs
// some kilobytes. It is not safe for concurrent use. The zero value is not ready; use [NewHistogram].
// A nil histogram can be read: it is empty.
type Histogram struct {
	packed  *hdr.PackedHistogram
	exact   Exact
	touched bool // a value was recorded, so exact.Min means something
}

// Exact holds what buckets cannot tell.
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

// clamp brings a time into the range of the histogram and reports whether it had to.
func clamp(ns int64) (int64, bool) {
	switch {
	case ns < 0:
		return 0, true
	case ns > HighestValue:
		return HighestValue, true
	}
	return ns, false
}

// Record counts one time in nanoseconds. Times out of range are clamped and counted as such.
func (h *Histogram) Record(ns int64) { h.RecordN(ns, 1) }

// RecordN counts a time n times. A count below one does nothing.
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

// widen takes the exact figures of other values into account.
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

// Merge adds the counts of from, bucket by bucket. It loses nothing: an error says that counts did not
// fit, which cannot happen between histograms of this package. A nil from is an empty one.
func (h *Histogram) Merge(from *Histogram) error {
	if from == nil || from.Count() == 0 {
		return nil
	}
	return h.account(h.Count(), from.Count(), h.packed.Merge(from.packed), from.exact)
}

// account checks that a merge kept every count, then takes over the exact figures.
func (h *Histogram) account(before, added, dropped int64, e Exact) error {
	if dropped != 0 || h.Count() != before+added {
		return fmt.Errorf("merging histograms lost values: %d and %d made %d, %d did not fit; this result cannot be trusted",
			before, added, h.Count(), dropped)
	}
	h.widen(e)
	return nil
}

// Count returns how many values were recorded.
func (h *Histogram) Count() int64 {
	if h == nil {
		return 0
	}
	return h.packed.TotalCount()
}

// Quantile returns the time in nanoseconds below or at which at least the share q (0…1) of the values
// lies, 0 if there are none: the value of rank ⌈q·n⌉. It is the upper end of its bucket, but never above
// the largest value recorded.
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

// percentileOf returns the percentile for which the library returns the value of rank ⌈q·n⌉. The library
// rounds q·n to the nearest rank, so that of 37 values it would call the 33rd p90, with 89.2 % below it.
// A share like 0.999 is a little more or less than it says, which must not cost a rank.
func percentileOf(q float64, n int64) float64 {
	x := q * float64(n)
	rank := math.Ceil(x - x*1e-15)
	return (rank - 0.25) / float64(n) * 100 // the library adds a half and rounds down
}

// Enough reports whether there are enough values to state the quantile q: see [MinCount].
func (h *Histogram) Enough(q float64) bool { return h.Count() >= MinCount(q) }

// MinCount is the smallest number of independent values for which the quantile q has a finite two-sided
// 95 % confidence interval from order statistics. The largest of n values lies below the quantile with
// probability qⁿ and the smallest lies above it with (1−q)ⁿ; either must be at most 2.5 %:
//
//	n ≥ ln 0.025 / ln max(q, 1−q)
//
// which gives 6 for p50, 36 for p90, 72 for p95, 368 for p99, 3,688 for p99.9 and 36,887 for p99.99.
// The extremes themselves need one value.
func MinCount(q float64) int64 {
	far := max(q, 1-q)
	if !(far < 1) {
		return 1
	}
	return int64(math.Ceil(math.Log(0.025) / math.Log(far)))
}

// Mean returns the arithmetic mean in nanoseconds, from the exact sum; 0 if there are no values.
func (h *Histogram) Mean() float64 {
	if h.Count() == 0 {
		return 0
	}
	return float64(h.exact.Sum) / float64(h.Count())
}

// Min returns the smallest value recorded in nanoseconds, 0 if there is none.
func (h *Histogram) Min() int64 { return h.Exact().Min }

// Max returns the largest value recorded in nanoseconds, 0 if there is none.
func (h *Histogram) Max() int64 { return h.Exact().Max }

// Sum returns the sum of all values in nanoseconds.
func (h *Histogram) Sum() int64 { return h.Exact().Sum }

// OutOfRange returns how many values were below zero or above [HighestValue].
func (h *Histogram) OutOfRange() int64 { return h.Exact().Outside }

// Exact returns the figures that the encoded form does not carry.
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

// Cumulative yields the highest value of each used bucket in nanoseconds, but never one above the largest value
// recorded, and how many values lie at or below it, in ascending order.
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
func bucketEnd(v int64) int64 {
	const exactBits = 11
	return v + 1<<max(0, bits.Len64(uint64(v))-exactBits) - 1
}

// CountAbove returns how many values are larger than ns, as far as buckets can tell.
func (h *Histogram) CountAbove(ns int64) int64 {
	var n int64
	for v, c := range h.Buckets() {
		if v > ns {
			n += c
		}
	}
	return n
}

// Reset forgets all values.
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

// Packed returns an independent copy in the library's own type, for writing histogram logs.
func (h *Histogram) Packed() *hdr.PackedHistogram { return h.orEmpty().packed.Clone() }

// orEmpty lets a nil histogram be read like an empty one.
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

// Decode reads the form that [Histogram.Encode] writes. Minimum, maximum and sum are then as good as
// the buckets; [Histogram.Restore] makes them exact again.
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
		h.exact = Exact{Min: p.Min(), Max: min(p.Max(), HighestValue), Sum: approximateSum(p)}
		h.touched = true
	}
	return h, nil
}

func approximateSum(p *hdr.PackedHistogram) int64 {
	sum := p.Mean() * float64(p.TotalCount())
	if sum >= math.MaxInt64 {
		return math.MaxInt64
	}
	return int64(sum)
}

// Restore puts back the exact figures of a decoded histogram. It returns an error, and changes nothing,
// if they cannot belong to these buckets.
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
