package capacity

import "github.com/plimsoll-bench/plimsoll/measure/stats"

// Multiplier is the number of nodes of one deployment that match another: performance multiplier × nodes.
type Multiplier struct {
	Ratio          float64 // throughput to match by that of the base, geometric means over trials
	stats.Interval         // of Ratio, if Known: both sides were measured several times
	Known          bool
	Nodes          Estimate // of the base that match the other deployment
}

// Multiply compares throughputs of trials, in operations per second, all above 0. nodes is the size of the base, which
// is assumed to scale linearly unless scaling is given.
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
	n, err := scaling.Nodes(stats.Middle(value))
	if err != nil {
		return m, err
	}
	if n.Assumption == Linear { // the ratio's interval has the noise of both sides
		n.Known = known
		n.Interval = stats.Interval{Low: n.N, High: n.N}
		if known {
			n.Interval = stats.Interval{Low: nodes * r.Low, High: nodes * r.High}
		}
		n.Safe = n.High
	}
	m.Nodes = n
	return m, nil
}
