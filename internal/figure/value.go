package figure

import (
	"math"
	"strconv"
	"time"
)

// Value formats a figure by its unit: "ns" is a time, "share" a share of one, "1/s" a rate.
func Value(x float64, unit string) string {
	switch unit {
	case "ns":
		return Duration(time.Duration(x))
	case "share":
		return Percent(x)
	case "1/s":
		return Rate(x) + "/s"
	}
	return Significant(x)
}

// Change formats a ratio as a change: "+3.2 %" for 1.032, "-50.0 %" for 0.5. From a factor of ten, up or down, it is
// the factor, because percentages are hard to read then: "×25.0". A ratio that is not a number is "-".
func Change(ratio float64) string {
	change := (ratio - 1) * 100
	switch {
	case math.IsNaN(ratio) || math.IsInf(ratio, 0) || ratio < 0:
		return "-"
	case Large(ratio):
		return Factor(ratio)
	case math.Abs(change) < 0.005:
		return "0.00 %"
	case math.Abs(change) < 0.995:
		return signed(change, 2) + " %"
	case math.Abs(change) < 99.95:
		return signed(change, 1) + " %"
	}
	return signed(change, 0) + " %"
}

// Large reports whether a ratio is easier to read as a factor than as a percentage.
func Large(ratio float64) bool { return ratio >= 10 || ratio <= 0.1 }

// Factor formats a ratio: "×1.03".
func Factor(ratio float64) string { return "×" + Significant(ratio) }

func signed(x float64, digits int) string {
	s := strconv.FormatFloat(x, 'f', digits, 64)
	if x > 0 {
		s = "+" + s
	}
	return s
}

// P formats the p-value of a test.
func P(p float64) string {
	switch {
	case math.IsNaN(p):
		return "-"
	case p < 0.001:
		return "<0.001"
	}
	return strconv.FormatFloat(p, 'f', 3, 64)
}
