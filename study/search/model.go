package search

import "math"

// The grid of the model. A target carries a rate that scatters from step to step and may drift.
var (
	scatters = []float64{0.005, 0.01, 0.02, 0.03, 0.05, 0.07, 0.10, 0.15}
	common   = []float64{0.5, 0.7, 1, 1, 1, 1, 1, 0.5} // how common they are
	drifts   = []float64{-0.015, -0.010, -0.007, -0.0045, -0.002, 0, 0.002, 0.0045, 0.007, 0.010, 0.015}
	steady   = []float64{0.07, 0.07, 0.07, 0.07, 0.07, 1, 0.07, 0.07, 0.07, 0.07, 0.07}
)

const (
	points = 320
	// disturbed is the probability that a step is missed although the target carries the rate, and lucky the opposite.
	disturbed = 0.03
	lucky     = 0.005
	beyond    = 1.6 // the grid goes this factor beyond the rates that were tried
	sure      = 0.025
)

// model has the probability of each highest rate, scatter and drift.
type model struct {
	from, to float64 // logarithms of the ends of the grid
	weight   []float64
	counted  int
}

func newModel(outcomes []Outcome) *model {
	m := &model{from: math.Inf(1), to: math.Inf(-1), weight: make([]float64, points*len(scatters)*len(drifts))}
	for _, o := range outcomes {
		m.from, m.to = min(m.from, math.Log(o.Rate/beyond)), max(m.to, math.Log(o.Rate*beyond))
	}
	for i := range m.weight {
		j, k := i/len(drifts)%len(scatters), i%len(drifts)
		m.weight[i] = common[j] * steady[k]
	}
	return m.after(outcomes)
}

// after counts the outcomes that were not counted yet.
func (m *model) after(outcomes []Outcome) *model {
	for ; m.counted < len(outcomes); m.counted++ {
		o := outcomes[m.counted]
		if r := math.Log(o.Rate); r < m.from || r > m.to {
			return newModel(outcomes)
		}
		if !o.Client && !o.Few {
			m.count(o, m.counted)
		}
	}
	return m
}

func (m *model) rate(i int) float64 { return m.from + (m.to-m.from)*float64(i)/(points-1) }

func (m *model) count(o Outcome, number int) {
	r, sum, at := math.Log(o.Rate), 0.0, 0
	for i := range points {
		for _, scatter := range scatters {
			for _, drift := range drifts {
				carries := normal((m.rate(i) + drift*float64(number) - r) / scatter)
				holds := lucky + (1-lucky-disturbed)*carries
				m.weight[at] *= o.Certainty*holds + (1-o.Certainty)*(1-holds)
				sum += m.weight[at]
				at++
			}
		}
	}
	for i := range m.weight {
		m.weight[i] /= sum
	}
}

// answer sums up the probabilities for what the target carries now, after the last step.
func (m *model) answer(precision float64) Answer {
	now := make([]float64, points) // by rate
	var a Answer
	back, forth, at := 0.0, 0.0, 0
	spacing := (m.to - m.from) / (points - 1)
	for i := range points {
		for _, scatter := range scatters {
			for _, drift := range drifts {
				w := m.weight[at]
				at++
				moved := i + int(math.Round(drift*float64(m.counted-1)/spacing))
				now[min(points-1, max(0, moved))] += w
				a.Scatter += w * scatter
				a.Drift += w * drift
				if drift < 0 {
					back += w
				} else if drift > 0 {
					forth += w
				}
			}
		}
	}
	a.Drifts = max(back, forth) > 0.9
	a.Low, a.Rate, a.High = m.quantile(now, sure), m.quantile(now, 0.5), m.quantile(now, 1-sure)
	near := math.Log(1 + precision)
	a.Wrong = 1
	for i, w := range now {
		if math.Abs(m.rate(i)-math.Log(a.Rate)) <= near {
			a.Wrong -= w
		}
	}
	a.Wrong = max(0, a.Wrong)
	return a
}

func (m *model) quantile(weight []float64, q float64) float64 {
	sum, all := 0.0, 0.0
	for _, w := range weight {
		all += w
	}
	for i, w := range weight {
		if sum+w >= q*all && w > 0 {
			return math.Exp(m.rate(i) + (m.to-m.from)/(points-1)*((q*all-sum)/w-0.5))
		}
		sum += w
	}
	return math.Exp(m.to)
}
