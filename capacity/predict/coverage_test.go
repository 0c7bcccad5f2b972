package predict_test

import (
	"math/rand/v2"
	"testing"

	"github.com/plimsoll-bench/plimsoll/capacity/predict/lawtest"
	"github.com/plimsoll-bench/plimsoll/measure"
)

// Of the intervals between levels, 90 to 98 % contain the true throughput, and of the limits beyond them, so many are
// above it. They are not wide, and few are refused, except where throughput collapses: then no law describes the
// levels. A collapse or a saturation that no level shows is below the limit, so all limits of these laws hold.
func TestCoverage(t *testing.T) {
	const tries = 40
	for _, beyond := range []bool{false, true} {
		held, predicted, smooth, refused, cliffs := 0, 0, 0, 0, 0
		var wide []float64
		for i, k := range lawtest.Kinds {
			cliff := k.Name == "a cliff"
			for seed := range uint64(tries) {
				o := k.Try(rand.New(rand.NewPCG(seed, uint64(i))), beyond)
				switch {
				case o.Refused != "" && cliff:
					cliffs++
				case o.Refused != "":
					refused++
				case cliff && !o.Held:
					t.Logf("%s, seed %d: %s", k.Name, seed, o.Text)
				}
				if !cliff {
					smooth++
				}
				if o.Refused != "" {
					continue
				}
				predicted++
				if o.Held {
					held++
				}
				if !cliff {
					wide = append(wide, o.Wide)
				}
			}
		}
		share, median := float64(held)/float64(predicted), measure.Median(wide)
		t.Logf("beyond %v: %d of %d hold (%.1f %%), median width %.2f, %d of %d refused, and %d of %d cliffs", beyond, held,
			predicted, 100*share, median, refused, smooth, cliffs, tries)
		if share < 0.90 || share > 0.98 || median > 1.35 || refused > smooth/10 {
			t.Errorf("beyond %v: %.1f %% hold, want 90 to 98 %%; the median width is %.2f, want at most 1.35; %d of %d are refused, want at most a tenth",
				beyond, 100*share, median, refused, smooth)
		}
	}
}
