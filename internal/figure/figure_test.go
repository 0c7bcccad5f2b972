package figure

import (
	"math"
	"testing"
)

func TestSignificantRoundsTiesAwayFromZero(t *testing.T) {
	for _, c := range []struct {
		x    float64
		want string
	}{
		{73.25, "73.3"}, {-73.25, "-73.3"}, {73.24, "73.2"}, {1.005, "1.00"}, {2.5, "2.50"}, {1234.5, "1,230"},
		{99.95, "100"}, {0.12345, "0.123"}, {0, "0"}, {math.Inf(1), "+Inf"},
	} {
		if got := Significant(c.x); got != c.want {
			t.Errorf("Significant(%v) = %q, want %q", c.x, got, c.want)
		}
	}
}

func TestRateRoundsTiesAwayFromZero(t *testing.T) {
	if got := Rate(1234.5); got != "1,235" {
		t.Errorf("Rate(1234.5) = %q", got)
	}
}
