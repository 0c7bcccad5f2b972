package record

import (
	"strings"
	"testing"
)

// A time that was not measured is a lower bound, unless it is a small part.
func TestEstimateIsALowerBound(t *testing.T) {
	for guessed, want := range map[float64]string{0: "about 5m", 10: "about 5m", 59: "about 5m", 61: "at least 5m", 300: "at least 5m"} {
		e := Estimate{Seconds: 300, Measuring: 300 - guessed, Loading: guessed, Guessed: guessed}
		if got := e.Text(); !strings.HasPrefix(got, want) {
			t.Errorf("%v of 300 s guessed: %q, want %q", guessed, got, want)
		}
	}
}
