package report

import (
	"math"
	"strconv"
	"time"

	"github.com/plimsoll-bench/plimsoll/internal/figure"
)

// Numbers are values for a script. What is no number is null, and no more digits are written than can be seen.
type Numbers []float64

func (n Numbers) MarshalJSON() ([]byte, error) {
	b := []byte{'['}
	for i, x := range n {
		if i > 0 {
			b = append(b, ',')
		}
		if math.IsNaN(x) || math.IsInf(x, 0) {
			b = append(b, "null"...)
			continue
		}
		if x == math.Trunc(x) && math.Abs(x) < 1e6 {
			b = strconv.AppendInt(b, int64(x), 10)
			continue
		}
		b = strconv.AppendFloat(b, x, 'g', 5, 64)
	}
	return append(b, ']'), nil
}

// or is the value of a pointer, or not a number.
func or[T int64 | float64](p *T) float64 {
	if p == nil {
		return math.NaN()
	}
	return float64(*p)
}

// known is the value of a pointer in words, "-" for nil.
func known[T any](p *T, write func(T) string) string {
	if p == nil {
		return "-"
	}
	return write(*p)
}

func yesNo(yes bool) string { return map[bool]string{true: "yes", false: "no"}[yes] }

// bytesOr is a size, or other words for 0.
func bytesOr(n int64, none string) string {
	if n == 0 {
		return none
	}
	return figure.Bytes(n)
}

func text(x float64, unit string) string {
	switch {
	case math.IsNaN(x) || math.IsInf(x, 0):
		return "-"
	case unit == "B":
		return figure.Bytes(int64(x))
	case unit == "B/s":
		return figure.Bytes(int64(x)) + "/s"
	case unit == "cores":
		return figure.Significant(x) + " cores"
	case unit == "1/s":
		return figure.Rate(x)
	}
	return figure.Value(x, unit)
}

// duration is a time in nanoseconds, "-" if it is not a number.
func duration[T ~int64 | float64](ns T) string {
	if math.IsNaN(float64(ns)) {
		return "-"
	}
	return figure.Duration(time.Duration(ns))
}

// durationOr is a time in nanoseconds, or other words for a negative one.
func durationOr(ns int64, none string) string {
	if ns < 0 {
		return none
	}
	return duration(ns)
}

func seconds(s float64) string { return duration(s * 1e9) }
