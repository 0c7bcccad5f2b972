package predict

import (
	"fmt"
	"math"
	"slices"

	"github.com/plimsoll-bench/plimsoll/internal/figure"
	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/record"
)

// Hold compares a prediction with runs of the engine. It returns a copy with the measured values.
func Hold(p *record.ProbePrediction, runs []Calibration) *record.ProbePrediction {
	out := *p
	out.Points = slices.Clone(p.Points)
	out.LeftOut, out.RateError, out.P99Error = nil, nil, nil
	var rates, tails []float64
	for i := range out.Points {
		q := &out.Points[i]
		q.Measured = nil
		if q.Measured = measuredAt(q, p, runs); q.Measured != nil {
			rates, tails = append(rates, math.Abs(q.Measured.RateError)), append(tails, math.Abs(q.Measured.P99Error))
		}
	}
	for i := range runs {
		if why := whyNot(p, &runs[i]); why != "" {
			out.LeftOut = append(out.LeftOut, runs[i].Dir+": "+why)
		}
	}
	if len(rates) > 0 {
		a, b := measure.Median(rates), measure.Median(tails)
		out.RateError, out.P99Error = &a, &b
	}
	return &out
}

// whyNot says why a run is not compared with a prediction, "" if it is.
func whyNot(p *record.ProbePrediction, c *Calibration) string {
	r := c.Run
	switch class := c.Summary.Class(p.Class); {
	case r.Target.Kind != p.Engine:
		return fmt.Sprintf("its target is %s, and the prediction is for %s", r.Target.Kind, p.Engine)
	case r.Specification.Workload.Name != p.Workload || durabilityOf(r) != p.Durability:
		return fmt.Sprintf("it is workload %s with %s, and the prediction is for %s with %s", r.Specification.Workload.Name, durabilityOf(r), p.Workload, p.Durability)
	case r.Scheduled:
		return "it has an offered rate, and the prediction is for a closed loop"
	case measure.Worst(r.Validity) == measure.Invalid:
		return "it is invalid"
	case class == nil || class.Service.Count() == 0:
		return "it has no " + p.Class
	case !slices.ContainsFunc(p.Points, func(q record.ProbePredicted) bool { return q.Workers == c.phase().Workers }):
		return fmt.Sprintf("nothing is predicted for %s", figure.Plural(c.phase().Workers, "worker"))
	}
	return ""
}

func measuredAt(q *record.ProbePredicted, p *record.ProbePrediction, runs []Calibration) *record.PredictedMeasured {
	like := slices.DeleteFunc(slices.Clone(runs), func(c Calibration) bool {
		return c.phase().Workers != q.Workers || whyNot(p, &c) != ""
	})
	m := &record.PredictedMeasured{}
	var all *measure.Histogram
	if m.Records, m.Rate, all = pooled(like, p.Class); len(m.Records) == 0 {
		return nil
	}
	m.Mean, m.P99 = all.Mean(), all.Quantile(0.99)
	m.RateError, m.P99Error = q.Rate/m.Rate-1, float64(q.P99)/float64(m.P99)-1
	return m
}

// pooled is what runs of one setup show together: their directories, the geometric mean of their throughput, and the
// times of all operations of a class.
func pooled(runs []Calibration, class string) (dirs []string, rate float64, all *measure.Histogram) {
	all = measure.NewHistogram()
	logs := 0.0
	for i := range runs {
		c := &runs[i]
		if all.Merge(c.Summary.Class(class).Service) != nil {
			continue
		}
		dirs, logs = append(dirs, c.Dir), logs+math.Log(c.phase().Rates.Achieved)
	}
	return dirs, math.Exp(logs / float64(len(dirs))), all
}
