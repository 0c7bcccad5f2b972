package capacity

import (
	"github.com/plimsoll-bench/plimsoll/measure/stats"
)

// Multiplier is how many nodes of one deployment match another: performance multiplier × nodes.
type Multiplier struct {
	// Ratio is the throughput of the one to match by that of the base, geometric means over trials.
	Ratio float64
	// Interval is that of Ratio. Known is false where a side was measured once only: then there is none.
	stats.Interval
	Known bool
	// Nodes is how many nodes of the base do what the other does, not rounded.
	Nodes Estimate
}

// Multiply compares throughputs of trials, in operations per second. The base did its own on so many nodes; how it
// scales is assumed to be linear unless scaling is given. Both sides must be above 0.
//
// This is the method of the brief on shrinking clusters: divide the throughputs, multiply by the nodes.
func Multiply(base, value []float64, nodes float64, scaling *Scaling) (Multiplier, error) {
	r, known := stats.UnpairedRatio(base, value, confidence)
	m := Multiplier{Ratio: r.Ratio, Interval: r.Interval, Known: known}
	if scaling == nil {
		var err error
		if scaling, err = NewScaling([]ScalePoint{{N: nodes, Throughput: base}}, 1); err != nil {
			return m, err
		}
	}
	n, err := scaling.Nodes(geoMean(value))
	if err != nil {
		return m, err
	}
	if n.Assumption == Linear { // the ratio's interval has the noise of both sides
		n.Known = known
		n.Interval = stats.Interval{Low: n.N, High: n.N}
		if known {
			n.Interval = stats.Interval{Low: nodes * r.Low, High: nodes * r.High}
		}
	}
	m.Nodes = n
	return m, nil
}
