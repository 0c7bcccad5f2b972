package measure

import (
	"encoding/binary"
	"math"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func values(label string) *rapid.Generator[[]int64] {
	return rapid.SliceOfN(rapid.OneOf(rapid.Int64Range(0, 5000), rapid.Int64Range(0, HighestValue), rapid.Int64()), 0, 200)
}

func histogramOf(list []int64) *Histogram {
	h := NewHistogram()
	for _, v := range list {
		h.Record(v)
	}
	return h
}

func merged(t *rapid.T, parts ...*Histogram) *Histogram {
	h := NewHistogram()
	for _, p := range parts {
		if err := h.Merge(p); err != nil {
			t.Fatal(err)
		}
	}
	return h
}

func encoded(t *rapid.T, h *Histogram) string {
	s, err := h.Encode()
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// Merging loses nothing, in whatever order and grouping.
func TestMergeLaws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b, c := values("a").Draw(t, "a"), values("b").Draw(t, "b"), values("c").Draw(t, "c")
		whole := histogramOf(slices.Concat(a, b, c))
		for _, h := range []*Histogram{
			merged(t, histogramOf(a), histogramOf(b), histogramOf(c)),
			merged(t, histogramOf(c), histogramOf(a), histogramOf(b)),
			merged(t, histogramOf(a), merged(t, histogramOf(b), histogramOf(c))),
			merged(t, nil, whole),
		} {
			if h.Count() != int64(len(a)+len(b)+len(c)) || encoded(t, h) != encoded(t, whole) {
				t.Fatalf("merged: %d values, want %d", h.Count(), whole.Count())
			}
			if h.Exact() != whole.Exact() {
				t.Fatalf("merged: %+v, want %+v", h.Exact(), whole.Exact())
			}
		}
	})
}

// A quantile is the value of its rank, at most 0.1 % larger, and never beyond the extremes.
func TestQuantilesAreThoseOfTheValues(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		list := rapid.SliceOfN(rapid.Int64Range(0, HighestValue), 1, 300).Draw(t, "values")
		q := rapid.Float64Range(0, 1).Draw(t, "q")
		h := histogramOf(list)
		slices.Sort(list)
		rank := 1 // the first at or below which the share lies
		for float64(rank)/float64(len(list)) < q*(1-1e-14) {
			rank++
		}
		want, got := list[rank-1], h.Quantile(q)
		if q <= 0 {
			want = list[0]
		}
		if q >= 1 {
			want = list[len(list)-1]
		}
		if got < want || float64(got-want) > 0.001*float64(want)+1 || got > list[len(list)-1] {
			t.Fatalf("quantile %g = %d, want %d (%d values up to %d)", q, got, want, len(list), list[len(list)-1])
		}
	})
}

// Shares like 0.999 have no exact form; of 1000 values, 999 lie at or below the 999th all the same.
func TestQuantilesOfDecimalShares(t *testing.T) {
	h := NewHistogram()
	for n := int64(1); n <= 100_000; n++ {
		h.Record(n)
		if n < 37 || n&(n-1) != 0 && n%1000 != 0 && n > 300 {
			continue
		}
		for _, share := range []struct{ parts, of int64 }{{5, 10}, {9, 10}, {95, 100}, {99, 100}, {999, 1000},
			{9999, 10_000}} {
			rank := (share.parts*n + share.of - 1) / share.of
			got := h.Quantile(float64(share.parts) / float64(share.of))
			if got < rank || float64(got) > float64(rank)*1.001 {
				t.Errorf("of 1 to %d, %d/%d lie at or below %d, not %d", n, share.parts, share.of, rank, got)
			}
		}
	}
}

func TestEncodedHistogramComesBackExactly(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h := histogramOf(values("v").Draw(t, "values"))
		text, err := Decode(encoded(t, h))
		if err != nil {
			t.Fatal(err)
		}
		buckets, err := DecodeBuckets(h.AppendBuckets(nil))
		if err != nil {
			t.Fatal(err)
		}
		for _, back := range []*Histogram{text, buckets} {
			if h.Count() > 0 && (back.Max() < h.Max() || back.Min() > h.Min()) {
				t.Fatalf("decoded extremes %d…%d, want around %d…%d", back.Min(), back.Max(), h.Min(), h.Max())
			}
			if err := back.Restore(h.Exact()); err != nil {
				t.Fatal(err)
			}
			if back.Exact() != h.Exact() || back.Count() != h.Count() || back.Quantile(0.9) != h.Quantile(0.9) ||
				encoded(t, back) != encoded(t, h) {
				t.Fatalf("%+v came back as %+v", h.Exact(), back.Exact())
			}
		}
	})
}

func TestOutOfRangeValuesAreClampedAndCounted(t *testing.T) {
	h := NewHistogram()
	h.Record(-5)
	h.RecordN(int64(2*time.Hour), 3)
	h.Record(7)
	h.RecordN(9, 0)
	if h.Count() != 5 || h.OutOfRange() != 4 || h.Min() != 0 || h.Max() != HighestValue {
		t.Errorf("%d values, %d out of range, %d…%d", h.Count(), h.OutOfRange(), h.Min(), h.Max())
	}
	h.Reset()
	if h.Count() != 0 || h.Exact() != (Exact{}) || h.Quantile(0.5) != 0 || h.Mean() != 0 {
		t.Errorf("after Reset: %+v", h.Exact())
	}
}

