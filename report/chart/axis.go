package chart

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/plimsoll-bench/plimsoll/internal/figure"
)

// The units of axes.
const (
	Nanoseconds = "ns"    // ticks like "10 ms"
	PerSecond   = "1/s"   // ticks like "12k"
	Share       = "share" // of one; ticks like "40 %"
	Seconds     = "s"     // since the start; ticks like "1:30 min"
	Bytes       = "B"     // ticks like "4 MiB"
	BytesPerSec = "B/s"
)

// Axis is one axis of a chart.
type Axis struct {
	// Label says what is on the axis, with the unit where the ticks do not have it.
	Label string
	Unit  string
	Log   bool
	// Zero makes a linear axis begin at zero.
	Zero bool
	// Low and High are the ends where they are given; otherwise they follow from the values.
	Low, High float64
	// Ticks replace those that follow from the ends.
	Ticks []Tick
}

// Tick is a mark on an axis.
type Tick struct {
	At   float64
	Text string
}

// scale places values on an axis that runs from a to b in pixels.
type scale struct {
	axis      Axis
	low, high float64
	a, b      float64
}

// newScale finds the ends of an axis for values. Values that cannot be drawn do not count.
func newScale(x Axis, a, b float64, values ...[]float64) scale {
	s := scale{axis: x, a: a, b: b, low: math.Inf(1), high: math.Inf(-1)}
	for _, list := range values {
		for _, v := range list {
			if s.drawable(v) {
				s.low, s.high = min(s.low, v), max(s.high, v)
			}
		}
	}
	if s.low > s.high {
		s.low, s.high = 0, 1
		if x.Log {
			s.low = 0.1
		}
	}
	s.widen()
	if x.Low != 0 || x.High != 0 {
		if !x.Log || x.Low > 0 {
			s.low = x.Low
		}
		s.high = x.High
	}
	if !(s.high > s.low) {
		s.high = s.low + 1
	}
	return s
}

func (s *scale) widen() {
	if s.axis.Log {
		if s.high/s.low < 2 {
			s.low, s.high = s.low/1.5, s.high*1.5
		}
		s.low, s.high = s.low/1.1, s.high*1.15
		return
	}
	if s.axis.Zero {
		s.low, s.high = min(0, s.low), max(0, s.high)
	}
	span := s.high - s.low
	if span == 0 {
		span = max(math.Abs(s.high), 1)
		s.high = s.low + span
	}
	if s.high > 0 || !s.axis.Zero {
		s.high += 0.06 * span
	}
	if s.low != 0 && s.axis.Unit != Seconds {
		s.low -= 0.06 * span
	}
}

func (s scale) drawable(v float64) bool {
	return !math.IsNaN(v) && !math.IsInf(v, 0) && (!s.axis.Log || v > 0)
}

// at returns the pixel of a value, which may lie outside of the axis.
func (s scale) at(v float64) float64 {
	low, high := s.low, s.high
	if s.axis.Log {
		low, high, v = math.Log(low), math.Log(high), math.Log(v)
	}
	return s.a + (v-low)/(high-low)*(s.b-s.a)
}

func (s scale) clamp(p float64) float64 { return max(min(s.a, s.b), min(p, max(s.a, s.b))) }

func (s scale) in(v float64) bool {
	return s.drawable(v) && v >= s.low-1e-12*math.Abs(s.low) && v <= s.high+1e-12*math.Abs(s.high)
}

// ticks returns at most about n marks at round values.
func (s scale) ticks(n int) []Tick {
	if s.axis.Ticks != nil {
		return slices.DeleteFunc(slices.Clone(s.axis.Ticks), func(t Tick) bool { return !s.in(t.At) })
	}
	var at []float64
	switch {
	case s.axis.Log:
		at = s.logTicks(n)
	case s.axis.Unit == Seconds:
		at = s.linear(timeStep((s.high - s.low) / float64(n)))
	case s.axis.Unit == Bytes || s.axis.Unit == BytesPerSec:
		at = s.linear(binaryStep((s.high - s.low) / float64(n)))
	default:
		at = s.linear(roundStep((s.high - s.low) / float64(n)))
	}
	step := 0.0
	if len(at) > 1 {
		step = at[1] - at[0]
	}
	list := make([]Tick, len(at))
	for i, v := range at {
		list[i] = Tick{v, TickText(v, step, s.axis.Unit)}
	}
	return list
}

func (s scale) linear(step float64) (at []float64) {
	if !(step > 0) || math.IsInf(step, 0) {
		return nil
	}
	for i := math.Ceil(s.low/step - 1e-9); i*step <= s.high+1e-9*step && len(at) < 50; i++ {
		at = append(at, i*step)
	}
	return at
}

