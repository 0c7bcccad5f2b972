package figure

import (
	"math"
	"testing"
)

func TestValue(t *testing.T) {
	for _, c := range []struct {
		x          float64
		unit, want string
	}{
		{1.5e6, "ns", "1.50 ms"}, {0.0123, "share", "1.23 %"}, {12345.6, "1/s", "12,346/s"}, {12345.6, "", "12,300"},
	} {
		if got := Value(c.x, c.unit); got != c.want {
			t.Errorf("Value(%v, %q) = %q, want %q", c.x, c.unit, got, c.want)
		}
	}
}

func TestChange(t *testing.T) {
	for _, c := range []struct {
		ratio float64
		want  string
	}{
		{1, "0.00 %"}, {1.00004, "0.00 %"}, {1.0041, "+0.41 %"}, {0.9959, "-0.41 %"}, {1.032, "+3.2 %"}, {0.5, "-50.0 %"},
		{1.00995, "+0.99 %"}, {1.00996, "+1.0 %"}, {2.77, "+177 %"}, {1.9994, "+99.9 %"}, {1.9996, "+100 %"}, {9.99, "+899 %"},
		{10, "×10.0"}, {0.04, "×0.0400"}, {0, "×0"}, {math.NaN(), "-"}, {math.Inf(1), "-"}, {-1, "-"},
	} {
		if got := Change(c.ratio); got != c.want {
			t.Errorf("Change(%v) = %q, want %q", c.ratio, got, c.want)
		}
	}
}

func TestP(t *testing.T) {
	for p, want := range map[float64]string{0: "<0.001", 0.00099: "<0.001", 0.001: "0.001", 0.0499: "0.050", 1: "1.000"} {
		if got := P(p); got != want {
			t.Errorf("P(%v) = %q, want %q", p, got, want)
		}
	}
	if got := P(math.NaN()); got != "-" {
		t.Errorf("P of no number is %q", got)
	}
}
