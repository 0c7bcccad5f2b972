package predict

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/plimsoll-bench/plimsoll/internal/figure"
	"github.com/plimsoll-bench/plimsoll/measure/stats"
)

// The limits of predictions.
const (
	minLevels = 4    // of which predictions are made
	maxReach  = 2.0  // largest extrapolation: the predicted size by the nearest measured one
	maxGap    = 4.0  // largest interpolation: the ratio of the two measured neighbours
	maxError  = 0.25 // root mean square of the errors of left-out levels; above it, no law describes them
	maxWidth  = 4.0  // an interval whose ends differ by a larger factor is refused
)

// Candidate is a model with the error of its left-out levels.
type Candidate struct {
	Model *Model
	Error float64 // root mean square of ln(measured/predicted) over the left-out levels
	Left  int     // levels that were left out and predicted
	Why   string  // why it cannot be used, "" if it can

	fitted *Fitted
}

// Choice is the model that describes levels best.
type Choice struct {
	*Fitted
	Error      float64     // of the chosen model
	Candidates []Candidate // all models, the best first
	levels     []Level
}

// Choose fits all models, predicts each level from the others, and takes the model with the smallest error. A model
// with fewer parameters is preferred if its error is at most a tenth larger.
func Choose(levels []Level) (*Choice, error) {
	if len(levels) < minLevels {
		return nil, fmt.Errorf("%s are too few for a prediction. Measure at least %d", figure.Plural(len(levels), "level"), minLevels)
	}
	c := &Choice{levels: levels}
	for i := range Models {
		c.Candidates = append(c.Candidates, candidate(&Models[i], levels))
	}
	slices.SortStableFunc(c.Candidates, func(a, b Candidate) int {
		return cmp.Or(cmp.Compare(len(a.Why), len(b.Why))*min(1, len(a.Why)+len(b.Why)), cmp.Compare(a.Error, b.Error))
	})
	best := c.Candidates[0]
	if best.Why != "" {
		return nil, errors.New("no model applies: " + best.Why)
	}
	if best.Error > maxError {
		return nil, fmt.Errorf("no model describes these levels: the best one (%s) misses left-out levels by %s", best.Model.Name, figure.Percent(best.Error))
	}
	for _, x := range c.Candidates {
		if x.Why == "" && x.Error <= best.Error*1.1 && x.Model.parameters() < best.Model.parameters() {
			best = x
		}
	}
	c.Fitted, c.Error = best.fitted, best.Error
	return c, nil
}

func candidate(m *Model, levels []Level) Candidate {
	c := Candidate{Model: m, Error: math.Inf(1)}
	f, err := m.fit(levels)
	if err != nil {
		c.Why = err.Error()
		return c
	}
	c.fitted = f
	sum := 0.0
	for i := range levels {
		g, err := m.fit(without(levels, i))
		if err != nil {
			continue
		}
		if x, ok := g.at1(&levels[i]); ok {
			d := math.Log(mean(levels[i].Throughput) / x)
			sum, c.Left = sum+d*d, c.Left+1
		}
	}
	if c.Left < len(levels)-1 {
		c.Why = "without one of the levels its parameters are not known"
		return c
	}
	c.Error = math.Sqrt(sum / float64(c.Left))
	return c
}

func without(levels []Level, i int) []Level {
	return slices.Delete(slices.Clone(levels), i, i+1)
}

// Prediction is the predicted throughput of a level.
type Prediction struct {
	Throughput     float64
	stats.Interval        // 95 %
	Extrapolated   bool   // beyond the measured sizes
	Nearest        *Level // the nearest measured level
}

// Predict predicts a level. The error says why nothing can be said about it.
func (c *Choice) Predict(l *Level) (Prediction, error) {
	p := Prediction{Nearest: nearestLevel(c.levels, l)}
	if l.Size > 0 && p.Nearest.Size > 0 {
		var err error
		if p.Extrapolated, err = reach(c.levels, l); err != nil {
			return p, err
		}
		if flat(c.levels) && l.Size < c.levels[0].Size {
			return p, fmt.Errorf("throughput is the same at all measured levels, so it is unknown below which one it falls. Measure fewer than %s",
				figure.Significant(c.levels[0].Size))
		}
	}
	x, iv, ok := c.Fitted.Predict(l)
	if !ok {
		return p, fmt.Errorf("the model %s needs a fact of this level that is unknown", c.Name)
	}
	p.Throughput, p.Interval = x, iv
	// Other models that are nearly as good disagree where the levels do not decide between them.
	for _, other := range c.Candidates {
		if other.Why != "" || other.Error > 2*c.Error {
			continue
		}
		if y, ok := other.fitted.at1(l); ok {
			p.Low, p.High = min(p.Low, y), max(p.High, y)
		}
	}
	if p.High > maxWidth*p.Low {
		return p, fmt.Errorf("the interval of the model %s is too wide to use (%s to %s)", c.Name, figure.Rate(p.Low), figure.Rate(p.High))
	}
	return p, nil
}

// reach reports whether a size is beyond the measured ones, and fails if it is too far from them.
func reach(levels []Level, l *Level) (extrapolated bool, err error) {
	below, above := 0.0, math.Inf(1)
	for _, m := range levels {
		if m.Size <= l.Size {
			below = max(below, m.Size)
		}
		if m.Size >= l.Size {
			above = min(above, m.Size)
		}
	}
	switch {
	case math.IsInf(above, 1) && l.Size > below*maxReach:
		return true, fmt.Errorf("%s is more than %s times the largest measured level (%s)", figure.Significant(l.Size), figure.Significant(maxReach), figure.Significant(below))
	case below == 0 && l.Size*maxReach < above:
		return true, fmt.Errorf("%s is less than 1/%s of the smallest measured level (%s)", figure.Significant(l.Size), figure.Significant(maxReach), figure.Significant(above))
	case below > 0 && !math.IsInf(above, 1) && above > below*maxGap:
		return false, fmt.Errorf("nothing was measured between %s and %s, and that is too far to interpolate", figure.Significant(below), figure.Significant(above))
	}
	return math.IsInf(above, 1) || below == 0, nil
}

// nearestLevel is the level whose size is nearest, by ratio; the first one if there are no sizes.
func nearestLevel(levels []Level, l *Level) *Level {
	best := &levels[0]
	for i := range levels {
		m := &levels[i]
		if l.Size > 0 && m.Size > 0 && math.Abs(math.Log(m.Size/l.Size)) < math.Abs(math.Log(best.Size/l.Size)) {
			best = m
		}
	}
	return best
}

// flat reports whether throughput hardly changes over levels of very different sizes: only the limit was measured.
func flat(levels []Level) bool {
	least, most := math.Inf(1), 0.0
	for _, l := range levels {
		least, most = min(least, mean(l.Throughput)), max(most, mean(l.Throughput))
	}
	return most < 1.1*least && levels[len(levels)-1].Size > 2*levels[0].Size
}
