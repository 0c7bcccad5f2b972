package report

import (
	"cmp"
	"encoding/csv"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/plimsoll-bench/plimsoll/internal/figure"
	"github.com/plimsoll-bench/plimsoll/internal/safeopen"
	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/report/chart"
	"github.com/plimsoll-bench/plimsoll/spec"
)

// probeFiles are what the page of a probe shows besides its main file: its timeline.
type probeFiles struct {
	*Source
	Seconds []record.ProbeSecond
}

func probeKind() *kind {
	k := kindOf("a probe", probeDocument)
	k.name, k.open, k.csv, k.bench = record.KindProbe, openProbe, table(probeCSV), table(probeBench)
	k.now, k.spark, k.told = probeNow, probeSpark, true
	k.list = listed(func(p *record.Probe, e *Entry) {
		if j := p.Journal; j != nil && j.Flush != nil {
			e.Rate, e.P99 = figure.Rate(j.Ceiling)+"/s", p99Of(j.Flush)
		}
	})
	return k
}

func openProbe(s *Source, dir string) error {
	p, err := record.OpenProbe(dir)
	if err != nil {
		return err
	}
	on := &probeFiles{Source: s}
	s.Result, s.files = p, on
	s.note(func() (err error) { on.Seconds, err = record.ProbeTimeline(dir); return err })
	s.command = exactCommand(p.Command)
	// Histograms are long texts, which Tidy would cut.
	histograms := make([]map[string]string, len(p.Steps))
	for i := range p.Steps {
		histograms[i], p.Steps[i].Histograms = p.Steps[i].Histograms, nil
	}
	Tidy(p)
	for i := range p.Steps {
		p.Steps[i].Histograms = histograms[i]
	}
	return nil
}

func rampFigure(p *record.Probe, rate bool) *Figure {
	c := &chart.XY{Frame: chart.Frame{ID: "probe-ramp", Title: "Operations per second over threads", Description: "If a line is flat, more threads do not help."},
		X: chart.Axis{Label: "threads", Log: true}, Y: chart.Axis{Label: "op/s", Unit: chart.PerSecond, Zero: true}}
	if !rate {
		c.ID, c.Title, c.Description = "probe-ramp-latency", "Latency over threads (p99)", "The price of more threads for each operation."
		c.Y = chart.Axis{Label: "p99", Unit: chart.Nanoseconds, Log: true}
	}
	for _, op := range []string{"read", "write", "mixed"} {
		line := chart.Series{Name: op, Dots: true, Colour: len(c.Series)}
		for _, s := range p.ProfileSteps(spec.ProbeRandom) {
			if s.Operation != op || s.Latency == nil {
				continue
			}
			y := s.Rate
			if !rate {
				y = or(s.Latency.P99)
			}
			line.X, line.Y = append(line.X, float64(s.Threads)), append(line.Y, y)
		}
		if len(line.X) > 0 {
			c.Series = append(c.Series, line)
		}
	}
	return drawn(c, nil)
}

// drawn is a figure of series, nil if none has a value. numbers are those that no table beside it has.
func drawn(c *chart.XY, numbers *Table) *Figure {
	for _, s := range c.Series {
		if slices.ContainsFunc(s.Y, func(y float64) bool { return !math.IsNaN(y) }) {
			return newFigure(c, "", numbers)
		}
	}
	return nil
}

func commitFigure(p *record.Probe) *Figure {
	c := &chart.XY{Frame: chart.Frame{ID: "probe-commit", Title: "Commit latency over clients, and the model",
		Description: "The model is one flush for one client and two for more. If the measured line differs, commits wait for something other than the flush."},
		X: chart.Axis{Label: "clients", Log: true}, Y: chart.Axis{Label: "mean", Unit: chart.Nanoseconds, Log: true}}
	measured := chart.Series{Name: "measured", Dots: true}
	model := chart.Series{Name: "model", Style: chart.Dashed, Colour: 1}
	for _, s := range p.ProfileSteps(spec.ProbeJournal) {
		if s.Latency == nil || s.Model == nil {
			continue
		}
		x := float64(s.Clients)
		measured.X, measured.Y = append(measured.X, x), append(measured.Y, s.Latency.Mean)
		model.X, model.Y = append(model.X, x), append(model.Y, float64(s.Model.Latency))
	}
	c.Series = []chart.Series{measured, model}
	return drawn(c, nil)
}

