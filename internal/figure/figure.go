// Package figure formats numbers for people: durations, rates, counts, shares and sizes, with three significant digits
// and their unit. The terminal, the report and the live page use it, so that a number is the same everywhere.
package figure

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// Duration formats a time with three significant digits in ns, µs, ms or s.
func Duration(d time.Duration) string {
	switch abs := d.Abs(); {
	case d == 0:
		return "0"
	case abs < time.Microsecond:
		return fmt.Sprintf("%d ns", d.Nanoseconds())
	case abs < time.Millisecond-500*time.Nanosecond:
		return Significant(float64(d)/1e3) + " µs"
	case abs < time.Second-500*time.Microsecond:
		return Significant(float64(d)/1e6) + " ms"
	case abs < 10*time.Minute:
		return Significant(float64(d)/1e9) + " s"
	}
	return d.Round(time.Second).String()
}

// Significant formats x with three significant digits and without exponent.
func Significant(x float64) string {
	if x == 0 || math.IsNaN(x) || math.IsInf(x, 0) {
		return strconv.FormatFloat(x, 'f', -1, 64)
	}
	// Rounding first, because 99.95 has one more digit before the point after it.
	x, _ = strconv.ParseFloat(threeDigits(x), 64)
	digits := 2 - int(math.Floor(math.Log10(math.Abs(x))))
	if digits <= 0 {
		return groupDigits(strconv.FormatFloat(math.Round(x), 'f', 0, 64))
	}
	return strconv.FormatFloat(x, 'f', digits, 64)
}

// Count formats an integer with separators between groups of three digits.
func Count(n int64) string { return groupDigits(strconv.FormatInt(n, 10)) }

// Rate formats a rate per second: integers from 100, three digits below.
func Rate(x float64) string {
	if math.Abs(x) >= 100 {
		return groupDigits(strconv.FormatFloat(math.Round(x), 'f', 0, 64))
	}
	return Significant(x)
}

// Percent formats a share of one as a percentage.
func Percent(share float64) string {
	switch {
	case share > 0.9995 && share < 1:
		return "99.9+ %"
	case share != 0 && math.Abs(share) < 0.0001:
		return "<0.01 %"
	}
	return Significant(share*100) + " %"
}

// Limit formats a share of one that a person chose, such as a margin: "5 %" and not "5.00 %".
func Limit(share float64) string { return strconv.FormatFloat(share*100, 'g', 3, 64) + " %" }

// Bytes formats a size in binary units.
func Bytes(n int64) string {
	units := []string{"B", "KiB", "MiB", "GiB", "TiB", "PiB"}
	x, u := float64(n), 0
	for math.Abs(x) >= 1024 && u < len(units)-1 {
		x, u = x/1024, u+1
	}
	return Significant(x) + " " + units[u]
}

// Plural formats a number of things: "1 run", "2 runs".
func Plural(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return Count(int64(n)) + " " + thing + "s"
}

func groupDigits(s string) string {
	sign := ""
	if strings.HasPrefix(s, "-") {
		sign, s = "-", s[1:]
	}
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return sign + s
}

// threeDigits rounds x to three significant digits, in scientific notation. Exact ties are rounded away from zero like
// in the scripts of a page; strconv rounds them to the even digit.
func threeDigits(x float64) string {
	text := strconv.FormatFloat(x, 'e', 2, 64)
	away := strconv.FormatFloat(math.Nextafter(x, math.Inf(int(math.Copysign(1, x)))), 'e', 2, 64)
	if text == away {
		return text
	}
	// No float64 has more than 767 significant digits, so this is its exact value.
	mantissa, _, _ := strings.Cut(strconv.FormatFloat(x, 'e', 800, 64), "e")
	_, decimals, _ := strings.Cut(mantissa, ".")
	if decimals[2] == '5' && strings.Trim(decimals[3:], "0") == "" {
		return away
	}
	return text
}
