package record

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/plimsoll-bench/plimsoll/internal/finite"
)

// Samples stores what was seen beside the load, in order of time. The run must have begun. The file is made
// with the first of them, so a record without samples has none.
func (w *RunWriter) Samples(list []Sample) error {
	if !w.begun {
		return errors.New("samples came before Begin. This is a bug in plimsoll; please report it")
	}
	if w.failed != nil || len(list) == 0 {
		return w.failed
	}
	lines := make([]any, len(list))
	for i := range list {
		list[i].Source = w.red.source(list[i].Source)
		for _, name := range finite.Take(list[i].Values) {
			w.dropped.add(list[i].Source, name)
		}
		lines[i] = list[i]
	}
	if w.samples == nil {
		var err error
		if w.samples, err = createPacked(w.dir, SamplesFile); err != nil {
			return w.check(err)
		}
		w.run.Files = append(w.run.Files, File{SamplesFile, "one JSON line per second and source, of machines and servers during the load, compressed with zstd"})
	}
	if err := w.check(w.samples.write(lines...)); err != nil {
		return err
	}
	w.series.add(list)
	return nil
}

// droppedValues counts values of series that were left out, because they are not finite or far too large.
type droppedValues map[seriesKey]int64

func (d *droppedValues) add(source, name string) {
	if *d == nil {
		*d = droppedValues{}
	}
	(*d)[seriesKey{source, name}]++
}

// NotTaken says how many values of a series were left out by [finite.Take].
func NotTaken(source, name string, n int64) string {
	return fmt.Sprintf("%s of %s: %d values were not finite numbers below %g and are left out", name, source, n, finite.Most)
}

// mostNamed bounds the series that a note names.
const mostNamed = 10

// notes says how many values are missing, and of which series.
func (d droppedValues) notes() []string {
	var out []string
	keys := slices.SortedFunc(maps.Keys(d), func(a, b seriesKey) int {
		return cmp.Or(strings.Compare(a.source, b.source), strings.Compare(a.name, b.name))
	})
	for i, k := range keys {
		if i == mostNamed {
			out = append(out, fmt.Sprintf("values of %d more series were not finite numbers below %g and are left out", len(keys)-i, finite.Most))
			break
		}
		out = append(out, NotTaken(k.source, k.name, d[k]))
	}
	return out
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

// seriesOf returns the series of the samples, with the rate of the measured phase.
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
		finite.Take(x.Values)
		series.add([]Sample{x})
		series.settle(s.Start, s.End)
		return nil
	})
	return seriesOf(sums, &series), err
}
