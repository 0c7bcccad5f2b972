package stats

import "math"

// Level is one level of nested repetition: windows within a run, runs within a deployment, deployments.
type Level struct {
	// Count is how often it was repeated within each repetition of the level above.
	Count int
	// Variance is that of the means of this level's repetitions, S².
	Variance float64
	// Component is the part that arises at this level itself, T²; 0 if it cannot be told from what the levels below
	// bring along.
	Component float64
}

// Nested is where the variation of a nested experiment comes from.
type Nested struct {
	// Levels are in order from the lowest.
	Levels []Level
	// Mean is the mean of all values; Interval is that of the highest level alone, which is what was repeated afresh.
	Mean float64
	Interval
}

// Nest splits the variation of values that were repeated at several levels, counts[0] times at the lowest and
// counts[len−1] times at the highest; the values of one repetition are next to each other. With S_i² the variance of
// the means of level i, averaged over the repetitions above,
//
//	T_1² = S_1²,  T_i² = S_i² − S_{i−1}²/r_{i−1}
//
// ok is false if the number of values is not the product of the counts, a count is below two, or a value is not finite.
// (Kalibera and Jones, "Rigorous Benchmarking in Reasonable Time", ISMM 2013.)
func Nest(values []float64, counts []int, confidence float64) (Nested, bool) {
	if !finite(values) || !nests(len(values), counts) {
		return Nested{}, false
	}
	var n Nested
	means := values
	for i, r := range counts {
		var above []float64
		level := Level{Count: r}
		for at := 0; at < len(means); at += r {
			m, v := moments(means[at : at+r])
			above = append(above, m)
			level.Variance += v / float64(len(means)/r)
		}
		level.Component = level.Variance
		if i > 0 {
			below := n.Levels[i-1]
			level.Component = max(0, level.Variance-below.Variance/float64(below.Count))
		}
		if !finite([]float64{level.Variance}) {
			return Nested{}, false // squares beyond all numbers
		}
		n.Levels = append(n.Levels, level)
		if i == len(counts)-1 {
			var ok bool
			n.Mean, n.Interval, ok = Mean(means, confidence)
			return n, ok
		}
		means = above
	}
	return Nested{}, false
}

// nests says whether so many values can be repeated so often.
func nests(values int, counts []int) bool {
	product := 1
	for _, r := range counts {
		if r < 2 || product > values {
			return false
		}
		product *= r
	}
	return len(counts) > 0 && product == values
}

// BestCounts says how often to repeat each level below the highest so that the interval gets narrowest for what it
// costs. costs[i] is what one repetition of level i costs by itself, in any unit:
//
//	r_i = ⌈√((c_{i+1}/c_i) · (T_i²/T_{i+1}²))⌉, at least 1
//
// 0 means that there is no best number: the level above brings no variation of its own, so repeating this one is as
// good. The result is nil if there are not as many costs as levels or a cost is not positive. The highest level is
// repeated as often as the budget allows.
func (n Nested) BestCounts(costs []float64) []int {
	if len(costs) != len(n.Levels) || !finite(costs) {
		return nil
	}
	for _, c := range costs {
		if c <= 0 {
			return nil
		}
	}
	var counts []int
	for i := 0; i+1 < len(costs); i++ {
		here, above := n.Levels[i].Component, n.Levels[i+1].Component
		switch {
		case here == 0:
			counts = append(counts, 1)
		case above == 0:
			counts = append(counts, 0)
		default:
			best := math.Ceil(math.Sqrt(costs[i+1] / costs[i] * (here / above)))
			counts = append(counts, int(min(max(best, 1), 1<<31-1)))
		}
	}
	return counts
}
