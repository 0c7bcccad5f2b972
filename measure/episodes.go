package measure

import (
	"cmp"
	"math"
	"math/bits"
	"slices"
)

// minEpisodes is the smallest effective number of independent moments from which the slowest operations must come, so
// that a percentile above the median is stated. Operations of one stall are not independent: they are one episode. If
// slow episodes are independent and K of them are expected in a run, none is seen with probability e^−K. As in
// [MinCount], that must be at most 2.5 %:
//
//	K ≥ −ln 0.025 = 3.69
//
// Every second of a run is one episode with as many operations at or beyond the percentile as it has, N_i. Neighbouring
// seconds that have more than twice their share are one episode. The effective number of episodes of different sizes is
// that of equal ones with the same variance of the sum (Kish, "Survey Sampling", 1965, section 5.4):
//
//	K = (Σ N_i)² / Σ N_i²
//
// So operations that are independent need about five seconds, and one stall makes one episode, however many operations
// wait in it. Slow episodes so rare that the run has none are not found by any rule.
const minEpisodes = 3.6888794541139363

// mostMoments bounds the memory for long runs. Beyond it, neighbouring moments are merged, which makes fewer episodes.
const mostMoments = 1024

// moment has the coarse counts of a short time, by class and kind.
type moment struct {
	classes   []kinds
	dropped   int64
	intervals int
}

type kinds struct{ service, response coarse }

// coarse has counts of times in buckets of at most an eighth of their value, in ascending order.
type coarse []coarseCount

type coarseCount struct {
	bucket uint16
	n      int64
}

// lostBucket is above the buckets of all times: see [Due].
const lostBucket = math.MaxUint16

// coarseBits is the number of bits of a value that select its coarse bucket.
const coarseBits = 4

func coarseBucket(ns int64) uint16 {
	shift := max(0, bits.Len64(uint64(ns))-coarseBits)
	return uint16(shift<<(coarseBits-1) + int(ns>>shift))
}

// course has the coarse counts of the moments of a phase, in order of time.
type course []coarse

// addMoment keeps the coarse counts of an interval.
func (s *Summary) addMoment(iv *Interval) {
	now := moment{classes: make([]kinds, len(iv.Classes)), dropped: iv.Dropped, intervals: 1}
	for i := range iv.Classes {
		c := &iv.Classes[i]
		lost := s.Dims.Tally(c.Counts).Bad()
		now.classes[i].service = coarsen(c.Service, lost)
		if c.Response != nil {
			now.classes[i].response = coarsen(c.Response, lost)
		}
	}
	if last := len(s.moments) - 1; last >= 0 && s.moments[last].intervals < s.perMoment {
		s.moments[last] = s.moments[last].with(now)
		return
	}
	if len(s.moments) >= mostMoments {
		for i := range mostMoments / 2 {
			s.moments[i] = s.moments[2*i].with(s.moments[2*i+1])
		}
		s.moments = s.moments[:mostMoments/2]
		s.perMoment = 2 * max(1, s.perMoment)
	}
	s.moments = append(s.moments, now)
}

func (m moment) with(o moment) moment {
	sum := moment{
		classes: make([]kinds, len(m.classes)), dropped: m.dropped + o.dropped, intervals: m.intervals + o.intervals,
	}
	for i := range sum.classes {
		a, b := m.classes[i], o.classes[i]
		sum.classes[i] = kinds{a.service.with(b.service), a.response.with(b.response)}
	}
	return sum
}

func coarsen(h *Histogram, lost int64) coarse {
	var list coarse
	for v, n := range h.Buckets() {
		if b := coarseBucket(v); len(list) > 0 && list[len(list)-1].bucket == b {
			list[len(list)-1].n += n
		} else {
			list = append(list, coarseCount{b, n})
		}
	}
	if lost > 0 {
		list = append(list, coarseCount{lostBucket, lost})
	}
	return list
}

// with returns the sum of two coarse counts.
func (c coarse) with(o coarse) coarse {
	if len(o) == 0 {
		return c
	}
	all := slices.Concat(c, o)
	slices.SortStableFunc(all, func(a, b coarseCount) int { return cmp.Compare(a.bucket, b.bucket) })
	sum := all[:0]
	for _, x := range all {
		if n := len(sum); n > 0 && sum[n-1].bucket == x.bucket {
			sum[n-1].n += x.n
		} else {
			sum = append(sum, x)
		}
	}
	return sum
}

// course returns the moments of one class, or of all operations for nil.
func (s *Summary) course(class *int, kind string) course {
	list := make(course, len(s.moments))
	for k, m := range s.moments {
		for i, c := range m.classes {
			if class != nil && *class != i || class == nil && s.Dims.Classes[i].Part {
				continue
			}
			of := c.response
			if kind == "service" || of == nil {
				of = c.service
			}
			list[k] = list[k].with(of)
		}
		if class == nil && m.dropped > 0 {
			list[k] = list[k].with(coarse{{lostBucket, m.dropped}})
		}
	}
	return list
}

// enough reports whether the operations at or beyond a percentile q of ns nanoseconds come from enough moments.
func (c course) enough(q float64, ns int64) bool { return q <= 0.5 || c.episodes(ns) >= minEpisodes }

// episodes returns the effective number of episodes of times of at least ns: see [minEpisodes].
func (c course) episodes(ns int64) float64 {
	from := coarseBucket(ns)
	beyond, all := make([]float64, len(c)), make([]float64, len(c))
	var slow, total float64
	for i, m := range c {
		for _, x := range m {
			all[i] += float64(x.n)
			if x.bucket >= from {
				beyond[i] += float64(x.n)
			}
		}
		slow += beyond[i]
		total += all[i]
	}
	var squares, episode float64
	for i, n := range beyond {
		if n <= 2*slow/total*all[i] { // an ordinary moment ends an episode
			squares += episode*episode + n*n
			episode = 0
			continue
		}
		episode += n
	}
	squares += episode * episode
	if squares == 0 {
		return 0
	}
	return slow * slow / squares
}
