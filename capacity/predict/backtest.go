package predict

import (
	"fmt"
	"math"
	"slices"

	"github.com/plimsoll-bench/plimsoll/internal/figure"
	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/record"
)

// Backtest leaves out each level of each factor, predicts it from the others, and compares. Every choice of a model is
// made without the level that it predicts.
func Backtest(factors []Factor, tool record.Tool) *record.Backtest {
	out := &record.Backtest{SchemaVersion: record.SchemaVersion, Kind: record.KindBacktest, Tool: tool,
		Factors: []record.BacktestFactor{}, Validity: []measure.Finding{}}
	var errs []float64
	for i := range factors {
		f := factors[i].backtest()
		for _, p := range f.Points {
			out.Points++
			switch {
			case p.Refused != "":
				out.Refused++
				continue
			case p.Held:
				out.Held++
			}
			errs = append(errs, math.Abs(*p.Error))
		}
		out.Factors = append(out.Factors, f)
	}
	if len(errs) > 0 {
		m := measure.Median(errs)
		out.MedianError = &m
	}
	return out
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
	p := record.BacktestPoint{Level: l.Name, Size: l.Size, N: len(l.Throughput), Measured: mean(l.Throughput)}
	c, err := Choose(without(f.Levels, i))
	if err != nil {
		p.Refused = err.Error()
		return p
	}
	x, err := c.Predict(l)
	p.Model, p.Extrapolated = c.Name, x.Extrapolated
	if err != nil {
		p.Refused = err.Error()
		return p
	}
	e := x.Throughput/p.Measured - 1
	p.Predicted, p.Low, p.High, p.Error = &x.Throughput, &x.Low, &x.High, &e
	p.Held = x.Low <= p.Measured && p.Measured <= x.High
	return p
}
