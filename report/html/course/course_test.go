package course

import (
	"bytes"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/report/html/recordtest"
)

func made(t *testing.T, o recordtest.Run) (string, *record.Run) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "record")
	r, err := o.Write(dir)
	if err != nil {
		t.Fatal(err)
	}
	return dir, r
}

// The fast way must find what the record's own way finds.
func TestAgreesWithTheRecord(t *testing.T) {
	for _, open := range []bool{true, false} {
		dir, r := made(t, recordtest.Run{Warmup: 3, Seconds: 12, Rate: 900, Open: open, Median: 2 * time.Millisecond, Seed: 5, StallAt: 4})
		c, err := Read(dir, r)
		if err != nil || !c.Complete || c.Intervals != 15 || len(c.Bins) != 15 {
			t.Fatalf("read %d intervals, %d bins, complete %v: %v", c.Intervals, len(c.Bins), c.Complete, err)
		}
		i := 0
		_, err = record.EachInterval(dir, func(iv *measure.Interval) error {
			sum, err := measure.Merge(r.Dims(), []*measure.Interval{iv})
			if err != nil {
				return err
			}
			all, err := sum.All()
			if err != nil {
				return err
			}
			h := all.Answered()
			want := Bin{Start: iv.Start, End: iv.End, Phase: iv.Phase, Tally: iv.Tally(r.Dims()), Offered: iv.Offered, Workers: 16,
				InFlight: iv.InFlight, Count: h.Count(), P50: -1, P99: -1, Max: h.Max()}
			if h.Enough(0.5) {
				want.P50 = h.Quantile(0.5)
			}
			if h.Enough(0.99) {
				want.P99 = h.Quantile(0.99)
			}
			got := c.Bins[i]
			got.Bands, got.sampled = nil, 0
			if d := cmp.Diff(want, got, cmp.AllowUnexported(Bin{})); d != "" {
				t.Errorf("bin %d (want -, got +):\n%s", i, d)
			}
			i++
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		checkSpectra(t, dir, r, c)
	}
}

func checkSpectra(t *testing.T, dir string, r *record.Run, c *Course) {
	t.Helper()
	sum, err := record.RebuildSummary(dir, "measure")
	if err != nil {
		t.Fatal(err)
	}
	for i, s := range c.Spectra {
		for kind, got := range map[string]*Counts{"service": s.Service, "response": s.Response} {
			want := *sum.Classes[i].Histogram(kind)
			if got.Total() != want.Count() {
				t.Errorf("%s %s: %d values, want %d", s.Class, kind, got.Total(), want.Count())
			}
			for _, q := range []float64{0.0001, 0.5, 0.9, 0.99, 0.999, 1} {
				if g, w := got.Quantile(q, want.Max()), want.Quantile(q); got != nil && g != w {
					t.Errorf("%s %s p%v is %d, want %d", s.Class, kind, q*100, g, w)
				}
			}
		}
	}
	if len(c.Spectra) != 2 {
		t.Errorf("%d spectra, want those of read and update", len(c.Spectra))
	}
}

// Percentiles of a long bin come from merged counts: not the mean, nor the middle one, of those of its seconds.
func TestMergesBins(t *testing.T) {
	short, _ := made(t, recordtest.Run{Seconds: 20, Rate: 40, Median: time.Millisecond, Seed: 9})
	dir := filepath.Join(t.TempDir(), "long")
	if err := recordtest.Repeat(short, dir, 165); err != nil {
		t.Fatal(err)
	}
	r, err := record.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	c, err := Read(dir, r)
	if err != nil || !c.Complete {
		t.Fatalf("complete %v: %v", c.Complete, err)
	}
	if c.Width != 2*time.Second || len(c.Bins) != 1650 || c.Bins[5].Seconds() != 2 || c.Bins[5].Start != 10*time.Second {
		t.Fatalf("%d bins of %v, the sixth one from %v", len(c.Bins), c.Width, c.Bins[5].Start)
	}
	merged := measure.NewHistogram()
	if _, err := record.EachInterval(dir, func(iv *measure.Interval) error {
		if iv.Start < 10*time.Second || iv.Start >= 12*time.Second {
			return nil
		}
		for _, ci := range iv.Classes {
			if err := merged.Merge(ci.Service); err != nil {
				return err
			}
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	b := c.Bins[5]
	if b.Count != merged.Count() || b.P50 != merged.Quantile(0.5) || b.Max != merged.Max() {
		t.Errorf("bin %+v, want n %d p50 %d max %d", b, merged.Count(), merged.Quantile(0.5), merged.Max())
	}
	sum := int64(0)
	for _, n := range b.Bands {
		sum += n
	}
	if sum != b.Count {
		t.Errorf("the bands have %d values, the bin %d", sum, b.Count)
	}
}

func TestSlotsAreThoseOfTheLibrary(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 2000 {
		v := int64(math.Exp(r.Float64() * math.Log(float64(measure.HighestValue))))
		h := measure.NewHistogram()
		h.Record(v)
		text, err := h.Encode()
		if err != nil {
			t.Fatal(err)
		}
		c := newCounts()
		if err := new(decoder).decode([]byte(text), c); err != nil {
			t.Fatal(err)
		}
		low, high := slotRange(c.low)
		if c.total != 1 || v < low || v > high {
			t.Fatalf("%d went to slot %d, %d to %d", v, c.low, low, high)
		}
	}
}

func TestKilledRun(t *testing.T) {
	dir, r := made(t, recordtest.Run{Seconds: 20, Rate: 400, Open: true, Median: time.Millisecond, Seed: 2})
	for _, name := range []string{record.LatencyFile, record.IntervalsFile} {
		path := filepath.Join(dir, name)
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, b[:len(b)*2/3], 0o644); err != nil {
			t.Fatal(err)
		}
		c, err := Read(dir, r)
		if err != nil || c.Complete || c.Intervals < 5 {
			t.Errorf("%s cut: %d intervals, complete %v, %v", name, c.Intervals, c.Complete, err)
		}
	}
	for _, name := range []string{record.LatencyFile, record.IntervalsFile} {
		if err := os.Remove(filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	if c, err := Read(dir, r); err != nil || c.Complete || c.Intervals != 0 {
		t.Errorf("without files: %+v, %v", c, err)
	}
}

func TestDamagedLog(t *testing.T) {
	dir, r := made(t, recordtest.Run{Seconds: 6, Rate: 200, Median: time.Millisecond, Seed: 2})
	path := filepath.Join(dir, record.LatencyFile)
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	at := bytes.LastIndexByte(b, ',') + 20
	copy(b[at:], "AAAAAAAA")
	if err := os.WriteFile(path, b, 0o644); err != nil {
		t.Fatal(err)
	}
	if c, err := Read(dir, r); err == nil || len(c.Bins) != 6 || c.Bins[0].Count == 0 {
		t.Errorf("want an error and the rest, got %v", err)
	}
}

func FuzzDecode(f *testing.F) {
	h := measure.NewHistogram()
	for i := range int64(50) {
		h.RecordN(i*i*1e5, i+1)
	}
	text, err := h.Encode()
	if err != nil {
		f.Fatal(err)
	}
	f.Add([]byte(text))
	f.Add([]byte("HISTFAAAAA"))
	f.Fuzz(func(t *testing.T, b []byte) {
		var d decoder
		c := newCounts()
		err := d.decode(b, c)
		if err != nil && (c.total != 0 || slices.Max(c.n) != 0 || slices.Min(c.n) != 0) {
			t.Errorf("what was refused (%v) added to the counts", err)
		}
		h, herr := measure.Decode(string(b))
		if err == nil && herr == nil && h.Count() != c.total {
			t.Errorf("%d values, the library has %d", c.total, h.Count())
		}
		c.Quantile(0.99, measure.HighestValue)
	})
}

// Of a histogram that is damaged in its middle nothing is counted, and what was there before stays.
func TestDamagedCountsAreTakenAway(t *testing.T) {
	for name, bad := range map[string][]byte{
		"a number without an end": {2, 2, 7, 130, 1, 2, 0x80}, "too long a gap": {2, 6, 0xff, 0xff, 0xff, 0xff, 0x0f},
		"beyond the last slot": {2, 0xff, 0xff, 3, 0xff, 0xff, 3, 4}, "too many": {4, 0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff},
	} {
		c := newCounts()
		if !c.decode([]byte{0, 2, 2, 5, 200, 1}) || c.total != 102 || c.low != 1 || c.high != 7 {
			t.Fatalf("%d values from slot %d to %d", c.total, c.low, c.high)
		}
		before := slices.Clone(c.n)
		if c.decode(bad) {
			t.Errorf("%s was taken", name)
		}
		if c.total != 102 || !slices.Equal(c.n, before) {
			t.Errorf("%s: %d values are left of 102", name, c.total)
		}
	}
}

// A log may have other lines than histograms anywhere: several logs one behind the other have their heads in between.
func TestOtherLinesInTheLog(t *testing.T) {
	dir, r := made(t, recordtest.Run{Seconds: 8, Rate: 300, Open: true, Median: time.Millisecond, Seed: 4})
	want, err := Read(dir, r)
	if err != nil || !want.Complete {
		t.Fatal(want.Complete, err)
	}
	path := filepath.Join(dir, record.LatencyFile)
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	b = bytes.ReplaceAll(b, []byte("\nTag=update.service"), []byte("\n#[a remark]\n\n\n\"StartTimestamp\"\nTag=update.service"))
	if err := os.WriteFile(path, b, 0o644); err != nil {
		t.Fatal(err)
	}
	got, err := Read(dir, r)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want, got, cmp.AllowUnexported(Bin{}, Counts{})); d != "" {
		t.Errorf("(want -, got +):\n%s", d)
	}
}

// What is left at the end of a phase is a bin of its own only if it is long enough for a rate, and no bin mixes phases.
func TestPhasesThatEndWithinASecond(t *testing.T) {
	at := func(phase string, start, end float64, n int64) line {
		return line{phase: phase, start: time.Duration(start * 1e9), end: time.Duration(end * 1e9), tally: measure.Tally{Attempted: n, Succeeded: n}}
	}
	c := newCourse([]line{
		at("warmup", 0, 1, 1000), at("warmup", 1, 1.004, 0), at("warmup-drain", 1.004, 2.004, 3), at("measure", 1.004, 2.004, 1000),
		at("measure", 2.004, 3.004, 1000), at("measure", 3.004, 3.604, 600), at("drain", 3.604, 3.61, 1),
	})
	var got []float64
	for i := range c.Bins {
		b := &c.Bins[i]
		if b.Phase == "warmup" || b.Phase == "measure" {
			got = append(got, math.Round(float64(b.Tally.Succeeded)/b.Seconds()))
		}
	}
	if d := cmp.Diff([]float64{996, 1000, 1000, 1000}, got); d != "" || len(c.Bins) != 6 {
		t.Errorf("%d bins, rates (want -, got +):\n%s", len(c.Bins), d)
	}
}
