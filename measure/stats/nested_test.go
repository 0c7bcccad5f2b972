package stats

import (
	"math"
	"slices"
	"testing"
)

// Three deployments of two runs of three windows.
var nestedValues = []float64{10.1, 10.4, 9.8, 10.9, 11.2, 11.0, 9.1, 9.3, 9.6, 9.9, 9.7, 9.2, 10.5, 10.2, 10.8, 11.5,
	11.1, 11.9}

func TestNest(t *testing.T) {
	n, ok := Nest(nestedValues, []int{3, 2, 3}, 0.95)
	if !ok || len(n.Levels) != 3 {
		t.Fatalf("got %+v, %v", n, ok)
	}
	want := []Level{{3, 0.09277777777777789, 0.09277777777777789}, {2, 0.32370370370370366, 0.2927777777777777},
		{3, 0.6248148148148146, 0.4629629629629628}}
	for i, l := range n.Levels {
		if l.Count != want[i].Count {
			t.Errorf("level %d was repeated %d times, want %d", i+1, l.Count, want[i].Count)
		}
		near(t, "the variance of a level", l.Variance, want[i].Variance, 1e-12)
		near(t, "the component of a level", l.Component, want[i].Component, 1e-12)
	}
	near(t, "the mean", n.Mean, 10.344444444444443, 1e-12)
	nearInterval(t, "the mean", n.Interval, 8.38085211401043, 12.308036774878456)
	for _, c := range []struct {
		costs []float64
		want  []int
	}{
		{[]float64{1, 10, 100}, []int{2, 3}}, {[]float64{1, 5, 600}, []int{2, 9}}, {[]float64{100, 1, 1e-6}, []int{1, 1}},
		{[]float64{1, 2}, nil}, {[]float64{1, 0, 2}, nil}, {[]float64{1, math.NaN(), 2}, nil},
	} {
		if got := n.BestCounts(c.costs); !slices.Equal(got, c.want) {
			t.Errorf("for costs of %v: %v, want %v", c.costs, got, c.want)
		}
	}
}

func TestNestWithoutComponents(t *testing.T) {
	// All variation is between windows: the runs and deployments bring nothing of their own.
	n, ok := Nest([]float64{1, 3, 3, 1, 1, 3, 3, 1}, []int{2, 2, 2}, 0.95)
	if !ok || n.Levels[0].Component != 2 || n.Levels[1].Component != 0 || n.Levels[2].Component != 0 ||
		n.Interval != (Interval{2, 2}) {
		t.Errorf("got %+v, %v", n, ok)
	}
	if got := n.BestCounts([]float64{1, 1, 1}); !slices.Equal(got, []int{0, 1}) {
		t.Errorf("there is no best number of windows, and one run is enough: %v", got)
	}
	for _, c := range []struct {
		values []float64
		counts []int
	}{
		{nil, nil}, {nestedValues, nil}, {nestedValues, []int{3, 2}}, {nestedValues, []int{18, 1}},
		{nestedValues, []int{-3, -6}},
		{nestedValues[:4], []int{1 << 20, 1 << 20}}, {[]float64{1, 2, math.NaN(), 4}, []int{2, 2}},
	} {
		if n, ok := Nest(c.values, c.counts, 0.95); ok {
			t.Errorf("%v repeated %v times gives %+v", c.values, c.counts, n)
		}
	}
}
