package recorded

import (
	"container/heap"
	"hash/maphash"
	"math"
	"slices"
	"strings"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// Range is the smallest and greatest of some numbers.
type Range struct {
	N        int64
	Min, Max float64
	Sum      float64
}

func (r *Range) add(x float64) {
	if r.N == 0 || x < r.Min {
		r.Min = x
	}
	if r.N == 0 || x > r.Max {
		r.Max = x
	}
	r.N++
	r.Sum += x
}

func (r *Range) merge(o Range) {
	switch {
	case o.N == 0:
	case r.N == 0:
		*r = o
	default:
		r.N, r.Sum, r.Min, r.Max = r.N+o.N, r.Sum+o.Sum, min(r.Min, o.Min), max(r.Max, o.Max)
	}
}

// Mean returns the mean, 0 of nothing.
func (r *Range) Mean() float64 {
	if r.N == 0 {
		return 0
	}
	return r.Sum / float64(r.N)
}

// Values describes the values in one place without keeping them.
type Values struct {
	Types    map[bson.Type]int64
	Length   Range // bytes of texts and binary data
	Elements Range // of arrays
	// Digits are the decimal digits before the point of numbers, Negative the numbers below 0. Exact bounds would be
	// values.
	Digits   Range
	Negative int64
	// Age is how long dates were before (or, if negative, after) the operation or the sample, in days.
	Age      Range
	distinct sketch
	// What follows stays in the memory of a model. A file has lengths of ranges, and how often its own values occur.
	scale    Range // of numbers, and of dates in milliseconds since 1970
	examples map[string]example
	more     bool // different values than the examples
	shown    bool // values were asked for, so the examples may be in a file
}

// example is one of the different values.
type example struct {
	value bson.RawValue
	n     int64
}

// merge adds the description of other values of the same field.
func (v *Values) merge(o *Values) {
	if v.Types == nil {
		v.Types = map[bson.Type]int64{}
	}
	for t, n := range o.Types {
		v.Types[t] += n
	}
	v.Length.merge(o.Length)
	v.Elements.merge(o.Elements)
	v.Digits.merge(o.Digits)
	v.Age.merge(o.Age)
	v.scale.merge(o.scale)
	v.Negative += o.Negative
	v.more, v.shown = v.more || o.more, v.shown || o.shown
	for key, e := range o.examples {
		have, known := v.examples[key]
		if !known && len(v.examples) >= mostExamples {
			v.more = true
			continue
		}
		if v.examples == nil {
			v.examples = map[string]example{}
		}
		v.examples[key] = example{e.value, have.n + e.n}
	}
	seen := v.distinct.seen + o.distinct.seen
	for h, n := range o.distinct.counts {
		v.distinct.addHash(h)
		if _, kept := v.distinct.counts[h]; kept {
			v.distinct.counts[h] += n - 1
		}
	}
	v.distinct.seen = seen
}

// mostExamples is how many different values are kept for one place.
const mostExamples = 64

// add describes one more value, seen at a time.
func (v *Values) add(x bson.RawValue, at time.Time, keep bool) {
	if v.Types == nil {
		v.Types = map[bson.Type]int64{}
	}
	v.Types[x.Type]++
	switch x.Type {
	case bson.TypeString, bson.TypeSymbol:
		s, _ := x.StringValueOK()
		v.Length.add(float64(len(s)))
	case bson.TypeBinary:
		_, data, _ := x.BinaryOK()
		v.Length.add(float64(len(data)))
	case bson.TypeRegex:
		text, _, _ := x.RegexOK()
		v.Length.add(float64(len(strings.TrimPrefix(text, "^"))))
	case bson.TypeInt32, bson.TypeInt64:
		n, _ := x.AsInt64OK()
		v.number(float64(n))
	case bson.TypeDouble:
		v.number(x.Double())
	case bson.TypeDateTime:
		v.Age.add(twoDigits(at.Sub(x.Time()).Hours() / 24))
		v.scale.add(float64(x.DateTime()))
	case bson.TypeArray:
		elements, _ := x.Array().Values()
		v.Elements.add(float64(len(elements)))
		return
	case bson.TypeEmbeddedDocument:
		return
	}
	v.distinct.add(x)
	v.shown = v.shown || keep
	v.keep(x)
}

// twoDigits rounds to two significant digits.
func twoDigits(x float64) float64 {
	if x == 0 || math.IsInf(x, 0) || math.IsNaN(x) {
		return 0
	}
	unit := math.Pow(10, math.Floor(math.Log10(math.Abs(x)))-1)
	return math.Round(x/unit) * unit
}

func (v *Values) number(x float64) {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return
	}
	if x < 0 {
		v.Negative++
	}
	v.scale.add(x)
	digits := 0.0
	if a := math.Abs(x); a >= 1 {
		digits = math.Floor(math.Log10(a)) + 1
	}
	v.Digits.add(digits)
}

