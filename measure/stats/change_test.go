package stats

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// indices are the places of changes.
func indices(found []ChangePoint) []int {
	var at []int
	for _, p := range found {
		at = append(at, p.Index)
	}
	return at
}

// levels makes a history with noise of one: lengths and levels alternate.
func levels(r *rand.Rand, parts ...float64) []float64 {
	var xs []float64
	for i := 0; i < len(parts); i += 2 {
		for range int(parts[i]) {
			xs = append(xs, parts[i+1]+r.NormFloat64())
		}
	}
	return xs
}

func TestChangePoints(t *testing.T) {
	const seed = 7
	r := rand.New(rand.NewPCG(seed, 0))
	for _, c := range []struct {
		name string
		xs   []float64
		want []int
	}{
		{"no change", levels(r, 60, 100), nil},
		{"one change", levels(r, 30, 100, 30, 106), []int{30}},
		{"a change three runs ago", levels(r, 40, 100, 3, 107), []int{40}},
		{"an episode", levels(r, 40, 100, 8, 93, 40, 100), []int{40, 48}},
		{"stairs", levels(r, 20, 100, 20, 105, 20, 110, 20, 115), []int{20, 40, 60}},
		{"without noise", []float64{1, 1, 1, 1, 1, 2, 2, 2, 2, 2}, []int{5}},
		{"without noise or change", []float64{0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1}, nil},
		{"too short", []float64{1, 1, 1, 1, 2, 2, 2, 2, 2}, nil},
		{"from zero", []float64{0, 0, 0, 0, 0, 2, 2, 2, 2, 2}, []int{5}},
		{"nothing", nil, nil},
		{"a change far from everything", levels(r, 300, 100, 400, 103), []int{300}},
	} {
		found := ChangePoints(c.xs, ChangeOptions{})
		if !slices.Equal(indices(found), c.want) {
			t.Errorf("seed %d: %s: changes at %v, want %v", seed, c.name, found, c.want)
		}
	}
}

func TestChangePointTellsLevels(t *testing.T) {
	xs := []float64{10, 10, 10, 10, 10, math.NaN(), 12, 12, 12, 12, 12, math.Inf(1), 9, 9, 9, 9}
	want := []ChangePoint{{Index: 6, Before: 10, After: 12, P: 0},
		{Index: 12, Before: 12, After: 9, P: 0}}
	if diff := cmp.Diff(want, ChangePoints(xs, ChangeOptions{}), cmpopts.EquateApprox(0, 1e-12)); diff != "" {
		t.Errorf("values that are not finite are skipped, and places are those in the history (-want +got):\n%s", diff)
	}
	for _, xs := range [][]float64{{-2, -2, -2, -2, -2, -1, -1, -1, -1, -1}, {0, 0, 0, 0, 0, 2, 2, 2, 2, 2}} {
		if got := ChangePoints(xs, ChangeOptions{}); len(got) != 1 {
			t.Errorf("%v: changes %v, want one", xs, got)
		}
	}
}

func TestChangeOptions(t *testing.T) {
	const seed = 11
	r := rand.New(rand.NewPCG(seed, 0))
	xs := levels(r, 30, 100, 30, 103, 30, 120)
	if got := indices(ChangePoints(xs, ChangeOptions{})); !slices.Equal(got, []int{30, 60}) {
		t.Fatalf("seed %d: changes at %v", seed, got)
	}
	if got := indices(ChangePoints(xs, ChangeOptions{Magnitude: 0.1})); !slices.Equal(got, []int{60}) {
		t.Errorf("seed %d: changes of 10 %% at %v", seed, got)
	}
	if got := ChangePoints(xs, ChangeOptions{P: 1e-90}); got != nil {
		t.Errorf("seed %d: changes at p < 1e-90 at %v", seed, got)
	}
	if got := indices(ChangePoints(xs, ChangeOptions{P: math.NaN(), Magnitude: -1, Segment: -5})); !slices.Equal(got,
		[]int{30, 60}) {
		t.Errorf("seed %d: options that make no sense count as none, got %v", seed, got)
	}
	late := levels(r, 30, 100, 4, 110)
	if got := indices(ChangePoints(late, ChangeOptions{Segment: 5})); slices.Contains(got, 30) {
		t.Errorf("seed %d: four values are too few for segments of five, got %v", seed, got)
	}
}

// The unit of values must not matter, nor how often one asks.
func TestChangePointsDeterministic(t *testing.T) {
	const seed = 13
	xs := levels(rand.New(rand.NewPCG(seed, 0)), 40, 100, 25, 104, 35, 99)
	want := ChangePoints(xs, ChangeOptions{})
	if len(want) != 2 {
		t.Fatalf("seed %d: changes %v, want two", seed, want)
	}
	for _, unit := range []float64{1, 1e-9, 1e9, 1e-250, 1e300} {
		scaled := make([]float64, len(xs))
		for i, x := range xs {
			scaled[i] = x * unit
		}
		before := slices.Clone(scaled)
		got := ChangePoints(scaled, ChangeOptions{})
		if !slices.Equal(indices(got), indices(want)) {
			t.Errorf("seed %d: in units of %v: %v, want %v", seed, unit, got, want)
		}
		if !slices.Equal(before, scaled) {
			t.Errorf("the history was changed")
		}
	}
}

// A strong drift is no step, whether it is a line, as the throughput of a program that becomes slower, or a curve, as
// its latency. A step larger than a drift is one.
func TestDriftIsNoChange(t *testing.T) {
	const seed = 11
	r := rand.New(rand.NewPCG(seed, 0))
	wrong, missed := 0, 0
	const histories = 200
	for range histories {
		n := 30 + r.IntN(70)
		at := n/3 + r.IntN(n/3)
		curve, stepped := make([]float64, n), make([]float64, n)
		for i := range curve {
			curve[i] = (1 + 0.002*r.NormFloat64()) / (1 - 0.5*float64(i)/float64(n))
			if stepped[i] = (1 + 0.002*r.NormFloat64()) / (1 - 0.02*float64(i)/float64(n)); i >= at {
				stepped[i] *= 1.1
			}
		}
		if len(ChangePoints(curve, ChangeOptions{})) > 0 {
			wrong++
		}
		if !slices.ContainsFunc(ChangePoints(stepped, ChangeOptions{}), func(p ChangePoint) bool { return p.Index == at }) {
			missed++
		}
	}
	if wrong > histories/20 || missed > histories/20 {
		t.Errorf("seed %d: of %d histories, %d drifts are called changes and %d steps are missed", seed, histories, wrong, missed)
	}
}
