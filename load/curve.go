package load

import (
	"math"
	"time"
)

// curve is the cumulative rate Λ(t) = ∫₀ᵗ λ(u) du of an open loop: the number of operations that are due until t.
//
// λ is piecewise linear. In a segment that begins at t_k with rate r₀, ends d seconds later with rate
// r₁, and has Λ_k operations before it, with τ = t − t_k and slope g = (r₁−r₀)/d:
//
//	Λ(t) = Λ_k + r₀·τ + g·τ²/2
//
// Operation i is due when Λ reaches its arrival number A_i (i itself for constant arrivals, the sum of
// i+1 unit exponentials for a Poisson process, whose intensity is then λ: time change theorem). With
// Δ = A_i − Λ_k the positive root of g/2·τ² + r₀·τ − Δ = 0 is
//
//	τ = (−r₀ + √(r₀² + 2gΔ))/g = 2Δ/(r₀ + √(r₀² + 2gΔ))
//
// The second form needs no case for g = 0 (then τ = Δ/r₀), and does not cancel for small g.
type curve struct {
	segments []segment // the last one has no end
}

type segment struct {
	start float64 // seconds since the start of the run
	rate  float64 // at its start
	slope float64 // change of the rate per second
	area  float64 // operations before it
}

// newCurve makes the curve of a run: the start rate during the warm-up, then the stages, then the last target without
// end.
func newCurve(cfg Config) curve {
	var c curve
	rate, at, area := cfg.startRate(), 0.0, 0.0
	add := func(from, to float64, d time.Duration) {
		if s := d.Seconds(); s > 0 {
			c.segments = append(c.segments, segment{start: at, rate: from, slope: (to - from) / s, area: area})
			at += s
			area += (from + to) / 2 * s
		}
	}
	add(rate, rate, cfg.Warmup)
	for _, s := range cfg.Stages {
		if s.Step {
			rate = s.Rate
		}
		add(rate, s.Rate, s.Duration)
		rate = s.Rate
	}
	c.segments = append(c.segments, segment{start: at, rate: rate, area: area})
	return c
}

// never is the due time of an operation that is never due.
const never = math.MaxInt64

// due returns when arrival number a is due, in nanoseconds: the first time after which Λ exceeds a. k is the index of
// the first segment to check, and in that of a; arrival numbers only grow.
func (c curve) due(a float64, k int) (ns int64, in int) {
	for k+1 < len(c.segments) && a >= c.segments[k+1].area {
		k++
	}
	s := c.segments[k]
	delta := max(0, a-s.area)
	root := s.rate + math.Sqrt(max(0, s.rate*s.rate+2*s.slope*delta))
	if root == 0 { // at rest; a ramp from 0 starts with its first operation
		if s.slope > 0 {
			return toNanos(s.start), k
		}
		return never, k
	}
	return toNanos(s.start + 2*delta/root), k
}

func toNanos(seconds float64) int64 {
	ns := math.Round(seconds * 1e9)
	if ns >= math.MaxInt64 {
		return never
	}
	return int64(ns)
}
