package html

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/report/recordtest"
)

// A comparison that was kept is drawn from what is in it, and says what of that cannot be read.
func TestKeptComparisonHasSpectra(t *testing.T) {
	path := comparison(t)
	s := openAll(t, path)[0]
	page := pageOf(t, s)
	for _, want := range []string{"Over all records of a side together: 5 records of before, 5 records of after.", "<figcaption>Percentile spectrum of read", "<figcaption>Percentile spectrum of update", "after, service"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page does not have %q", want)
		}
	}
	kept := s.Result.(*record.ComparisonReport)
	if got := kept.Sides[1].Spectra; len(got) != 4 || strings.Contains(got[0].Histogram, "in all") ||
		len(got[0].Histogram) < 100 {
		t.Errorf("the spectra of the second side are %+v", got)
	}
	c, err := recordtest.Comparison("", "after")
	if err != nil {
		t.Fatal(err)
	}
	c.Sides[1].Spectra[0].Histogram = "nonsense"
	c.Sides[0].Spectra = nil
	dir := filepath.Join(t.TempDir(), "kept")
	if err := record.WriteComparison(dir, c); err != nil {
		t.Fatal(err)
	}
	page = pageOf(t, openAll(t, dir)...)
	for _, want := range []string{"the response times of read of side 2: decoding a histogram: ", "<figcaption>Percentile spectrum of update", "together: 5 records of after."} {
		if !strings.Contains(page, want) {
			t.Errorf("%q is missing on the page with a damaged spectrum", want)
		}
	}
}
