// Package course reads how a run went in time: its intervals merged into bins that a picture has room for, with
// percentiles of merged histograms, and the whole distribution of each operation class.
//
// [record.EachInterval] gives every interval with histograms that can do everything. A day of seconds has hundreds
// of thousands of them, and a page is not to take minutes, so this package adds up the counts of the log directly,
// on all processors. Its results are the same; a test compares them.
package course

import (
	"fmt"
	"math"
	"time"

	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/record"
)

// MaxBins is the most bins that a course has: a day in bins of 30 s, which is also what TPC-C 5.6.4 asks for.
const MaxBins = 3000

// Course is a run in time.
type Course struct {
	// Width is the length of a bin. Only the last one of a phase differs: what is left at its end is a bin of its own if
	// it is at least half as long, because the rate of a moment says nothing, or else part of the bin before it.
	Width time.Duration
	Bins  []Bin
	// Spectra are the distributions of the measured phase by class, operations that ended after it included.
	Spectra []Spectrum
	// Complete is false if the files end early, as those of a killed run do.
	Complete bool
	// Intervals is how many intervals were merged.
	Intervals int
}

// Bin is what happened in a stretch of one phase. Times are those of successful operations from when they were
// due, or from sending where there was no schedule, in nanoseconds.
type Bin struct {
	Start, End time.Duration
	Phase      string
	Tally      measure.Tally
	Offered    int64
	Dropped    int64
	Workers    int
	// InFlight is the mean number of operations under way, NaN if it was not sampled.
	InFlight float64
	// Count is how many times there are; P50 and P99 are -1 where they are too few to state them.
	Count         int64
	P50, P99, Max int64
	// Bands are how many times lie in each band; see [Band].
	Bands []int64

	sampled time.Duration
}

// Seconds is the length of a bin.
func (b *Bin) Seconds() float64 { return (b.End - b.Start).Seconds() }

// Spectrum is the distribution of the times of one operation class.
type Spectrum struct {
	Class string
	Part  bool
	// Response is nil where there was no schedule, because it equals Service.
	Response, Service *Counts
}

// Band is a step of the bands: so many of them make a decade.
const perDecade = 8

// bandCount is enough for an hour.
var bandCount = bandOf(measure.HighestValue) + 1

func bandOf(ns int64) int {
	if ns < 1 {
		return 0
	}
	return int(math.Floor(math.Log10(float64(ns)) * perDecade))
}

// Band returns the ends of a band in nanoseconds.
func Band(i int) (low, high float64) {
	return math.Pow(10, float64(i)/perDecade), math.Pow(10, float64(i+1)/perDecade)
}

// Read reads the course of a record; r is its run.json. Where files are damaged, what was read until there is
// returned with the error.
func Read(dir string, r *record.Run) (*Course, error) {
	lines, complete, err := readLines(dir, r)
	c := newCourse(lines)
	c.Complete = complete
	if err != nil || len(lines) == 0 {
		return c, err
	}
	whole, err := readLog(dir, r, c, lines)
	c.Complete = c.Complete && whole
	return c, err
}

// newCourse puts intervals into bins. A bin never crosses the border of a phase.
func newCourse(lines []line) *Course {
	c := &Course{Width: time.Second, Intervals: len(lines)}
	if len(lines) == 0 {
		return c
	}
	c.Width = binWidth(lines)
	var from, until time.Duration // of the phase
	for i := range lines {
		l := &lines[i]
		if i == 0 || lines[i-1].phase != l.phase {
			from, until = l.start, phaseEnd(lines[i:])
		}
		n := len(c.Bins)
		edge := from + (l.start-from)/c.Width*c.Width
		if edge > from && until-edge < c.Width/2 {
			edge -= c.Width
		}
		if i == 0 || lines[i-1].phase != l.phase || c.Bins[n-1].Start < edge {
			c.Bins = append(c.Bins, Bin{Start: l.start, Phase: l.phase, P50: -1, P99: -1})
			n++
		}
		l.bin = n - 1
		c.Bins[n-1].add(l)
	}
	for i := range c.Bins {
		if c.Bins[i].sampled == 0 {
			c.Bins[i].InFlight = math.NaN()
		}
	}
	return c
}

// phaseEnd is where the phase ends that begins with the first of the lines.
func phaseEnd(lines []line) time.Duration {
	end := lines[0].end
	for i := 1; i < len(lines) && lines[i].phase == lines[0].phase; i++ {
		end = max(end, lines[i].end)
	}
	return end
}

// binWidth is the shortest that people count in and that makes no more than MaxBins.
func binWidth(lines []line) time.Duration {
	length := lines[len(lines)-1].end - lines[0].start
	width := lines[0].end - lines[0].start
	for i := range lines {
		width = max(width, lines[i].end-lines[i].start)
	}
	if length/max(width, 1) < MaxBins {
		return max(width, 1)
	}
	for _, s := range []time.Duration{1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 1800, 3600} {
		if w := s * time.Second; w >= width && length/w < MaxBins {
			return w
		}
	}
	return length/MaxBins + 1
}

func (b *Bin) add(l *line) {
	b.End = max(b.End, l.end)
	b.Tally = b.Tally.Add(l.tally)
	b.Offered += l.offered
	b.Dropped += l.dropped
	b.Workers = max(b.Workers, l.workers)
	b.Max = max(b.Max, l.max)
	if l.samples > 0 {
		length := l.end - l.start
		b.InFlight = (b.InFlight*float64(b.sampled) + l.inFlight*float64(length)) / float64(max(1, b.sampled+length))
		b.sampled += length
	}
}

// finish states what the merged counts of a bin allow.
func (b *Bin) finish(d *Counts) {
	b.Count = d.total
	b.Bands = d.bands()
	if d.total >= measure.MinCount(0.5) {
		b.P50 = d.Quantile(0.5, b.Max)
	}
	if d.total >= measure.MinCount(0.99) {
		b.P99 = d.Quantile(0.99, b.Max)
	}
}

func damaged(file, dir string, err error) error {
	return fmt.Errorf("%s in %s is damaged (%w); the course of the run is shown as far as it can be read", file, dir, err)
}
