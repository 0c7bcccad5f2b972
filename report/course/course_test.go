package course

import (
	"bytes"
	"math"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/report/recordtest"
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

// TestAgreesWithTheRecord compares bins of a second with the intervals that they are made of.
func TestAgreesWithTheRecord(t *testing.T) {
	for _, open := range []bool{true, false} {
		dir, r := made(t, recordtest.Run{Warmup: 3, Seconds: 12, Rate: 900, Open: open, Median: 2 * time.Millisecond, Seed: 5,
			StallAt: 4})
		c, err := Read(dir, r)
		if err != nil || !c.Complete || len(c.Bins) != 15 {
			t.Fatalf("%d bins, complete %v: %v", len(c.Bins), c.Complete, err)
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
			want := Bin{Start: iv.Start, End: iv.End, Phase: iv.Phase, Tally: iv.Tally(r.Dims()), Offered: iv.Offered,
				Workers:  16,
				InFlight: iv.InFlight, Count: h.Count(), P50: -1, P99: -1, Max: h.Max()}
			for q, to := range map[float64]*int64{0.5: &want.P50, 0.99: &want.P99} {
				if d, _, err := sum.Times("", "response"); err != nil {
					return err
				} else if ns, answered := d.Value(q); answered && h.Enough(q) {
					*to = ns
				}
			}
			got := c.Bins[i]
			got.Bands = nil
			if d := cmp.Diff(want, got); d != "" {
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
		for kind, got := range map[string]*measure.Histogram{"service": s.Service, "response": s.Response} {
			want := *sum.Classes[i].Histogram(kind)
			if got.Count() != want.Count() {
				t.Errorf("%s %s: %d values, want %d", s.Class, kind, got.Count(), want.Count())
			}
			for _, q := range []float64{0.0001, 0.5, 0.9, 0.99, 0.999, 1} {
				if g, w := got.Quantile(q), want.Quantile(q); got != nil && g != w {
					t.Errorf("%s %s p%v is %d, want %d", s.Class, kind, q*100, g, w)
				}
			}
		}
	}
	if len(c.Spectra) != 2 {
		t.Errorf("%d spectra, want those of read and update", len(c.Spectra))
	}
}

// sameTimes compares what histograms hold.
func sameTimes(a, b *measure.Histogram) bool {
	left, _ := a.Encode()
	right, _ := b.Encode()
	return left == right
}

// TestMergesBins checks bins of a long run: their percentiles come from merged histograms, not from percentiles of
// seconds. With the longer intervals of the record and without them, as in records of earlier versions, the whole is
// the same.
func TestMergesBins(t *testing.T) {
	dir, r := made(t, recordtest.Run{Seconds: 3300, Rate: 40, Median: time.Millisecond, Seed: 9, Templates: 20})
	merged, err := Read(dir, r)
	if err != nil || !merged.Complete {
		t.Fatalf("complete %v: %v", merged.Complete, err)
	}
	checkBins(t, dir, merged, 10*time.Second, 330)
	files, err := filepath.Glob(filepath.Join(dir, "*-1*"))
	if err != nil || len(files) != 4 {
		t.Fatalf("longer intervals are in %q: %v", files, err)
	}
	for _, f := range files {
		if err := os.Remove(f); err != nil {
			t.Fatal(err)
		}
	}
	all, err := Read(dir, r)
	if err != nil || !all.Complete {
		t.Fatalf("complete %v: %v", all.Complete, err)
	}
	checkBins(t, dir, all, 2*time.Second, 1650)
	if d := cmp.Diff(all.Spectra, merged.Spectra, cmp.Comparer(sameTimes)); d != "" {
		t.Errorf("spectra of all intervals -, of merged ones +:\n%s", d)
	}
}

// checkBins compares the sixth bin with the seconds that it covers.
func checkBins(t *testing.T, dir string, c *Course, width time.Duration, bins int) {
	t.Helper()
	if c.Width != width || len(c.Bins) != bins || c.Bins[5].End-c.Bins[5].Start != width || c.Bins[5].Start != 5*width {
		t.Fatalf("%d bins of %v, the sixth one from %v to %v", len(c.Bins), c.Width, c.Bins[5].Start, c.Bins[5].End)
	}
	merged := measure.NewHistogram()
	if _, err := record.EachInterval(dir, func(iv *measure.Interval) error {
		if iv.Start < c.Bins[5].Start || iv.Start >= c.Bins[5].End {
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
		if err != nil || c.Complete || len(c.Bins) < 5 {
			t.Errorf("%s cut: %d bins, complete %v, %v", name, len(c.Bins), c.Complete, err)
		}
	}
	for _, name := range []string{record.LatencyFile, record.IntervalsFile} {
		if err := os.Remove(filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	if c, err := Read(dir, r); err != nil || c.Complete || len(c.Bins) != 0 {
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
	if c, err := Read(dir, r); err == nil || len(c.Bins) != 5 || c.Bins[0].Count == 0 {
		t.Errorf("want an error and the bins before the damage, got %d bins: %v", len(c.Bins), err)
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
	if d := cmp.Diff(want, got, cmp.Comparer(sameTimes)); d != "" {
		t.Errorf("(want -, got +):\n%s", d)
	}
}

// TestPhasesThatEndWithinASecond checks that what is left at the end of a phase is a bin of its own only if it is long
// enough for a rate, and that no bin mixes phases.
func TestPhasesThatEndWithinASecond(t *testing.T) {
	dims := recordtest.Run{}.Dims()
	at := func(phase string, start, end float64, n int64) *measure.Interval {
		classes := []measure.ClassInterval{{Counts: []int64{n, 0, 0, 0, 0, 0}}, {Counts: make([]int64, 6)}}
		return &measure.Interval{Phase: phase, Start: time.Duration(start * 1e9), End: time.Duration(end * 1e9),
			Classes: classes}
	}
	b := newBuilder(&record.Run{Classes: dims.Classes, Outcomes: dims.Outcomes})
	for _, iv := range []*measure.Interval{
		at("warmup", 0, 1, 1000), at("warmup", 1, 1.004, 0), at("warmup-drain", 1.004, 2.004, 3), at("measure", 1.004, 2.004, 1000),
		at("measure", 2.004, 3.004, 1000), at("measure", 3.004, 3.604, 600), at("drain", 3.604, 3.61, 1),
	} {
		if err := b.add(iv); err != nil {
			t.Fatal(err)
		}
	}
	c := b.course()
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
