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
	maxWidth  = 4.0  // an interval whose ends differ by a larger factor is refused, and a limit so far above the law
	outer     = 2    // outermost levels that must be below the limit that the others give
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
	t := m.tabulate(levels)
	f, err := t.fit(-1)
	if err != nil {
		c.Why = err.Error()
		return c
	}
	c.fitted = f
	sum := 0.0
	for i := range levels {
		g, err := t.fit(i)
		if err != nil {
			continue
		}
		if x, ok := g.at1(&levels[i]); ok {
			d := math.Log(stats.Middle(levels[i].Throughput) / x)
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
//
// Between the measured levels it has a 95 % interval. Beyond them it has an upper limit only: something else may become
// the limit there, and no measured level shows it. The limit is the upper end of the same interval.
type Prediction struct {
	Throughput     float64 // 0 beyond the measured levels
	stats.Interval         // Low is 0 beyond the measured levels
	Beyond         bool    // the measured levels
}

// Predict predicts the mean throughput of a level, or, if trials is not 0, what so many trials of it show. The error
// says why nothing can be said about it.
func (c *Choice) Predict(l *Level, trials int) (Prediction, error) {
	var p Prediction
	inward, err := c.outside(l)
	if p.Beyond = inward != nil; err != nil {
		return p, err
	}
	if p.Beyond {
		if err := checkOuter(inward); err != nil {
			return p, err
		}
	}
	x, iv, ok := c.interval(l, trials)
	switch p.Interval = iv; {
	case !ok:
		return p, fmt.Errorf("the model %s needs a fact of this level that is unknown", c.Name)
	case p.Beyond && p.High > maxWidth*x:
		return p, fmt.Errorf("the upper limit of the model %s is too high to use (%s)", c.Name, figure.Rate(p.High))
	case p.Beyond:
		p.Low = 0
	case p.High > maxWidth*p.Low:
		return p, fmt.Errorf("the interval of the model %s is too wide to use (%s to %s)", c.Name, figure.Rate(p.Low), figure.Rate(p.High))
	default:
		p.Throughput = x
	}
	return p, nil
}

// interval is the prediction of the chosen model, with an interval that includes those of other models that are nearly
// as good: they disagree where the levels do not decide between them.
func (c *Choice) interval(l *Level, trials int) (x float64, iv stats.Interval, ok bool) {
	x, iv, ok = c.Fitted.Predict(l, trials)
	for _, other := range c.Candidates {
		if other.Why != "" || other.Error > 2*c.Error {
			continue
		}
		if y, known := other.fitted.at1(l); known {
			iv.Low, iv.High = min(iv.Low, y), max(iv.High, y)
		}
	}
	return x, iv, ok
}

// checkOuter fails unless the outermost levels, the first ones here, are below the limit that the levels further inward
// give for each. If throughput grew faster there than the law inward of it, it may do so again.
func checkOuter(levels []Level) error {
	for i := range min(outer, max(1, len(levels)-minLevels)) {
		l := &levels[i]
		c, err := Choose(levels[i+1:])
		if err != nil {
			return fmt.Errorf("beyond the measured levels there is an upper limit only if the others predict one for the outermost level (%s): %w", l.Name, err)
		}
		_, limit, ok := c.interval(l, len(l.Throughput))
		if x := stats.Middle(l.Throughput); !ok || x > limit.High {
			return fmt.Errorf("throughput grew faster up to %s (%s/s) than the other levels show (at most %s/s), so there is no upper limit beyond it",
				l.Name, figure.Rate(x), figure.Rate(limit.High))
		}
	}
	return nil
}

// outside returns the measured levels from the one nearest to l inward if l is beyond all of them, nil otherwise. It
// fails if l is too far from them. Levels without a size are ordered by the terms of the model.
func (c *Choice) outside(l *Level) (inward []Level, err error) {
	if l.Size > 0 && c.levels[0].Size > 0 {
		return reach(c.levels, l)
	}
	at := func(l *Level, j int) float64 {
		terms, _, ok := c.terms(l, c.shapeAt)
		if !ok {
			return math.NaN()
		}
		return terms[j]
	}
	for j := range c.names {
		up := slices.SortedStableFunc(slices.Values(c.levels), func(a, b Level) int {
			return cmp.Compare(at(&a, j), at(&b, j))
		})
		switch x := at(l, j); {
		case x < at(&up[0], j):
			return up, nil
		case x > at(&up[len(up)-1], j):
			slices.Reverse(up)
			return up, nil
		}
	}
	return nil, nil
}

// reach is [Choice.outside] of levels with sizes, which are in order.
func reach(levels []Level, l *Level) (inward []Level, err error) {
	first, last := levels[0].Size, levels[len(levels)-1].Size
	switch {
	case l.Size > last:
		inward = slices.Clone(levels)
		slices.Reverse(inward)
		if l.Size > last*maxReach {
			err = fmt.Errorf("%s is more than %s times the largest measured level (%s)", figure.Significant(l.Size), figure.Significant(maxReach), figure.Significant(last))
		}
		return inward, err
	case l.Size < first:
		if l.Size*maxReach < first {
			err = fmt.Errorf("%s is less than 1/%s of the smallest measured level (%s)", figure.Significant(l.Size), figure.Significant(maxReach), figure.Significant(first))
		}
		return levels, err
	}
	for i := range levels[1:] {
		below, above := levels[i].Size, levels[i+1].Size
		if below < l.Size && l.Size < above && above > below*maxGap {
			return nil, fmt.Errorf("nothing was measured between %s and %s, and that is too far to interpolate", figure.Significant(below), figure.Significant(above))
		}
	}
	return nil, nil
}
