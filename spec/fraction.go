package spec

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v4"
)

// Fraction is a positive part of one (or a multiple) that may be written as a quotient: 1/128, 0.25 or 2.
type Fraction float64

// parseFraction reads "1/128", "0.25" or "2".
func parseFraction(text string) (Fraction, error) {
	over, under, quotient := strings.Cut(strings.TrimSpace(text), "/")
	x, err := strconv.ParseFloat(strings.TrimSpace(over), 64)
	if err == nil && quotient {
		var y float64
		y, err = strconv.ParseFloat(strings.TrimSpace(under), 64)
		x /= y
	}
	if err != nil || math.IsNaN(x) || math.IsInf(x, 0) || x <= 0 {
		return 0, fmt.Errorf("%q is not a fraction above zero: write it like 1/128 or 0.25", text)
	}
	return Fraction(x), nil
}

// Or1 is the fraction, or 1 where none was given.
func (f Fraction) Or1() float64 {
	if f == 0 {
		return 1
	}
	return float64(f)
}

// String writes 1/128 where it is that, and the number otherwise.
func (f Fraction) String() string {
	if f > 0 && f < 1 {
		if under := math.Round(1 / float64(f)); math.Abs(under*float64(f)-1) < 1e-9 {
			return fmt.Sprintf("1/%.0f", under)
		}
	}
	return strconv.FormatFloat(float64(f), 'g', -1, 64)
}

// MarshalJSON writes the number.
func (f Fraction) MarshalJSON() ([]byte, error) {
	return []byte(strconv.FormatFloat(float64(f), 'g', -1, 64)), nil
}

// UnmarshalJSON reads a number or a text in the form of [parseFraction].
func (f *Fraction) UnmarshalJSON(b []byte) error { return unquoted(b, f, parseFraction) }

// UnmarshalYAML reads the form of [parseFraction].
func (f *Fraction) UnmarshalYAML(n *yaml.Node) error { return scalar(n, f, parseFraction) }
