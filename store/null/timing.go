package null

import (
	"math"
	"time"
)

// A ServiceTime returns the service time of operation n, counted from 0 over all connections. It must be safe for
// concurrent use. Those of this package depend on n and a seed only.
type ServiceTime func(n uint64) time.Duration

// Constant is d for every operation.
func Constant(d time.Duration) ServiceTime { return func(uint64) time.Duration { return d } }

// Exponential has exponentially distributed times with the given mean: −mean·ln(1−u) for a uniform u in [0, 1).
func Exponential(seed uint64, mean time.Duration) ServiceTime {
	return func(n uint64) time.Duration {
		return time.Duration(-float64(mean) * math.Log1p(-uniform(seed, n)))
	}
}

// uniform returns a number in [0, 1): the finaliser of splitmix64 (Steele, Lea and Flood 2014) over a Weyl sequence,
// its upper 53 bits as a fraction.
func uniform(seed, n uint64) float64 {
	z := seed + (n+1)*0x9e3779b97f4a7c15
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return float64((z^z>>31)>>11) / (1 << 53)
}

// A Window is the time from From to before To, counted from the first operation.
type Window struct {
	From, To time.Duration
}

// postpone returns the end of the window for a time in it.
func (w Window) postpone(at time.Duration) time.Duration {
	if at >= w.From && at < w.To {
		return w.To
	}
	return at
}
