package ycsbtext

import (
	"math"
	"strconv"
	"strings"
)

// formatDouble formats v like Java's Double.toString since Java 19: the shortest digits that read back as v. Older
// versions print one more digit for about one value in a thousand. Between 1e-3 and 1e7 the notation is plain with at
// least one digit after the point, otherwise scientific with a bare exponent: 1.2E7, 5.0E-5.
func formatDouble(v float64) string {
	switch {
	case math.IsNaN(v):
		return "NaN"
	case math.IsInf(v, 1):
		return "Infinity"
	case math.IsInf(v, -1):
		return "-Infinity"
	}
	if a := math.Abs(v); a == 0 || (a >= 1e-3 && a < 1e7) {
		return withPoint(strconv.FormatFloat(v, 'f', -1, 64))
	}
	s := strconv.FormatFloat(v, 'e', -1, 64)
	if !strings.Contains(s, ".") {
		// Java prints at least the two closest digits, which may not end in zero for a subnormal number: 4.9E-324.
		s = strconv.FormatFloat(v, 'e', 1, 64)
	}
	digits, exponent, _ := strings.Cut(s, "e")
	return digits + "E" + bareExponent(exponent)
}

// withPoint adds Java's ".0" to whole numbers.
func withPoint(s string) string {
	if strings.Contains(s, ".") {
		return s
	}
	return s + ".0"
}

// bareExponent turns "+07" into "7" and "-05" into "-5".
func bareExponent(s string) string {
	sign := ""
	if s[0] == '-' {
		sign = "-"
	}
	return sign + strings.TrimLeft(s[1:], "0")
}

// formatDecimal formats v like Java's DecimalFormat("#.##") in the locale of the United States: at most two decimals,
// rounded half to even on the exact binary value, no trailing zeros, no grouping. Not a number is U+FFFD as in Java 8,
// which made most existing YCSB logs.
func formatDecimal(v float64) string {
	switch {
	case math.IsNaN(v):
		return "\ufffd"
	case math.IsInf(v, 1):
		return "∞"
	case math.IsInf(v, -1):
		return "-∞"
	}
	// DecimalFormat uses the shortest decimal form of v, so further digits are zeros.
	s := strconv.FormatFloat(v, 'f', 2, 64)
	if math.Abs(v) >= 1<<53 {
		s = strconv.FormatFloat(v, 'f', -1, 64)
	}
	if strings.Contains(s, ".") {
		s = strings.TrimRight(strings.TrimRight(s, "0"), ".")
	}
	return s
}

// truncate converts a double to a long like a Java cast: NaN is 0, and values out of range become the nearest long.
func truncate(v float64) int64 {
	switch {
	case math.IsNaN(v):
		return 0
	case v >= math.MaxInt64:
		return math.MaxInt64
	case v <= math.MinInt64:
		return math.MinInt64
	}
	return int64(v)
}