// logTicks takes powers of ten, or 1, 2 and 5 of each where there are few.
func (s scale) logTicks(n int) (at []float64) {
	decades := math.Log10(s.high / s.low)
	factors := []float64{1}
	every := math.Ceil(decades / float64(max(n, 1)))
	if decades < 3 {
		factors = []float64{1, 2, 5}
	}
	if decades < 0.7 {
		factors = []float64{1, 1.2, 1.5, 2, 3, 4, 5, 6, 8}
	}
	for e := math.Floor(math.Log10(s.low)); e <= math.Ceil(math.Log10(s.high)); e++ {
		if math.Mod(e, max(every, 1)) != 0 && len(factors) == 1 {
			continue
		}
		for _, f := range factors {
			if v := f * math.Pow(10, e); s.in(v) {
				at = append(at, v)
			}
		}
	}
	return at
}

// roundStep is the next of 1, 2, 5 times a power of ten.
func roundStep(x float64) float64 {
	if !(x > 0) {
		return 1
	}
	p := math.Pow(10, math.Floor(math.Log10(x)))
	for _, f := range []float64{1, 2, 5} {
		if f*p >= x {
			return f * p
		}
	}
	return 10 * p
}

func binaryStep(x float64) float64 {
	unit := 1.0
	for x/unit >= 512 && unit < 1<<50 {
		unit *= 1024
	}
	return roundStep(x/unit) * unit
}

// timeStep is the next length of time, in seconds, that people count with.
func timeStep(x float64) float64 {
	for _, s := range []float64{0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600,
		43200} {
		if s >= x {
			return s
		}
	}
	return math.Ceil(x/86400) * 86400
}

// TickText prints a value of an axis; step is the distance to its neighbour on a linear axis, 0 otherwise.
func TickText(v, step float64, unit string) string {
	if math.Abs(v) < 1e-9*step {
		v = 0
	}
	switch unit {
	case Nanoseconds:
		return figureTrim(figure.Duration(time.Duration(math.Round(v))))
	case Seconds:
		return clock(v, step)
	case Share:
		return strconv.FormatFloat(roundTo(v*100, step*100), 'f', -1, 64) + " %"
	case Bytes:
		return figureTrim(figure.Bytes(int64(math.Round(v))))
	case BytesPerSec:
		return figureTrim(figure.Bytes(int64(math.Round(v)))) + "/s"
	}
	return thousands(roundTo(v, step))
}

// roundTo takes off what floating point added beyond the precision of the step.
func roundTo(v, step float64) float64 {
	if step <= 0 {
		r, _ := strconv.ParseFloat(strconv.FormatFloat(v, 'g', 3, 64), 64)
		return r
	}
	digits := max(0, int(math.Ceil(-math.Log10(step)))+1)
	if digits > 12 {
		return v
	}
	p := math.Pow(10, float64(digits))
	return math.Round(v*p) / p
}

// thousands writes 12,000 as "12k".
func thousands(v float64) string {
	for _, m := range []struct {
		by   float64
		unit string
	}{{1e9, "G"}, {1e6, "M"}, {1e3, "k"}} {
		if math.Abs(v) >= m.by {
			return strconv.FormatFloat(math.Round(v/m.by*1e4)/1e4, 'f', -1, 64) + m.unit
		}
	}
	return strconv.FormatFloat(v, 'f', -1, 64)
}

// figureTrim turns "10.0 ms" into "10 ms": ticks are round.
func figureTrim(s string) string {
	n, unit, ok := strings.Cut(s, " ")
	if !ok || !strings.Contains(n, ".") {
		return s
	}
	return strings.TrimRight(strings.TrimRight(n, "0"), ".") + " " + unit
}

// clock writes seconds as people write times: 30 s, 1:30 min, 2:00 h.
func clock(v, step float64) string {
	if v < 0 {
		return "-" + clock(-v, step)
	}
	if v < 60 && step < 60 || v == 0 {
		return strconv.FormatFloat(roundTo(v, min(max(step, 0.001), 1)), 'f', -1, 64) + " s"
	}
	total := int64(math.Round(v))
	switch hours, minutes, seconds := total/3600, total/60%60, total%60; {
	case hours == 0:
		return fmt.Sprintf("%d:%02d min", minutes, seconds)
	case seconds != 0:
		return fmt.Sprintf("%d:%02d:%02d h", hours, minutes, seconds)
	default:
		return fmt.Sprintf("%d:%02d h", hours, minutes)
	}
}
