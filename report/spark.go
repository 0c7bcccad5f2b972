package report

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"time"

	"github.com/plimsoll-bench/plimsoll/internal/figure"
	"github.com/plimsoll-bench/plimsoll/internal/safeopen"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/report/chart"
)

// Bounds of the small lines in a list. A run of up to ten minutes is read in seconds, a longer one in the merged
// intervals of its record.
const (
	coursePoints = 60     // of a line
	courseLines  = 600    // about how many intervals of a run are wanted
	mostOfRecord = 12_000 // intervals of a run that has no merged ones
)

// Spark is how a record went over time, as a list shows it.
type Spark struct {
	chart.Spark
	// Last is the throughput of the newest interval, empty if it is not known.
	Last string
}

// SparkOf is the course of a record of a kind. The number of intervals that were read is taken from lines.
func SparkOf(kind, dir string, lines *int) (Spark, error) {
	if k := named(kind); k.spark != nil {
		return k.spark(dir, lines)
	}
	return Spark{}, nil
}

// mainOf reads the main file of a record as it is, without its journal, its checksums and its other files.
func mainOf[T any](dir, file string) (*T, error) {
	b, err := safeopen.ReadFile(dir, file, safeopen.MaxDocument)
	if err != nil {
		return nil, err
	}
	r := new(T)
	return r, safeopen.Unmarshal(b, r)
}

var errManyLines = errors.New("the run has too many intervals for a small line")

// runSpark draws the successful operations per second of a run. marks are moments of the run in nanoseconds.
func runSpark(dir string, lines *int) (Spark, error) { return runSparkWith(dir, nil, lines) }

func runSparkWith(dir string, marks []int64, lines *int) (Spark, error) {
	r, err := mainOf[record.Run](dir, record.RunFile)
	if err != nil {
		return Spark{}, err
	}
	var read []*record.IntervalLine
	var end int64
	err = record.EachMergedLine(dir, lengthOf(dir, r), courseLines, func(l *record.IntervalLine) error {
		*lines--
		if len(read) == mostOfRecord {
			return errManyLines
		}
		end = max(end, l.End)
		read = append(read, l)
		return nil
	})
	if err != nil || len(read) == 0 {
		return Spark{}, err
	}
	c := ratesOf(r, read, end)
	last := read[len(read)-1]
	if seconds := time.Duration(last.End - last.Start).Seconds(); seconds > 0 {
		c.last = float64(tallyOf(r, last).ok) / seconds
	}
	s := chart.Spark{Values: c.values, Measured: c.measured,
		Label: "successful operations per second over " + duration(end) + ": " + extremes(c.values[c.measured:])}
	for _, at := range marks {
		s.Marks = append(s.Marks, float64(at)/float64(end)*float64(len(c.values))-0.5)
	}
	return Spark{s, figure.Rate(c.last) + "/s"}, nil
}

// lengthOf is about how long a run was; one that has no end yet is as long as until its files were written last.
func lengthOf(dir string, r *record.Run) (length time.Duration) {
	for _, p := range r.Phases {
		length = max(length, time.Duration(p.End))
	}
	if length == 0 && safeopen.Exists(dir, record.IntervalsFile) {
		if f, err := safeopen.Open(dir, record.IntervalsFile); err == nil {
			defer f.Close()
			if info, err := f.Stat(); err == nil {
				length = info.ModTime().Sub(r.Started)
			}
		}
	}
	return length
}

// rates are operations per second in evenly long stretches of a run.
type rates struct {
	values   []float64
	measured int // the first stretch of the measured time
	last     float64
}

// ratesOf spreads what succeeded in each interval evenly over its time, so that intervals of any length give stretches
// of the same one.
func ratesOf(r *record.Run, lines []*record.IntervalLine, end int64) rates {
	n := min(coursePoints, max(2, len(lines)))
	c := rates{values: make([]float64, n), measured: -1}
	width := float64(end) / float64(n)
	for _, l := range lines {
		if l.End <= l.Start || l.Start < 0 {
			continue
		}
		rate := float64(tallyOf(r, l).ok) / float64(l.End-l.Start)
		first := max(0, min(n-1, int(float64(l.Start)/width)))
		if l.Phase == "measure" && c.measured < 0 {
			c.measured = first
		}
		for i := first; i < n; i++ {
			from, to := max(float64(l.Start), float64(i)*width), min(float64(l.End), float64(i+1)*width)
			if to <= from {
				break
			}
			c.values[i] += rate * (to - from) / width * 1e9
		}
	}
	c.measured = max(0, c.measured)
	return c
}

// extremes are the lowest and the highest value.
func extremes(values []float64) string {
	return fmt.Sprintf("lowest %s, highest %s", figure.Rate(slices.Min(values)), figure.Rate(slices.Max(values)))
}

// drillSpark draws the run of the first round, with the moments at which something was broken.
func drillSpark(dir string, lines *int) (Spark, error) {
	d, err := mainOf[record.Drill](dir, record.DrillFile)
	if err != nil {
		return Spark{}, err
	}
	run, err := record.Below(dir, path.Join(record.RoundsDir, "1"))
	if err != nil {
		return Spark{}, nil // it has not begun
	}
	var marks []int64
	if len(d.Rounds) > 0 {
		for _, f := range d.Rounds[0].Faults {
			if f.Injected > 0 {
				marks = append(marks, f.Injected)
			}
		}
	}
	return runSparkWith(run, marks, lines)
}

// studySpark has a dot for the throughput of each trial, in the order of the plan.
func studySpark(dir string, _ *int) (Spark, error) {
	s, err := mainOf[record.Study](dir, record.StudyFile)
	if err != nil {
		return Spark{}, err
	}
	var values []float64
	for i := range s.Trials {
		t := &s.Trials[i]
		if v, ok := t.Values["throughput"]; ok && t.Status == record.TrialDone && t.Kind != record.TrialSearch {
			values = append(values, v)
		}
	}
	if len(values) < 2 {
		return Spark{}, nil
	}
	values = thinned(values)
	return Spark{Spark: chart.Spark{Values: values, Dots: true,
		Label: "throughput of " + figure.Plural(len(values), "trial") + ": " + extremes(values)}}, nil
}

// probeSpark draws the operations per second of all steps of a probe, one after the other.
func probeSpark(dir string, lines *int) (Spark, error) {
	seconds, err := record.ProbeTimeline(dir)
	if err != nil {
		return Spark{}, err
	}
	*lines -= len(seconds)
	var values []float64
	for _, s := range seconds {
		if s.Length > 0 {
			values = append(values, float64(s.Operations)/time.Duration(s.Length).Seconds())
		}
	}
	if len(values) < 2 {
		return Spark{}, nil
	}
	values = thinned(values)
	return Spark{Spark: chart.Spark{Values: values, Label: "operations per second of all steps: highest " + figure.Rate(slices.Max(values))}}, nil
}

// thinned are the means of as many stretches as a small line has room for.
func thinned(values []float64) []float64 {
	if len(values) <= coursePoints {
		return values
	}
	list := make([]float64, coursePoints)
	for i := range list {
		from, to := i*len(values)/coursePoints, (i+1)*len(values)/coursePoints
		for _, v := range values[from:to] {
			list[i] += v / float64(to-from)
		}
	}
	return list
}
