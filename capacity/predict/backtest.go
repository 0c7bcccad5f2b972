package predict

import (
	"fmt"
	"math"
	"slices"

	"github.com/plimsoll-bench/plimsoll/internal/figure"
	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/measure/stats"
	"github.com/plimsoll-bench/plimsoll/record"
)

// Backtest leaves out each level of each factor, predicts it from the others, and compares. Every choice of a model is
// made without the level that it predicts.
func Backtest(factors []Factor, tool record.Tool) *record.Backtest {
	out := &record.Backtest{SchemaVersion: record.SchemaVersion, Kind: record.KindBacktest, Tool: tool,
		Factors: []record.BacktestFactor{}, Validity: []measure.Finding{}}
	var errs, above []float64
	for i := range factors {
		f := factors[i].backtest()
		for _, p := range f.Points {
			count := &out.Inner
			if p.Beyond {
				count = &out.Outer
			}
			count.Levels++
			switch {
			case p.Refused != "":
				count.Refused++
				continue
			case p.Beyond:
				above = append(above, *p.High/p.Measured-1)
			default:
				errs = append(errs, math.Abs(*p.Error))
			}
			if p.Held {
				count.Held++
			}
		}
		out.Factors = append(out.Factors, f)
	}
	out.Inner.Median, out.Outer.Median = medianOf(errs), medianOf(above)
	return out
}

func medianOf(xs []float64) *float64 {
	if len(xs) == 0 {
		return nil
	}
	m := measure.Median(xs)
	return &m
}

func (f *Factor) backtest() record.BacktestFactor {
	out := record.BacktestFactor{Source: f.Source, Factor: f.Name, Points: []record.BacktestPoint{}}
	if c, err := Choose(f.Levels); err != nil {
		out.Why = err.Error()
	} else {
		out.Model, out.Why, out.Error = c.Name, c.why(), &c.Error
		for _, p := range c.Parameters {
			out.Parameters = append(out.Parameters, record.BacktestParameter{Name: p.Name, Value: p.Value})
		}
		for _, m := range c.Candidates {
			if m.Why == "" {
				out.Models = append(out.Models, record.BacktestModel{Name: m.Model.Name, Formula: m.Model.Formula,
					Basis: m.Model.Basis, Error: m.Error})
			}
		}
	}
	for i := range slices.Backward(f.Levels) {
		out.Points = append(out.Points, f.leaveOut(i))
	}
	return out
}

// why says why the model was chosen.
func (c *Choice) why() string {
	text := fmt.Sprintf("%s misses left-out levels by %s", c.Name, figure.Percent(c.Error))
	for _, o := range c.Candidates {
		switch {
		case o.Why != "" || o.Model == c.Model:
			continue
		case o.Error < c.Error:
			return text + fmt.Sprintf("; %s is not much better (%s) and has more parameters", o.Model.Name, figure.Percent(o.Error))
		}
		return text + fmt.Sprintf("; the next one, %s, by %s", o.Model.Name, figure.Percent(o.Error))
	}
	return text + "; no other model applies"
}

func (f *Factor) leaveOut(i int) record.BacktestPoint {
	l := &f.Levels[i]
	p := record.BacktestPoint{Level: l.Name, Size: l.Size, N: len(l.Throughput), Measured: stats.Middle(l.Throughput),
		Beyond: l.Size > 0 && (i == 0 || i == len(f.Levels)-1)}
	c, err := Choose(without(f.Levels, i))
	if err != nil {
		p.Refused = err.Error()
		return p
	}
	x, err := c.Predict(l, len(l.Throughput))
	p.Model, p.Beyond = c.Name, x.Beyond
	if err != nil {
		p.Refused = err.Error()
		return p
	}
	p.High, p.Held = &x.High, x.Low <= p.Measured && p.Measured <= x.High
	if !p.Beyond {
		e := x.Throughput/p.Measured - 1
		p.Predicted, p.Low, p.Error = &x.Throughput, &x.Low, &e
	}
	return p
}
