package report

import (
	"fmt"
	"math"
	"slices"

	"github.com/plimsoll-bench/plimsoll/internal/figure"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/report/chart"
)

// Prediction is a probe whose prediction was compared with runs.
type Prediction struct{ Probe *record.Probe }

func predictionDocument(p *Prediction) *Document {
	of := p.Probe.Prediction
	d := answered(predictionTitle(p.Probe), "", p.Probe.Validity)
	d.Drawn, d.Summary = predictionPicture(of), predictionSection(of).Table
	d.Facts = Facts("storage", probeStack(p.Probe.Storage), "directory", p.Probe.Specification.Directory, "volume", p.Probe.Volume)
	d.Sections = appendFilled(nil, predictionSection(of))
	return d
}

func predictionTitle(p *record.Probe) string {
	of := p.Prediction
	if of.RateError == nil {
		return "prediction of " + of.Engine + " on " + p.Specification.Directory + ": no run to compare"
	}
	n := 0
	for _, q := range of.Points {
		if q.Measured != nil {
			n++
		}
	}
	return fmt.Sprintf("%s on %s, %s predicted and measured: median error %s of ok/s, %s of p99", of.Engine, p.Specification.Directory,
		figure.Plural(n, "point"), figure.Percent(*of.RateError), figure.Percent(*of.P99Error))
}

// predictionSection has the predictions of a probe, beside what runs showed.
func predictionSection(of *record.ProbePrediction) Section {
	s := Section{ID: "prediction", Title: "prediction"}
	if of == nil {
		return s
	}
	if of.Refused != "" {
		s.Lines = []string{"Refused: " + of.Refused + "."}
		return s
	}
	s.Lines = []string{fmt.Sprintf("Durable writes (%s) of %s on this storage, workload %s with %s, %s. They are simulated: %s of the operations wait for a sync; its time is drawn from the probe, and the rest of their time from %s on storage that costs nothing.",
		of.Class, of.Engine, of.Workload, of.Durability, figure.Plural(of.Cores, "core"), figure.Percent(of.Writes),
		figure.Plural(len(of.Calibrations), "calibration"))}
	measured := of.RateError != nil
	columns := []string{"mean", "p50", "p99", "commits/sync"}
	if measured {
		columns = []string{"measured", "error", "predicted p99", "measured", "error"}
	}
	s.Table = &Table{Header: slices.Concat([]string{"workers", "predicted ok/s"}, columns, []string{"journal busy", "cores busy"})}
	for _, q := range of.Points {
		row := []string{fmt.Sprint(q.Workers), figure.Rate(q.Rate)}
		switch m := q.Measured; {
		case !measured:
			row = append(row, duration(q.Mean), duration(q.P50), duration(q.P99), figure.Significant(q.Batch))
		case m == nil:
			row = append(row, "–", "–", duration(q.P99), "–", "–")
		default:
			row = append(row, figure.Rate(m.Rate), signed(m.RateError), duration(q.P99), duration(m.P99), signed(m.P99Error))
		}
		s.Table.row(append(row, figure.Percent(q.Journal), figure.Percent(q.CPU))...)
	}
	for _, why := range of.LeftOut {
		s.Points = append(s.Points, Point{Note, "not compared", why})
	}
	return s
}

// predictionPicture draws predicted and measured throughput over workers, relative to the prediction for the fewest.
func predictionPicture(of *record.ProbePrediction) *Figure {
	if of == nil || len(of.Points) == 0 || of.RateError == nil {
		return nil
	}
	base := of.Points[0].Rate
	f := ratioRows("picture", "Predicted (hollow diamonds) and measured (dots) ok/s",
		"ok/s, relative to the prediction for "+figure.Plural(of.Points[0].Workers, "worker")+" (logarithmic)", "prediction")
	for _, q := range of.Points {
		r := chart.Row{Name: figure.Plural(q.Workers, "worker"), Published: q.Rate / base, Value: math.NaN(), Low: math.NaN(),
			High: math.NaN(), Class: string(Note), Text: figure.Rate(q.Rate) + " | –"}
		if m := q.Measured; m != nil {
			r.Value, r.Text, r.Class = m.Rate/base, figure.Rate(q.Rate)+" | "+figure.Rate(m.Rate), string(Good)
			if math.Abs(m.RateError) > predictionGoal {
				r.Class = string(Warn)
			}
		}
		f.Rows = append(f.Rows, r)
	}
	f.Dense = len(f.Rows) >= manyRows
	return rowsFigure(f, "Numbers: predicted | measured ok/s.", nil)
}

// predictionGoal is the error from which a point is marked.
const predictionGoal = 0.15

func predictionKind() *kind {
	k := kindOf("a prediction", figureless(predictionDocument))
	k.value = typed(func(p *Prediction) any { return p.Probe })
	return k
}