// predictedFigure draws the predicted throughput or p99 of an engine over its workers, and what runs showed.
func predictedFigure(p *record.Probe, rate bool) *Figure {
	of := p.Prediction
	if of == nil {
		return nil
	}
	c := &chart.XY{Frame: chart.Frame{ID: "probe-predicted-rate", Title: "Predicted and measured operations per second over workers",
		Description: "The prediction is made before the engine runs on this storage."},
		X: chart.Axis{Label: "workers", Log: true}, Y: chart.Axis{Label: "ok/s", Unit: chart.PerSecond, Log: true}}
	if !rate {
		c.ID, c.Title = "probe-predicted-p99", "Predicted and measured p99 of durable writes over workers"
		c.Y = chart.Axis{Label: "p99", Unit: chart.Nanoseconds, Log: true}
	}
	predicted, measured := chart.Series{Name: "predicted", Style: chart.Dashed, Colour: 1}, chart.Series{Name: "measured", Dots: true}
	add := func(to *chart.Series, workers int, y float64, p99 int64) {
		if !rate {
			y = float64(p99)
		}
		to.X, to.Y = append(to.X, float64(workers)), append(to.Y, y)
	}
	for _, q := range of.Points {
		add(&predicted, q.Workers, q.Rate, q.P99)
		if m := q.Measured; m != nil {
			add(&measured, q.Workers, m.Rate, m.P99)
		}
	}
	if c.Series = []chart.Series{predicted}; len(measured.X) > 0 {
		c.Series = append(c.Series, measured)
	}
	return drawn(c, nil)
}

// spectrumFigure draws the distribution of one flush with one client: the share of flushes that take longer.
func spectrumFigure(p *record.Probe) *Figure {
	c := &chart.XY{Frame: chart.Frame{ID: "probe-flush", Title: "Share of flushes that take longer", Description: "Commits at p99 wait for the long tail to the right."},
		X: chart.Axis{Label: "one write and flush", Unit: chart.Nanoseconds, Log: true}, Y: chart.Axis{Label: "longer", Unit: chart.Share, Log: true}}
	numbers := &Table{Left: -1, Header: []string{"clients", "flush", "longer"}}
	for _, s := range p.ProfileSteps(spec.ProbeJournal) {
		if s.Clients != 1 && s.Clients != 16 {
			continue
		}
		h, err := measure.Decode(s.Histograms["flush"])
		if err != nil || h.Count() == 0 {
			continue
		}
		line := chart.Series{Name: figure.Plural(s.Clients, "client"), Colour: len(c.Series)}
		for _, q := range []float64{0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 0.995, 0.999, 0.9999} {
			if !h.Enough(q) {
				continue
			}
			at := h.Quantile(q)
			line.X, line.Y = append(line.X, float64(at)), append(line.Y, 1-q)
			numbers.Rows = append(numbers.Rows, []string{fmt.Sprint(s.Clients), duration(at), figure.Percent(1 - q)})
		}
		c.Series = append(c.Series, line)
	}
	return drawn(c, numbers)
}

// course draws a step over time: bytes for sustained writes, the p99 of commits beside checkpoints.
func (on *probeFiles) course(p *record.Probe, profile string) *Figure {
	if on == nil {
		return nil
	}
	c := &chart.XY{Frame: chart.Frame{ID: "probe-" + profile, Title: "Bytes per second over time", Description: "A step down is a cache that was full, or credits that were used up."},
		X: chart.Axis{Label: "time", Unit: chart.Seconds}, Y: chart.Axis{Label: "written", Unit: chart.BytesPerSec, Zero: true}}
	sustained := profile == spec.ProbeSustained
	if !sustained {
		c.Title, c.Description = "Commit latency over time (p99)", "Shaded stretches are checkpoints."
		c.Y = chart.Axis{Label: "p99", Unit: chart.Nanoseconds, Log: true}
	}
	line := chart.Series{Name: profile}
	numbers := &Table{Left: -1, Header: []string{"time", "value", "p99"}}
	for _, x := range on.Seconds {
		if x.Step >= len(p.Steps) || p.Steps[x.Step].Profile != profile ||
			x.Length < int64(100*time.Millisecond) {
			continue
		}
		at, seconds := time.Duration(x.At+x.Length).Seconds(), time.Duration(x.Length).Seconds()
		y := float64(x.Bytes) / seconds
		if !sustained {
			y = math.NaN()
			if x.P99 > 0 {
				y = float64(x.P99)
			}
			if x.Checkpoint {
				c.Spans = append(c.Spans, chart.Span{From: at - seconds, To: at})
			}
		}
		line.X, line.Y = append(line.X, at), append(line.Y, y)
		numbers.Rows = append(numbers.Rows, []string{fmt.Sprintf("%.0f s", at),
			figure.Bytes(int64(float64(x.Bytes)/seconds)) + "/s", duration(x.P99)})
	}
	c.Series = []chart.Series{line}
	if r := p.Sustained; sustained && r != nil && r.Fell {
		c.Marks = []chart.Mark{{X: time.Duration(r.At).Seconds(), Text: "fell for good", Kind: "bad"}}
	}
	return drawn(c, numbers)
}

