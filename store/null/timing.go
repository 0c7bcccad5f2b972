package null

import (
	"math"
	"time"
)

// A ServiceTime gives the programmed service time of operation number n (counted from 0 over all
// connections). It must be safe for concurrent use; the ones below compute it from n alone, so the
// same seed gives the same times.
type ServiceTime func(n uint64) time.Duration

// Constant answers every operation after d.
func Constant(d time.Duration) ServiceTime { return func(uint64) time.Duration { return d } }

// Exponential gives exponentially distributed times with the given mean: −mean·ln(1−u) for a uniform
// u in [0, 1).
func Exponential(seed uint64, mean time.Duration) ServiceTime {
	return func(n uint64) time.Duration {
		return time.Duration(-float64(mean) * math.Log1p(-uniform(seed, n)))
	}
}

// Bimodal answers after slow with probability p and otherwise after fast.
func Bimodal(seed uint64, fast, slow time.Duration, p float64) ServiceTime {
	return func(n uint64) time.Duration {
		if uniform(seed, n) < p {
			return slow
		}
		return fast
	}
}

// uniform returns a number in [0, 1) that depends on seed and n only. It is the finaliser of
// splitmix64 (Steele, Lea and Flood 2014) over a Weyl sequence, its upper 53 bits as a fraction.
func uniform(seed, n uint64) float64 {
	z := seed + (n+1)*0x9e3779b97f4a7c15
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return float64((z^z>>31)>>11) / (1 << 53)
}

// A Window is a span of time since the first operation, From included and To not.
type Window struct {
	From, To time.Duration
}

// postpone moves a moment that falls into the window to its end.
func (w Window) postpone(at time.Duration) time.Duration {
	if at >= w.From && at < w.To {
		return w.To
	}
	return at
}

// spin polls the clock until the given moment.
func spin(at time.Time) {
	for time.Now().Before(at) {
	}
}
