package stats

import (
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The cases that two public detectors state in their own tests: Apache Otava (tests/analysis_test.py) and MongoDB's
// signal-processing-algorithms (tests/test_detection.py), with the places that they expect. Where we differ from a
// detector, want is ours, and the case says why.
func TestPublishedChanges(t *testing.T) {
	level := func(parts ...int) (xs []float64) { // pairs of length and value
		for i := 0; i < len(parts); i += 2 {
			xs = append(xs, slices.Repeat([]float64{float64(parts[i+1])}, parts[i])...)
		}
		return xs
	}
	with := func(xs []float64, at int, x float64) []float64 {
		xs[at] = x
		return xs
	}
	for name, c := range map[string]struct {
		xs   []float64
		want []int
	}{
		"otava: single series": {[]float64{1.02, 0.95, 0.99, 1.00, 1.12, 1.00, 1.01, 0.98, 1.01, 0.96, 0.50, 0.51, 0.48,
			0.48, 0.55, 0.50, 0.49, 0.51, 0.50, 0.49}, []int{10}},
		"mongodb: random numbers of three ranges": {[]float64{41, 18, 23, 3, 32, 11, 40, 13, 29, 48, 47, 35, 18, 21, 6, 2, 23,
			3, 4, 7, 120, 103, 102, 81, 71, 62, 115, 61, 108, 63, 70, 98, 65, 96, 64, 74, 70, 113, 90, 114, 208, 196, 153, 150,
			225, 179, 206, 165, 177, 151, 218, 217, 244, 245, 229, 195, 225, 229, 176, 250}, []int{20, 40}},
		"mongodb: simple regression":    {level(15, 50, 15, 100), []int{15}},
		"mongodb: a value between":      {level(14, 50, 1, 74, 15, 100), []int{15}},
		"mongodb: a value nearer":       {level(14, 50, 1, 76, 15, 100), []int{14}},
		"mongodb: with an outlier":      {with(level(15, 50, 15, 100), 2, 100), []int{15}},
		"mongodb: regression, recovery": {with(with(level(15, 50, 15, 100, 15, 50), 2, 100), 32, 100), []int{15, 30}}, // there 33
		"mongodb: two regressions":      {with(level(15, 50, 15, 100, 15, 150), 2, 100), []int{15, 30}},
		"mongodb: none":                 {level(30, 50), nil},
	} {
		if diff := cmp.Diff(c.want, places(c.xs, ChangeOptions{})); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// 363 nightly runs. Otava finds 15 and 71 with its default magnitude, and eleven places without one at the same p.
func TestPublishedNights(t *testing.T) {
	text, err := os.ReadFile("testdata/tigerbeetle.txt")
	if err != nil {
		t.Fatal(err)
	}
	var xs []float64
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		for word := range strings.FieldsSeq(line) {
			x, err := strconv.ParseFloat(word, 64)
			if err != nil {
				t.Fatal(err)
			}
			xs = append(xs, x)
		}
	}
	if diff := cmp.Diff([]int{15, 71}, places(xs, ChangeOptions{Magnitude: 0.05})); diff != "" {
		t.Errorf("changes above 5 %% (-want +got):\n%s", diff)
	}
	// Bonferroni for all tested places drops 142, 148 and 212 of Otava's, the likeness of neighbours 117 and 260.
	if diff := cmp.Diff([]int{15, 61, 71, 95, 131, 192}, places(xs, ChangeOptions{P: 0.001})); diff != "" {
		t.Errorf("all changes (-want +got):\n%s", diff)
	}
}

func places(xs []float64, o ChangeOptions) (at []int) {
	for _, c := range ChangePoints(xs, o) {
		at = append(at, c.Index)
	}
	return at
}