func probeNow(dir string) (Now, error) {
	var x record.ProbeSecond
	if line := lastLine(filepath.Join(dir, record.TimelineFile)); line == nil || safeopen.Unmarshal(line, &x) != nil {
		return Now{Text: "Nothing is measured yet."}, nil
	}
	seconds := time.Duration(x.Length).Seconds()
	text := fmt.Sprintf("step %d, %s", x.Step+1, clock(x.At+x.Length))
	if seconds > 0 {
		text += fmt.Sprintf(": %s op/s, %s/s", figure.Rate(float64(x.Operations)/seconds), figure.Bytes(int64(float64(x.Bytes)/seconds)))
	}
	if x.P99 > 0 {
		text += fmt.Sprintf("; p50 %s, p99 %s", duration(x.P50), duration(x.P99))
	}
	return Now{Text: text}, nil
}

// probeCSV writes one line per step, the first line being the header. Times are in microseconds; a field is empty where
// there are too few values to state it, or where it does not belong to the step.
func probeCSV(w io.Writer, p *record.Probe) error {
	header := []string{"started", "directory", "filesystem", "status", "validity", "verdict", "profile", "operation", "threads", "clients", "block", "mode", "sync",
		"seconds", "operations", "op_per_s", "bytes_per_s", "flushes", "flushes_per_sync", "writes_per_sync", "model_us", "cpu_seconds"}
	for _, kind := range []string{"latency", "flush"} {
		for _, q := range []string{"mean", "p50", "p99", "p99.9", "max"} {
			header = append(header, kind+"_"+q+"_us")
		}
	}
	rows := [][]string{header}
	for _, s := range p.Steps {
		flushes, writes, model := "", "", ""
		if len(s.Devices) > 0 {
			if f := s.Devices[0].FlushesPerSync; f != nil {
				flushes = number(*f)
			}
			if w := s.Devices[0].WritesPerSync; w != nil {
				writes = number(*w)
			}
		}
		if s.Model != nil {
			model = number(float64(s.Model.Latency) / 1e3)
		}
		row := []string{p.Started.UTC().Format(time.RFC3339), p.Specification.Directory, p.Storage.Filesystem,
			string(p.Status), validity(p.Validity), string(p.Verdict), s.Profile, s.Operation,
			strconv.Itoa(s.Threads), strconv.Itoa(s.Clients), integer(s.Block), s.Mode, s.Sync, number(s.Seconds),
			integer(s.Operations), number(s.Rate), number(s.BytesRate),
			integer(s.Flushes), flushes, writes, model, number(s.CPUSeconds)}
		for _, l := range []*record.Latency{s.Latency, s.Flush} {
			l = cmp.Or(l, &record.Latency{})
			row = append(row, microseconds(l, l.P50, l.P99, l.P999)...)
		}
		rows = append(rows, row)
	}
	return csv.NewWriter(w).WriteAll(rows)
}

// probeBench writes each step in the format of Go benchmarks, which benchstat compares.
func probeBench(w io.Writer, p *record.Probe) error {
	b := benchWriter{w: w}
	b.head(p.Environment, p.Validity)
	for _, s := range p.Steps {
		if s.Latency == nil {
			continue
		}
		flush := ""
		if s.Flush != nil && s.Flush.P50 != nil {
			flush = fmt.Sprintf("\t%d flush-p50-ns", *s.Flush.P50)
		}
		b.printf("BenchmarkDisk/profile=%s/operation=%s/threads=%d/clients=%d \t%d\t%s%s\t%.1f op/s\n", word(s.Profile), word(s.Operation),
			s.Threads, s.Clients, s.Operations, benchTimes(s.Latency), flush, s.Rate)
	}
	return b.err
}
