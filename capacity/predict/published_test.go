package predict

import (
	"slices"
	"strings"
	"testing"

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
	meets(t, b)
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

// meets checks the goals of a backtest.
func meets(t *testing.T, b *record.Backtest) {
	t.Helper()
	predicted := b.Points - b.Refused
	if predicted == 0 || b.MedianError == nil {
		t.Fatal("nothing is predicted")
	}
	held := float64(b.Held) / float64(predicted)
	t.Logf("%d levels, %d refused, %d of %d intervals hold (%.1f %%), median error %.1f %%", b.Points, b.Refused, b.Held, predicted, 100*held, 100**b.MedianError)
	if held < 0.90 || *b.MedianError >= 0.10 {
		t.Errorf("%.1f %% of the intervals hold, want at least 90 %%; median error %.1f %%, want below 10 %%", 100*held, 100**b.MedianError)
	}
}
