// Package course reads the course of a run: its intervals merged into as many bins as a chart can show, with
// percentiles of merged histograms, and the whole distribution of each operation class.
//
// Of long runs it reads the merged intervals ([record.EachMerged]).
package course

import (
	"fmt"
	"math"
	"time"

	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/record"
)

// maxBins is about the most bins that a course has: fifty minutes in seconds, eight hours in tens of seconds, two days
// in minutes.
const maxBins = 3000

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
}

// Bin is an interval of one phase. Times are those of successful operations from their schedule, or from sending if
// there is none, in nanoseconds.
type Bin struct {
	Start, End time.Duration
	Phase      string
	Tally      measure.Tally
	Offered    int64
	Dropped    int64
	Workers    int
	// InFlight is the mean number of operations under way, NaN if it was not sampled.
	InFlight float64
	// Count is the number of times. P50 and P99 are of all operations; they are -1 if there are too few, or more did not
	// succeed than lie above.
	Count         int64
	P50, P99, Max int64
	// Bands are the numbers of times in each band; see [Band].
	Bands []int64
}

func (b *Bin) Seconds() float64 { return (b.End - b.Start).Seconds() }

// Spectrum is the distribution of the times of one operation class.
type Spectrum struct {
	Class string
	Part  bool
	// Response is nil where there was no schedule, because it equals Service.
	Response, Service *measure.Histogram
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
	b := newBuilder(r)
	complete, err := record.EachMerged(dir, r, maxBins, b.add)
	c := b.course()
	c.Complete = complete
	if err != nil {
		err = fmt.Errorf("the course of the run is shown as far as it can be read: %w", err)
	}
	return c, err
}

// builder puts intervals into bins. A bin never crosses the border of a phase.
type builder struct {
	dims  measure.Dims
	width time.Duration // of a bin
	bins  []Bin
	from  time.Duration // when the phase of the last bins began
	// open are the last bins of that phase, at most two: of which the last one may become a part of the one before.
	open  []*openBin
	total *measure.Summary // of the measured phase
}

// openBin is a bin that may still grow.
type openBin struct {
	Bin
	times   *measure.Histogram
	sampled time.Duration // in which InFlight was sampled
}

func newBuilder(r *record.Run) *builder {
	b := &builder{dims: r.Dims(), total: measure.NewSummary(r.Dims(), "measure"), width: 1}
	var length time.Duration
	for _, p := range r.Phases {
		length = max(length, time.Duration(p.End))
	}
	for _, s := range []time.Duration{1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 1800, 3600} {
		if length < maxBins*time.Second || length/b.width < maxBins {
			break
		}
		b.width = s * time.Second
	}
	return b
}

// add takes over an interval; it is called in order of time.
func (b *builder) add(iv *measure.Interval) error {
	b.width = max(b.width, iv.End-iv.Start)
	n := len(b.open)
	if n > 0 && b.open[0].Phase != iv.Phase {
		b.phaseEnds()
		n = 0
	}
	if n == 0 {
		b.from = iv.Start
	}
	if edge := b.from + (iv.Start-b.from)/b.width*b.width; n == 0 || b.open[n-1].Start < edge {
		if n == 2 {
			b.bins = append(b.bins, b.open[0].finish())
			b.open = b.open[1:]
		}
		b.open = append(b.open, &openBin{Bin: Bin{Start: iv.Start, Phase: iv.Phase, P50: -1, P99: -1},
			times: measure.NewHistogram()})
		n = len(b.open)
	}
	if err := b.open[n-1].add(b.dims, iv); err != nil {
		return err
	}
	if iv.Phase != "measure" && iv.Phase != "drain" {
		return nil
	}
	return b.total.AddTail(iv) // only its distributions are used
}

// phaseEnds closes the bins of a phase. What is left at its end is a part of the bin before if it is short.
func (b *builder) phaseEnds() {
	if n := len(b.open); n == 2 && b.open[1].End-b.open[1].Start < b.width/2 {
		b.open[0].merge(b.open[1])
		b.open = b.open[:1]
	}
	for _, o := range b.open {
		b.bins = append(b.bins, o.finish())
	}
	b.open = nil
}

func (b *builder) course() *Course {
	b.phaseEnds()
	c := &Course{Width: b.width, Bins: b.bins}
	if len(c.Bins) == 0 {
		c.Width = time.Second
	}
	for i, class := range b.dims.Classes {
		s := Spectrum{Class: class.Name, Part: class.Part, Response: b.total.Classes[i].Response,
			Service: b.total.Classes[i].Service}
		if s.Response.Count()+s.Service.Count() > 0 {
			c.Spectra = append(c.Spectra, s)
		}
	}
	return c
}

func (o *openBin) add(d measure.Dims, iv *measure.Interval) error {
	x := &openBin{Bin: Bin{End: iv.End, Tally: iv.Tally(d), Offered: iv.Offered, Dropped: iv.Dropped, Workers: iv.Workers}}
	if iv.Samples > 0 {
		x.InFlight, x.sampled = iv.InFlight, iv.End-iv.Start
	}
	o.merge(x)
	for i := range iv.Classes {
		if d.Classes[i].Part {
			continue
		}
		if times := iv.Classes[i].Answered(); times.Count() > 0 {
			if err := o.times.Merge(times); err != nil {
				return err
			}
		}
	}
	return nil
}

// merge adds what happened in another bin, or interval, of the phase.
func (o *openBin) merge(x *openBin) {
	o.End = max(o.End, x.End)
	o.Tally = o.Tally.Add(x.Tally)
	o.Offered += x.Offered
	o.Dropped += x.Dropped
	o.Workers = max(o.Workers, x.Workers)
	if x.sampled > 0 {
		o.InFlight = (o.InFlight*float64(o.sampled) + x.InFlight*float64(x.sampled)) / float64(o.sampled+x.sampled)
		o.sampled += x.sampled
	}
	if x.times.Count() > 0 {
		_ = o.times.Merge(x.times) // both were made here, and have fewer values than an interval can count
	}
}

// finish states what the merged times of a bin allow.
func (o *openBin) finish() Bin {
	b := o.Bin
	if o.sampled == 0 {
		b.InFlight = math.NaN()
	}
	b.Count, b.Max = o.times.Count(), o.times.Max()
	b.Bands = make([]int64, bandCount)
	for ns, n := range o.times.Buckets() {
		b.Bands[min(bandOf(ns), bandCount-1)] += n
	}
	due := measure.Due{Answered: o.times, Lost: o.Tally.Bad() + o.Dropped}
	if ns, answered := due.Value(0.5); answered && o.times.Enough(0.5) {
		b.P50 = ns
	}
	if ns, answered := due.Value(0.99); answered && o.times.Enough(0.99) {
		b.P99 = ns
	}
	return b
}
