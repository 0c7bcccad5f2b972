// Package figure writes numbers for people: durations, rates, counts, shares and sizes, with three significant
// digits and their unit. The terminal, the report and the live page all use it, so that the same number reads
// the same everywhere. It knows nothing of what is measured.
package figure

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// Duration prints a time with three Significant digits in the unit that fits: ns, µs, ms or s.
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

// Significant prints x with three Significant digits and without exponent.
func Significant(x float64) string {
	if x == 0 || math.IsNaN(x) || math.IsInf(x, 0) {
		return strconv.FormatFloat(x, 'f', -1, 64)
	}
	// Rounding first: 99.95 has one digit more before the point than its logarithm says.
	x, _ = strconv.ParseFloat(threeDigits(x), 64)
	digits := 2 - int(math.Floor(math.Log10(math.Abs(x))))
	if digits <= 0 {
		return groupDigits(strconv.FormatFloat(math.Round(x), 'f', 0, 64))
	}
	return strconv.FormatFloat(x, 'f', digits, 64)
}

// Count prints a whole number with separators between groups of three digits.
func Count(n int64) string { return groupDigits(strconv.FormatInt(n, 10)) }

// Rate prints a rate per second: whole numbers from 100 on, three digits below.
func Rate(x float64) string {
	if math.Abs(x) >= 100 {
		return groupDigits(strconv.FormatFloat(math.Round(x), 'f', 0, 64))
	}
	return Significant(x)
}

// Percent prints a share of one as a percentage.
func Percent(share float64) string {
	switch {
	case share > 0.9995 && share < 1:
		return "99.9+ %"
	case share != 0 && math.Abs(share) < 0.0001:
		return "<0.01 %"
	}
	return Significant(share*100) + " %"
}

// Bytes prints a size in binary units.
func Bytes(n int64) string {
	units := []string{"B", "KiB", "MiB", "GiB", "TiB", "PiB"}
	x, u := float64(n), 0
	for math.Abs(x) >= 1024 && u < len(units)-1 {
		x, u = x/1024, u+1
	}
	return Significant(x) + " " + units[u]
}

// Plural prints a number of things.
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

// threeDigits rounds x to three significant digits, in scientific notation. Exact ties go away from zero, as they
// do in the scripts of a page; strconv would take the even digit, and the same number would read differently.
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
