package measure

import "math"

// Due has the times of operations that were due. Those that succeeded have a time. Those that did not succeed (failed,
// indeterminate, dropped or never sent) have none, and count as longer than every time: their users got no answer. This
// is the one rule for every percentile of operations, of response and of service time.
type Due struct {
	Answered *Histogram // of the operations that succeeded
	Lost     int64      // operations that were due and did not succeed
	// Unclassed operations were dropped or never sent, and their class is unknown. Each may belong to this class. They are
	// 0 for all classes together, where they are in Lost.
	Unclassed int64
	course    course
}

// Reach says whether a percentile is known.
type Reach int

const (
	Stated    Reach = iota
	NoAnswer        // more operations did not succeed than lie above the percentile
	TooFew          // too few operations: see [MinCount]
	OneMoment       // known of this run, but its slowest operations come from too few moments: see [minEpisodes]
	Unclassed       // so many operations of unknown class did not succeed that it may have no answer
)

// Quantile returns the value of rank ⌈q·n⌉ in nanoseconds of the n operations that were due, if it is [Stated] or from
// [OneMoment]. If the class of some lost operations is unknown, all of them count as operations of this class, so the
// value is an upper bound.
func (d Due) Quantile(q float64) (ns int64, reach Reach) {
	if reach = ReachOf(q, d.Answered.Count(), d.Lost, d.Unclassed); reach != Stated {
		return 0, reach
	}
	if ns = d.quantile(q, d.Lost+d.Unclassed); !d.course.enough(q, ns) {
		reach = OneMoment
	}
	return ns, reach
}

// ReachOf says whether the numbers of operations of a [Due] are enough for a percentile.
func ReachOf(q float64, answered, lost, unclassed int64) Reach {
	switch {
	case HasNoAnswer(q, answered, lost):
		return NoAnswer
	case HasNoAnswer(q, answered, lost+unclassed):
		return Unclassed
	case answered < MinCount(q):
		return TooFew
	}
	return Stated
}

// Episodes returns the effective number of moments from which the operations at or beyond a percentile come: see
// [minEpisodes].
func (d Due) Episodes(q float64) float64 { return d.course.episodes(d.quantile(q, d.Lost+d.Unclassed)) }

// Value returns a percentile of operations that were due, without asking whether they are enough: for a moment of a
// run, which is no result. It is false if the percentile has no answer.
func (d Due) Value(q float64) (ns int64, answered bool) {
	if HasNoAnswer(q, d.Answered.Count(), d.Lost+d.Unclassed) {
		return 0, false
	}
	return d.quantile(q, d.Lost+d.Unclassed), true
}

// Add adds the operations of an interval, with their response times: for moments of a run, which are no result.
func (d *Due) Add(dims Dims, iv *Interval) error {
	for i := range iv.Classes {
		if c := &iv.Classes[i]; !dims.Classes[i].Part {
			if err := mergeInto(&d.Answered, c.Answered()); err != nil {
				return err
			}
		}
	}
	d.Lost += iv.Tally(dims).Bad() + iv.Dropped
	return nil
}

// quantile returns the value of rank ⌈q·n⌉ if so many of the n operations were lost, fewer than lie above it.
func (d Due) quantile(q float64, lost int64) int64 {
	answered := d.Answered.Count()
	if lost == 0 || answered == 0 {
		return d.Answered.Quantile(q)
	}
	return d.Answered.Quantile(float64(rankOf(q, answered+lost)) / float64(answered))
}

// HasNoAnswer reports whether the quantile q of operations that were due has no value, because more than 1−q of them
// did not succeed. Without operations there is nothing to say.
func HasNoAnswer(q float64, answered, lost int64) bool {
	return lost > 0 && rankOf(q, answered+lost) > answered
}

// rankOf is ⌈q·n⌉. The rounding error of a share like 0.999 must not change it.
func rankOf(q float64, n int64) int64 {
	x := q * float64(n)
	return int64(math.Ceil(x - x*1e-15))
}

// Times returns the operations of a class that were due in the phase, of all classes for "", with their times of a kind
// ("response" or "service"). It is false if there is no such class.
func (s *Summary) Times(class, kind string) (Due, bool, error) {
	if class == "" {
		all, err := s.All()
		d := s.due(&all, kind, s.course(nil, kind))
		d.Lost += s.Dropped + s.Unsent
		return d, err == nil, err
	}
	i := s.Dims.index(class)
	if i < 0 {
		return Due{}, false, nil
	}
	return s.timesOf(i, kind), true, nil
}

// timesOf returns the times of one class.
func (s *Summary) timesOf(i int, kind string) Due {
	d := s.due(&s.Classes[i], kind, s.course(&i, kind))
	if !s.Dims.Classes[i].Part {
		d.Unclassed = s.Dropped + s.Unsent
	}
	return d
}

func (s *Summary) due(c *ClassInterval, kind string, course course) Due {
	d := Due{Answered: c.Answered(), Lost: s.Dims.Tally(c.Counts).Bad(), course: course}
	if kind == "service" {
		d.Answered = c.Service
	}
	return d
}