// TestCumulativeIsWhatQuantilesSay compares the course of a distribution with its quantiles.
func TestCumulativeIsWhatQuantilesSay(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h := histogramOf(values("values").Draw(t, "of"))
		var last, below int64
		for ns, n := range h.Cumulative() {
			if n <= below || below > 0 && ns <= last {
				t.Fatalf("%d values up to %d ns come after %d up to %d", n, ns, below, last)
			}
			if q := h.Quantile(float64(n) / float64(h.Count())); q != max(ns, h.Min()) {
				t.Fatalf("%d of %d values lie at or below %d ns, and the quantile is %d", n, h.Count(), ns, q)
			}
			last, below = ns, n
		}
		if below != h.Count() || h.Count() > 0 && last != h.Max() {
			t.Fatalf("it ends with %d values up to %d ns, want %d up to %d", below, last, h.Count(), h.Max())
		}
	})
}

func TestSumSaturates(t *testing.T) {
	h := NewHistogram()
	h.RecordN(HighestValue, math.MaxInt64/4)
	h.Record(HighestValue)
	if h.Sum() != math.MaxInt64 {
		t.Errorf("sum %d", h.Sum())
	}
	if err := h.Merge(h.Clone()); err != nil {
		t.Errorf("twice 2⁶¹ values fit: %v", err)
	}
	if err := h.Merge(h.Clone()); err == nil { // 4·(2⁶¹+1) do not fit
		t.Error("lost counts were not reported")
	}
}

func TestMinCount(t *testing.T) {
	for q, want := range map[float64]int64{0.5: 6, 0.9: 36, 0.95: 72, 0.99: 368, 0.999: 3688, 0.9999: 36887, 0: 1, 1: 1,
		0.01: 368} {
		got := MinCount(q)
		if got != want {
			t.Errorf("MinCount(%g) = %d, want %d", q, got, want)
		}
	}
	h := histogramOf(make([]int64, 36))
	if !h.Enough(0.9) || h.Enough(0.95) {
		t.Error("36 values are enough for p90 and not for p95")
	}
}

func TestNilHistogramIsEmpty(t *testing.T) {
	var h *Histogram
	if h.Count() != 0 || h.Quantile(0.5) != 0 || h.Mean() != 0 || h.Max() != 0 || h.Enough(0.5) || h.CountAbove(0) != 0 ||
		h.Clone() != nil {
		t.Error("a nil histogram is not empty")
	}
	if _, err := h.Encode(); err != nil {
		t.Error(err)
	}
}

func TestDecodeRefusesDamage(t *testing.T) {
	good, err := histogramOf([]int64{1, 2, 3}).Encode()
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range []string{"", "HIST", good[:20], good[:len(good)-8] + "AAAAAAAA", "HISTFAAAABl4nJNpmSzMwMDAxQABzFCaEUoz2X+AMAAAYQAEBg=="} {
		if _, err := Decode(s); err == nil {
			t.Errorf("%.30q was decoded", s)
		}
	}
	for _, b := range [][]byte{{1}, {0x80}, {1, 0x80}, binary.AppendUvarint(nil, 1<<40),
		append(binary.AppendUvarint(nil, 1<<16), 1),
		binary.AppendUvarint([]byte{1}, 1<<63), binary.AppendUvarint(binary.AppendUvarint([]byte{1}, 1<<63-1), 1)} {
		if _, err := DecodeBuckets(b); err == nil {
			t.Errorf("%v was decoded", b)
		}
	}
}

func FuzzDecodeBuckets(f *testing.F) {
	f.Add(histogramOf([]int64{1, 1000, HighestValue}).AppendBuckets(nil))
	f.Fuzz(func(t *testing.T, b []byte) {
		h, err := DecodeBuckets(b)
		if err != nil {
			return
		}
		again, err := DecodeBuckets(h.AppendBuckets(nil))
		if err != nil || again.Count() != h.Count() || h.Quantile(0.5) > h.Max() {
			t.Errorf("%d values, then %d, %v", h.Count(), again.Count(), err)
		}
	})
}

func FuzzDecode(f *testing.F) {
	good, err := histogramOf([]int64{1, 1000, HighestValue}).Encode()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(good)
	f.Add("HISTFAAAABl4nJNpmSzMwMDAxQABzFCaEUoz2X+AMAAAYQAEBg==")
	f.Add("")
	f.Fuzz(func(t *testing.T, s string) {
		h, err := Decode(s)
		if err != nil {
			return
		}
		var n int64
		for _, c := range h.Buckets() {
			n += c
		}
		if n != h.Count() || h.Quantile(0.5) > h.Max() {
			t.Errorf("%d values in buckets, %d counted", n, h.Count())
		}
	})
}

func TestRestoreRefusesWhatCannotBe(t *testing.T) {
	h := histogramOf([]int64{1000, 2000})
	for _, e := range []Exact{{}, {Min: 900, Max: 2000, Sum: 3000}, {Min: 1000, Max: 3000, Sum: 4000},
		{Min: 1000, Max: 2000, Sum: 5}} {
		if h.Restore(e) == nil {
			t.Errorf("%+v was accepted", e)
		}
	}
	if NewHistogram().Restore(Exact{Max: 1}) == nil {
		t.Error("an empty histogram took a maximum")
	}
}
