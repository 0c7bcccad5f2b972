package judge

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/record/schema"
	"github.com/plimsoll-bench/plimsoll/report/recordtest"
)

// The spectra of a side are those of all its records together, and what is not there any longer is left out.
func TestSpectraOfSides(t *testing.T) {
	top := t.TempDir()
	made := func(name string, o recordtest.Run) string {
		o.Seconds, o.Rate = 3, 200
		dir := filepath.Join(top, name)
		if _, err := o.Write(dir); err != nil {
			t.Fatal(err)
		}
		return dir
	}
	a, b := made("a", recordtest.Run{Open: true, Median: time.Millisecond, Seed: 1}),
		made("b", recordtest.Run{Open: true, Median: 5 * time.Millisecond, Seed: 2})
	closed := made("closed", recordtest.Run{Median: time.Millisecond, Seed: 3})
	r := &record.ComparisonReport{Head: record.Head{SchemaVersion: record.SchemaVersion, Kind: record.KindComparison,
		Validity: []measure.Finding{}}, Differences: []record.Difference{}, Comparisons: []record.Comparison{}}
	for _, dirs := range [][]string{{a}, {a, b, filepath.Join(top, "gone")}, {a, closed}, {filepath.Join(top, "gone")}, {},
		{}, {a}} {
		r.Sides = append(r.Sides, record.ComparisonSide{Name: "x", Records: dirs, N: len(dirs),
			Values: map[string][]float64{}})
	}
	if err := AddSpectra(r); err != nil {
		t.Fatal(err)
	}
	fitsSchema(t, schema.Comparison, r)
	// read and update; two kinds of times where all had a schedule; six sides
	for i, want := range []int{4, 4, 2, 0, 0, 0, 0} {
		if got := len(r.Sides[i].Spectra); got != want {
			t.Errorf("side %d has %d spectra, want %d", i, got, want)
		}
	}
	for i, s := range r.Sides[1].Spectra {
		want := measure.NewHistogram()
		for _, dir := range []string{a, b} {
			sum, err := record.RebuildSummary(dir, "measure")
			if err != nil {
				t.Fatal(err)
			}
			if err := want.Merge(*sum.Classes[i/2].Histogram(s.Time)); err != nil {
				t.Fatal(err)
			}
		}
		got, err := measure.Decode(s.Histogram)
		if err != nil {
			t.Fatal(err)
		}
		if s.Records != 2 || s.N != want.Count() || s.Max != want.Max() || got.Quantile(0.99) != want.Quantile(0.99) ||
			s.N == 0 {
			t.Errorf("%s %s: %d of %d records, longest %d, p99 %d; want %d, longest %d, p99 %d",
				s.Class, s.Time, s.N, s.Records, s.Max, got.Quantile(0.99), want.Count(), want.Max(), want.Quantile(0.99))
		}
	}
	if err := os.WriteFile(filepath.Join(a, record.LatencyFile), []byte("nonsense\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := AddSpectra(r); err != nil || len(r.Sides[0].Spectra) != 0 {
		t.Errorf("a damaged record has %d spectra (%v)", len(r.Sides[0].Spectra), err)
	}
}
