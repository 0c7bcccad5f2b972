package predict

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/measure/stats"
	"github.com/plimsoll-bench/plimsoll/record"
)

// Every stated sweep of the documents: the share of intervals that hold, and the median error, are the goals of a
// backtest. What must not be predicted is refused in words.
func TestPublishedFigures(t *testing.T) {
	var all []Factor
	var left []string
	for _, ref := range []string{"storage-io", "policy-storage", "ssd-vs-disk"} {
		factors, more, err := Published(ref)
		if err != nil {
			t.Fatal(err)
		}
		all, left = append(all, factors...), append(left, more...)
	}
	b := Backtest(all, record.Tool{})
	meets(t, b, bounds{2.2, 1.8})
	if len(b.Factors) != 7 {
		t.Errorf("%d sweeps state enough points, want 7: four of storage-io, two of policy-storage, one of ssd-vs-disk", len(b.Factors))
	}
	models := map[string]string{"policy-storage/figure-6": "cache", "policy-storage/figure-7": "cache",
		"storage-io/ext4": "queueing-c", "ssd-vs-disk": "multiplier"}
	for _, f := range b.Factors {
		if want := models[f.Source]; want != "" && f.Model != want {
			t.Errorf("%s: model %q, want %s (%s)", f.Source, f.Model, want, f.Why)
		}
	}
	if !slices.ContainsFunc(left, func(s string) bool { return strings.Contains(s, "figure-2") && strings.Contains(s, "1 of 8 levels") }) {
		t.Errorf("threads of policy-storage are not refused in words: %q", left)
	}
}

// bounds are the largest allowed medians: of the ratio of an interval's ends, and of limit / measured.
type bounds struct{ width, above float64 }

// meets checks the goals of a backtest: how many intervals and limits hold, that they are not too wide, and that most
// levels between others are predicted.
func meets(t *testing.T, b *record.Backtest, most bounds) {
	t.Helper()
	var widths []float64
	for _, f := range b.Factors {
		for _, p := range f.Points {
			if p.Predicted != nil {
				widths = append(widths, *p.High / *p.Low)
			}
		}
	}
	for name, c := range map[string]record.BacktestCount{"inner": b.Inner, "outer": b.Outer} {
		if c.Predicted() == 0 {
			t.Fatalf("no %s level is predicted", name)
		}
		iv := stats.BinomialInterval(c.Held, c.Predicted(), 0.95)
		t.Logf("%s: %d levels, %d refused, %d hold (%.1f to %.1f %%), median %.1f %%", name, c.Levels, c.Refused, c.Held, 100*iv.Low, 100*iv.High, 100**c.Median)
		if iv.High < 0.95 || name == "inner" && iv.Low > 0.98 {
			t.Errorf("%s: %d of %d hold, want 95 %%", name, c.Held, c.Predicted())
		}
	}
	t.Logf("median width %.2f", measure.Median(widths))
	if b.Inner.Refused > b.Inner.Levels*2/5 || *b.Inner.Median > 0.1 || 1+*b.Outer.Median > most.above ||
		measure.Median(widths) > most.width {
		t.Errorf("%d of %d inner levels are refused, their median error is %.1f %%, and the median width %.2f; limits are %.1f %% too high", b.Inner.Refused,
			b.Inner.Levels, 100**b.Inner.Median, measure.Median(widths), 100**b.Outer.Median)
	}
}

// Studies of testdata/studies, measured on one machine.
func TestMeasuredStudies(t *testing.T) {
	dirs, err := filepath.Glob("testdata/records/*")
	if err != nil {
		t.Fatal(err)
	}
	var all []Factor
	for _, dir := range dirs {
		s, err := record.OpenStudy(dir)
		if err != nil {
			t.Fatal(err)
		}
		factors, err := Factors(filepath.Base(dir), s)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range factors {
			if len(f.Levels) < 5 {
				t.Errorf("%s has %d levels, want 5 or more", f.Source, len(f.Levels))
			}
		}
		all = append(all, factors...)
	}
	if len(all) < 6 {
		t.Fatalf("%d factors, want at least 6", len(all))
	}
	b := Backtest(all, record.Tool{})
	meets(t, b, bounds{1.9, 1.5})
	for _, f := range b.Factors {
		for _, p := range f.Points {
			if p.Predicted != nil {
				t.Logf("%s %s: %.0f, predicted %.0f [%.0f, %.0f] by %s, %+.1f %%", f.Source, p.Level, p.Measured,
					*p.Predicted, *p.Low, *p.High, p.Model, 100**p.Error)
			}
		}
	}
}
