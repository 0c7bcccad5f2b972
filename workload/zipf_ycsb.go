package workload

import "math"

// YCSB's constants of the scrambled zipfian: the inner distribution always runs over 10^10 items, for
// which zeta was computed once.
const (
	ycsbTheta     = 0.99
	ycsbItemCount = 10_000_000_000
	ycsbZetaN     = 26.46902820178302
)

// ycsbZipf is YCSB's zipfian generator, the approximation of Gray et al., "Quickly generating
// billion-record synthetic databases" (SIGMOD 1994). It differs from a true zipfian (see [zipf]) and
// is kept as it is, including a quirk of growing: eta goes on using the number of items that the
// generator was made with.
type ycsbZipf struct {
	base    int64
	items   int64 // number of items when made
	counted int64 // number of items in zetaN
	zetaN   float64
	eta     float64
	alpha   float64 // 1/(1−θ)
	second  float64 // 1 + 0.5^θ: below it, the second item is drawn
}

// newYCSBZipf draws from [lo, hi] with YCSB's theta of 0.99.
func newYCSBZipf(lo, hi int64) ycsbZipf {
	n := hi - lo + 1
	return newYCSBZipfZeta(lo, hi, powerSum(1, n, ycsbTheta))
}

func newYCSBZipfZeta(lo, hi int64, zetaN float64) ycsbZipf {
	theta := ycsbTheta // a variable: 1−θ must be rounded as doubles are, not computed exactly
	z := ycsbZipf{
		base: lo, items: hi - lo + 1, counted: hi - lo + 1, zetaN: zetaN,
		alpha: 1 / (1 - theta), second: 1 + math.Pow(0.5, theta),
	}
	z.eta = z.etaNow()
	return z
}

// etaNow is (1 − (2/items)^(1−θ)) / (1 − ζ(2)/ζ(n)).
func (z *ycsbZipf) etaNow() float64 {
	theta := ycsbTheta
	zeta2 := z.second
	return (1 - math.Pow(2/float64(z.items), 1-theta)) / (1 - zeta2/z.zetaN)
}

// next draws with the number of items the generator was made with.
func (z *ycsbZipf) next(r *random) int64 { return z.nextOf(z.items, r) }

// nextOf draws with n items. A number larger than any before extends zeta; a smaller one does not
// shrink it.
func (z *ycsbZipf) nextOf(n int64, r *random) int64 {
	if n > z.counted {
		z.zetaN += powerSum(z.counted+1, n, ycsbTheta)
		z.counted = n
		z.eta = z.etaNow()
	}
	u := r.float()
	uz := u * z.zetaN
	if uz < 1 {
		return z.base
	}
	if uz < z.second {
		return z.base + 1
	}
	// The power of YCSB's formula, written so that it takes half the time.
	power := math.Exp(z.alpha * math.Log(z.eta*u-z.eta+1))
	return z.base + javaLong(float64(n)*power)
}

// ycsbScrambled is YCSB's requestdistribution=zipfian: a zipfian over 10^10 items, hashed and reduced
// to the key range. Its skew is therefore nearly the same for any number of records: the hottest key
// always gets 1/26.469 = 3.78 % of the requests.
type ycsbScrambled struct {
	zipf ycsbZipf
	min  int64
	n    int64
}

// newYCSBScrambled draws from [lo, hi].
func newYCSBScrambled(lo, hi int64) *ycsbScrambled {
	return &ycsbScrambled{zipf: newYCSBZipfZeta(0, ycsbItemCount, ycsbZetaN), min: lo, n: hi - lo + 1}
}

func (s *ycsbScrambled) next(r *random) int64 {
	return s.min + hashKey(s.zipf.next(r))%s.n
}

// ycsbLatest is YCSB's requestdistribution=latest: the newest acknowledged key is the most likely one.
// Key 0 is never drawn. Every stream grows a zeta of its own, so no lock is shared.
type ycsbLatest struct {
	zipf ycsbZipf
	last func() int64
}

func newYCSBLatest(last func() int64) *ycsbLatest {
	return &ycsbLatest{zipf: newYCSBZipf(0, last()-1), last: last}
}

func (l *ycsbLatest) next(r *random) int64 {
	newest := l.last()
	return newest - l.zipf.nextOf(newest, r)
}

// javaLong converts as Java's (long) does: NaN is 0, values out of range are the nearest long.
func javaLong(f float64) int64 {
	switch {
	case f != f:
		return 0
	case f >= math.MaxInt64:
		return math.MaxInt64
	case f <= math.MinInt64:
		return math.MinInt64
	}
	return int64(f)
}

// javaInt converts as Java's (int) does.
func javaInt(f float64) int64 {
	return min(max(javaLong(f), math.MinInt32), math.MaxInt32)
}