func (v *Values) keep(x bson.RawValue) {
	if v.examples == nil {
		v.examples = map[string]example{}
	}
	key := string(append([]byte{byte(x.Type)}, x.Value...))
	e, known := v.examples[key]
	if !known && len(v.examples) >= mostExamples || len(x.Value) > 1024 {
		v.more = true
		return
	}
	if !known {
		e.value = bson.RawValue{Type: x.Type, Value: slices.Clone(x.Value)}
	}
	e.n++
	v.examples[key] = e
}

// Type returns the most frequent type.
func (v *Values) Type() bson.Type {
	var best bson.Type
	for t, n := range v.Types {
		if n > v.Types[best] || n == v.Types[best] && t < best {
			best = t
		}
	}
	return best
}

// Count returns the number of values.
func (v *Values) Count() int64 {
	var n int64
	for _, k := range v.Types {
		n += k
	}
	return n
}

// Distinct estimates the number of different values.
func (v *Values) Distinct() int64 { return v.distinct.estimate() }

// Skewed reports whether a tenth of the different values make up more than half of all values, as with zipfian keys.
// Of uniform ones, a tenth makes up a tenth to a fifth.
func (v *Values) Skewed() bool {
	n := v.distinct.seen
	return n >= 100 && v.distinct.estimate()*2 < n && v.distinct.topTenth() > 0.5
}

// sketchSize is the number of hashes that a sketch keeps; its estimates are some 3 % off.
const sketchSize = 1024

// seed makes hashes that nobody can compare with those of guessed values.
var seed = maphash.MakeSeed()

// sketch estimates how many different values there are, and how often they repeat, from the values with the smallest
// hashes. These are a random sample of the different values.
type sketch struct {
	seen   int64
	counts map[uint64]int64
	top    maxHeap // the same hashes
}

type maxHeap []uint64

func (h maxHeap) Len() int           { return len(h) }
func (h maxHeap) Less(i, j int) bool { return h[i] > h[j] }
func (h maxHeap) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *maxHeap) Push(x any)        { *h = append(*h, x.(uint64)) }
func (h *maxHeap) Pop() any {
	x := (*h)[len(*h)-1]
	*h = (*h)[:len(*h)-1]
	return x
}

func (s *sketch) add(x bson.RawValue) {
	var h maphash.Hash
	h.SetSeed(seed)
	_ = h.WriteByte(byte(x.Type))
	_, _ = h.Write(x.Value)
	s.addHash(h.Sum64())
}

func (s *sketch) addHash(h uint64) {
	s.seen++
	if s.counts == nil {
		s.counts = map[uint64]int64{}
	}
	if _, ok := s.counts[h]; ok {
		s.counts[h]++
		return
	}
	if len(s.top) < sketchSize {
		s.counts[h] = 1
		heap.Push(&s.top, h)
		return
	}
	if h < s.top[0] {
		delete(s.counts, s.top[0])
		s.top[0] = h
		heap.Fix(&s.top, 0)
		s.counts[h] = 1
	}
}

func (s *sketch) estimate() int64 {
	if len(s.top) < sketchSize {
		return int64(len(s.top))
	}
	return int64(float64(sketchSize-1) / (float64(s.top[0]) / math.MaxUint64))
}

// topTenth is the share of the values that the most frequent tenth of the different ones has.
func (s *sketch) topTenth() float64 {
	counts := make([]int64, 0, len(s.counts))
	var all, top int64
	for _, n := range s.counts {
		counts = append(counts, n)
		all += n
	}
	slices.Sort(counts)
	slices.Reverse(counts)
	for _, n := range counts[:(len(counts)+9)/10] {
		top += n
	}
	if all == 0 {
		return 0
	}
	return float64(top) / float64(all)
}
