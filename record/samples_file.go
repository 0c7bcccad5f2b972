package record

import (
	"encoding/json"
	"errors"
	"io/fs"
	"math"
	"time"

	"github.com/klauspost/compress/zstd"
)

// samplesFile is the samples of a record while they are written.
type samplesFile struct {
	lines    *lineFile
	compress *zstd.Encoder
}

func createSamples(dir string) (*samplesFile, error) {
	lines, err := createLines(dir, SamplesFile)
	if err != nil {
		return nil, err
	}
	z, err := zstd.NewWriter(lines, zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(1<<20))
	if err != nil {
		return nil, errors.Join(err, lines.close())
	}
	return &samplesFile{lines, z}, nil
}

// write appends samples and flushes, so that a killed process leaves them readable.
func (f *samplesFile) write(list []Sample) error {
	lines := json.NewEncoder(f.compress)
	for _, s := range list {
		if err := lines.Encode(s); err != nil {
			return err
		}
	}
	return errors.Join(f.compress.Flush(), f.lines.Flush())
}

func (f *samplesFile) close() error { return errors.Join(f.compress.Close(), f.lines.close()) }

// Samples stores what was seen beside the load, in order of time. The run must have begun. The file is made
// with the first of them, so a record without samples has none.
func (w *RunWriter) Samples(list []Sample) error {
	if !w.begun {
		return errors.New("samples came before Begin. This is a bug in plimsoll; please report it")
	}
	if w.failed != nil || len(list) == 0 {
		return w.failed
	}
	for i := range list {
		list[i].Source, list[i].Values = w.source(list[i].Source), finite(list[i].Values)
	}
	if w.samples == nil {
		var err error
		if w.samples, err = createSamples(w.dir); err != nil {
			return w.check(err)
		}
		w.run.Files = append(w.run.Files, File{SamplesFile, "one JSON line per second and source, of machines and servers during the load, compressed with zstd"})
	}
	if err := w.check(w.samples.write(list)); err != nil {
		return err
	}
	w.series.add(list)
	return nil
}

// finite leaves out what JSON has no number for.
func finite(values map[string]float64) map[string]float64 {
	for name, v := range values {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			delete(values, name)
		}
	}
	return values
}

// settleSeries counts the samples of the measured phase as far as it was written, and forgets those from
// before since, which no later phase can need.
func (w *RunWriter) settleSeries(since time.Duration) {
	if s := w.sums.get(phaseMeasure); s != nil {
		w.series.settle(s.Start, s.End)
		return
	}
	w.series.settle(since, since)
}

// seriesOf returns what became of the samples, by the rate of the measured phase.
func seriesOf(sums *summaries, series *seriesSums) []Series {
	s := sums.get(phaseMeasure)
	if s == nil {
		return nil
	}
	return series.list(s.Rate(s.Ended().Succeeded))
}

// EachSample calls f with every whole sample of a record, in the order in which they were written. complete is
// false if the file ends early, as that of a killed run does. A record without samples has none.
func EachSample(dir string, f func(Sample) error) (complete bool, err error) {
	complete, err = eachLine(dir, SamplesFile, func(s *Sample) error { return f(*s) })
	if errors.Is(err, fs.ErrNotExist) {
		return true, nil
	}
	return complete, err
}

// recoverSeries sums up the samples of a killed run.
func recoverSeries(dir string, sums *summaries) ([]Series, error) {
	s := sums.get(phaseMeasure)
	if s == nil {
		return nil, nil
	}
	var series seriesSums
	_, err := EachSample(dir, func(x Sample) error {
		series.add([]Sample{x})
		series.settle(s.Start, s.End)
		return nil
	})
	return seriesOf(sums, &series), err
}
