package capacity

import (
	"fmt"
	"math"
	"strings"
	"testing"
)

// brief is the table of the brief "Shrink Your MongoDB Cluster" (2017): operations per second of two clusters of three
// nodes, its multipliers, and the nodes of the slower kind that it concludes from them.
var brief = []struct {
	workload     string
	ssd, legacy  float64
	multiplier   string
	nodes        int
	nodesIsGuess bool // the document names the nodes of A, D and F, and a range for the others
}{
	{"a", 7120.1, 818.3, "8.7", 26, false},
	{"b", 10404.4, 1080.4, "9.6", 29, true},
	{"c", 11455.4, 1347.2, "8.5", 26, true},
	{"d", 28671.5, 2464.6, "11.6", 35, false},
	{"f", 6315.0, 794.7, "7.9", 24, false},
}

func TestMultipliersOfTheBrief(t *testing.T) {
	for _, c := range brief {
		m, err := Multiply([]float64{c.legacy}, []float64{c.ssd}, 3, nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprintf("%.1f", m.Ratio); got != c.multiplier {
			t.Errorf("workload %s: multiplier %s, the brief has %s", c.workload, got, c.multiplier)
		}
		if got := int(math.Round(m.Nodes.N)); got != c.nodes {
			t.Errorf("workload %s: %d nodes, the brief has %d", c.workload, got, c.nodes)
		}
		if c.nodesIsGuess && (c.nodes < 26 || c.nodes > 29) {
			t.Errorf("workload %s: %d nodes, the brief says 26 to 29", c.workload, c.nodes)
		}
		if m.Known || m.Nodes.Known || m.Nodes.Assumption != Linear || len(m.Nodes.Doubts) == 0 {
			t.Errorf("workload %s: one run of each has an interval, or does not say that it is assumed: %+v", c.workload, m)
		}
	}
}

func TestMultiplierHasTheIntervalThatTrialsAllow(t *testing.T) {
	m, err := Multiply([]float64{98, 100, 102}, []float64{290, 300, 310}, 3, nil)
	if err != nil {
		t.Fatal(err)
	}
	near(t, "the ratio", m.Ratio, 3, 0.01)
	if !m.Known || m.Low > 3 || m.High < 3 || m.High-m.Low > 0.5 || m.Low == m.High {
		t.Errorf("the interval is %v to %v", m.Low, m.High)
	}
	near(t, "nodes", m.Nodes.N, 9, 0.01)
	near(t, "the lower end of the nodes", m.Nodes.Low, 3*m.Low, 1e-9)
	near(t, "the upper end of the nodes", m.Nodes.High, 3*m.High, 1e-9)
	if _, err := Multiply([]float64{0}, []float64{5}, 3, nil); err == nil {
		t.Error("a base without throughput has a multiplier")
	}
}

func scale(t *testing.T, points ...ScalePoint) *Scaling {
	t.Helper()
	s, err := NewScaling(points, 1)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestScalingSaysWhatItStandsOn(t *testing.T) {
	three := []ScalePoint{{2, []float64{98, 100, 102}}, {4, []float64{178, 180, 182}}, {8, []float64{297, 300, 303}}}
	law := []ScalePoint{}
	for _, n := range []float64{1, 2, 4, 8, 16} {
		x := known.At(n)
		law = append(law, ScalePoint{n, []float64{x * 0.995, x, x * 1.005}})
	}
	for _, c := range []struct {
		name       string
		s          *Scaling
		x, n       float64
		assumption string
		known      bool
		doubt      string
	}{
		{"one size", scale(t, ScalePoint{3, []float64{100}}), 870, 26.1, Linear, false, "assumed, not measured"},
		{"one size, several trials", scale(t, ScalePoint{3, []float64{99, 100, 101}}), 870, 26.1, Linear, true, "assumed"},
		{"less than one size", scale(t, ScalePoint{3, []float64{100}}), 50, 1.5, Linear, false, ""},
		{"below the smallest", scale(t, three...), 50, 2, Measured, true, ""},
		{"between", scale(t, three...), 240, 6, Interpolated, true, "next measured size that suffices is 8"},
		{"beyond three sizes", scale(t, three...), 400, 8 * math.Pow(400.0/300, 1/(math.Log(300.0/180)/math.Log(2))), ByPower, false, "beyond the largest"},
		{"far beyond three sizes", scale(t, three...), 900, 8 * math.Pow(3, 1/(math.Log(300.0/180)/math.Log(2))), ByPower, false, "twice the largest"},
		{"beyond five sizes", scale(t, law...), known.At(24), 24, ByLaw, true, "extrapolated by the scalability law, not measured"},
		{"far beyond five sizes", scale(t, law...), known.At(40), 40, ByLaw, true, "Measure a larger size"},
	} {
		e, err := c.s.Nodes(c.x)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		near(t, c.name, e.N, c.n, 0.02)
		doubts := strings.Join(e.Doubts, "; ")
		if e.Assumption != c.assumption || e.Known != c.known || !strings.Contains(doubts, c.doubt) ||
			(c.doubt == "") != (doubts == "") {
			t.Errorf("%s: %+v", c.name, e)
		}
		if e.Low > e.N+1e-9 || e.High < e.N-1e-9 || e.Known == (e.Low == e.High) && c.name != "below the smallest" {
			t.Errorf("%s: the interval of %v is %v to %v", c.name, e.N, e.Low, e.High)
		}
	}
}

func TestScalingRefusesWhatNoSizeReaches(t *testing.T) {
	falling := []ScalePoint{}
	for _, n := range []float64{1, 4, 16, 64, 128, 200} {
		x := known.At(n)
		falling = append(falling, ScalePoint{n, []float64{x * 0.999, x, x * 1.001}})
	}
	for name, c := range map[string]struct {
		s    *Scaling
		want string
	}{
		"beyond the peak":  {scale(t, falling...), "throughput peaks at N = 9"},
		"two falling ones": {scale(t, ScalePoint{2, []float64{100}}, ScalePoint{4, []float64{90}}), "did not rise"},
		"two flat ones":    {scale(t, ScalePoint{2, []float64{100}}, ScalePoint{4, []float64{100.1}}), "rose so little"},
	} {
		if e, err := c.s.Nodes(1e5); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %+v, error %v, want one with %q", name, e, err, c.want)
		}
	}
	for _, p := range []ScalePoint{{0, []float64{1}}, {1, nil}, {1, []float64{0}}, {1, []float64{math.NaN()}}} {
		if _, err := NewScaling([]ScalePoint{p}, 1); err == nil {
			t.Errorf("%+v makes a scaling", p)
		}
	}
}

// Fits that must not be used say so.
func TestFitWarnings(t *testing.T) {
	three := func(n, x float64) ScalePoint { return ScalePoint{n, []float64{x * 0.99, x, x * 1.01}} }
	for want, points := range map[string][]ScalePoint{
		"hree parameters always fit three points": {three(1, 100), three(2, 190), three(4, 340)},
		"Measure a factor of":                     {three(4, 100), three(5, 120), three(6, 139), three(7, 155)},
		"falls and then rises again":              {three(1, 100), three(2, 190), three(4, 150), three(8, 400)},
		"off the curve":                           {three(1, 100), three(2, 300), three(4, 200), three(8, 900)},
		"measured once":                           {three(1, 100), three(2, 190), three(4, 340), {8, []float64{600}}},
	} {
		f, err := FitUSL(points, FitOptions{Seed: 1})
		if err != nil {
			t.Errorf("%s: %v", want, err)
		} else if got := strings.Join(f.Warnings, "; "); !strings.Contains(got, want) {
			t.Errorf("the warnings are %q, want one with %q", got, want)
		}
	}
	for want, points := range map[string][]ScalePoint{
		"cannot be fitted to 2 sizes": {three(1, 100), three(2, 190)},
		"not above 0":                 {three(1, 100), three(2, 190), {4, []float64{-1}}},
		"size of -1":                  {three(1, 100), three(2, 190), three(-1, 4)},
	} {
		if _, err := FitUSL(points, FitOptions{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one with %q", err, want)
		}
	}
	f, err := FitUSL([]ScalePoint{three(1, 90), three(4, 320), three(16, 1000), three(64, 1750)}, FitOptions{Seed: 3})
	if err != nil || len(f.Warnings) > 0 {
		t.Errorf("a good fit is doubted: %v %v", err, f.Warnings)
	}
	again, _ := FitUSL(f.Points, FitOptions{Seed: 3})
	if again.PeakRange != f.PeakRange || again.SigmaRange != f.SigmaRange {
		t.Error("the same seed gives other intervals")
	}
}
