package simulatedtest

import (
	"math"
	"slices"
)

// strata are the upper ends of the shares of operations with the same response time, fine around the usual percentiles.
// An operation gets the time at the upper end of its stratum, so these percentiles are exact.
var strata = func() []float64 {
	var ends []float64
	add := func(from, to float64, n int) {
		for i := range n {
			ends = append(ends, from+(to-from)*float64(i+1)/float64(n))
		}
	}
	add(0, 0.9, 9)
	add(0.9, 0.95, 1)
	add(0.95, 0.98, 3)
	add(0.98, 0.99, 8)
	add(0.99, 0.996, 5)
	add(0.996, 0.999, 3)
	add(0.999, 0.9999, 1)
	add(0.9999, 0.999999, 1)
	return ends
}()

// table is a distribution of times: one per stratum, as multiples of something.
type table []float64

// logNormal is the table of a log-normal distribution of mean one.
func logNormal(sigma float64) table {
	t := make(table, len(strata))
	for i, q := range strata {
		t[i] = math.Exp(sigma * math.Sqrt2 * math.Erfinv(2*q-1))
	}
	m := t.mean()
	for i := range t {
		t[i] /= m
	}
	return t
}

// mean is that of operations spread over the strata.
func (t table) mean() float64 {
	sum, last := 0.0, 0.0
	for i, q := range strata {
		sum += t[i] * (q - last)
		last = q
	}
	return sum / last
}

// queue is an M/M/c queue in its steady state.
type queue struct {
	mu    float64 // operations per second of one server
	theta float64 // rate at which the waiting time of those who wait decays: cµ − λ
	wait  float64 // probability of having to wait (Erlang C)
}

// newQueue computes the queue of c servers with a mean service time in seconds at an arrival rate below c/service.
// The probability of waiting comes from Erlang's B by its recursion: B(0) = 1, B(k) = aB(k−1)/(k + aB(k−1)) with
// a = λ/µ, and C = B/(1 − ρ(1−B)).
func newQueue(c int, service, rate float64) queue {
	mu := 1 / service
	a, b := rate/mu, 1.0
	for k := 1; k <= c; k++ {
		b = a * b / (float64(k) + a*b)
	}
	rho := a / float64(c)
	return queue{mu: mu, theta: float64(c)*mu - rate, wait: b / (1 - rho*(1-b))}
}

// above is the probability that service and waiting together take longer than t seconds. Those who wait do so for
// an exponential time with the rate θ; the sum with the service time has the tail (θe^{−µt} − µe^{−θt})/(θ − µ).
func (q queue) above(t float64) float64 {
	served := math.Exp(-q.mu * t)
	both := served * (1 + q.mu*t) // where the rates agree
	if d := q.theta - q.mu; math.Abs(d) > 1e-9*q.mu {
		both = (q.theta*served - q.mu*math.Exp(-q.theta*t)) / d
	}
	return (1-q.wait)*served + q.wait*both
}

// quantile is the response time in seconds below which the share p of operations lies.
func (q queue) quantile(p float64) float64 {
	low, high := 0.0, 1/q.mu
	for q.above(high) > 1-p {
		low, high = high, high*2
	}
	for range 40 {
		if mid := (low + high) / 2; q.above(mid) > 1-p {
			low = mid
		} else {
			high = mid
		}
	}
	return high
}

// table is the distribution of response times in seconds.
func (q queue) table() table {
	t := make(table, len(strata))
	for i, p := range strata {
		t[i] = q.quantile(p)
	}
	return t
}

// spread gives each stratum its number of n operations. The same n always falls the same way.
func spread(n int64, to []int64) []int64 {
	to = slices.Grow(to[:0], len(strata))
	var done int64
	for i, q := range strata {
		upto := int64(math.Ceil(q*float64(n) - 1e-6))
		if i == len(strata)-1 {
			upto = n
		}
		to = append(to, upto-done)
		done = upto
	}
	return to
}
