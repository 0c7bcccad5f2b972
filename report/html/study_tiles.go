package html

import (
	"fmt"
	"slices"

	"github.com/plimsoll-bench/plimsoll/internal/figure"
	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/record"
)

// levelTiles say how much the baseline and the fastest configuration did, and what was lost at most.
func levelTiles(s *record.Study) []Tile {
	var list []Tile
	var base, best *record.Comparison
	for i := range s.Comparisons {
		c := &s.Comparisons[i]
		if c.Metric != "throughput" {
			continue
		}
		if base == nil && c.Base != nil {
			base = c
		}
		if c.Value != nil && (best == nil || *c.Value > *best.Value) {
			best = c
		}
	}
	if base != nil {
		list = append(list, Tile{"Baseline", figure.Rate(*base.Base) + " ok/s", withInterval(base.BaseLow, base.BaseHigh, base.NBase)})
	} else if t, ok := medianTile(s); ok {
		list = append(list, t)
	}
	if base != nil && best != nil {
		t := Tile{"Fastest", figure.Rate(*best.Value) + " ok/s", best.Configuration + ", " + withInterval(best.ValueLow, best.ValueHigh, best.N)}
		switch {
		case *best.Value <= *base.Base:
			t = Tile{"Fastest", "the baseline", "no configuration did more"}
		case best.Verdict != record.Better:
			t.Note += "; not told from the baseline"
		}
		list = append(list, t)
	}
	return append(list, lossTiles(s)...)
}

func withInterval(low, high *float64, n int) string {
	if low == nil || high == nil {
		return fmt.Sprintf("n = %d, too few for an interval", n)
	}
	return fmt.Sprintf("%s to %s, n = %d", figure.Rate(*low), figure.Rate(*high), n)
}

// counted are the trials that the comparison stands on.
func counted(s *record.Study) []*record.Trial {
	var list []*record.Trial
	for i := range s.Trials {
		if t := &s.Trials[i]; t.Kind == record.TrialCompared && t.Status == record.TrialDone && measure.Worst(t.Validity) != measure.Invalid {
			list = append(list, t)
		}
	}
	return list
}

// medianTile is the throughput of a study that has one configuration, and so no comparison.
func medianTile(s *record.Study) (Tile, bool) {
	base := baselineOf(s)
	var values []float64
	for _, t := range counted(s) {
		if x, ok := t.Values["throughput"]; ok && t.Configuration == base {
			values = append(values, x)
		}
	}
	if len(values) == 0 {
		return Tile{}, false
	}
	slices.Sort(values)
	n := len(values)
	median := (values[(n-1)/2] + values[n/2]) / 2
	return Tile{"Baseline", figure.Rate(median) + " ok/s",
		fmt.Sprintf("median of %s, %s to %s", figure.Plural(n, "trial"), figure.Rate(values[0]), figure.Rate(values[n-1]))}, true
}

// lossTiles say in which trial the most operations did not succeed.
func lossTiles(s *record.Study) []Tile {
	var worst *record.Trial
	trials := counted(s)
	for _, t := range trials {
		if x, ok := t.Values["errors"]; ok && (worst == nil || x > worst.Values["errors"]) {
			worst = t
		}
	}
	if worst == nil {
		return nil
	}
	t := Tile{"Not ok, at most", figure.Percent(worst.Values["errors"]), fmt.Sprintf("in trial %d, %s", worst.Number, worst.Configuration)}
	if worst.Values["errors"] == 0 {
		t.Note = "in every one of " + figure.Plural(len(trials), "trial")
	}
	return []Tile{t}
}
