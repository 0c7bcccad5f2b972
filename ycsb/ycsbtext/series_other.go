package ycsbtext

import (
	"fmt"
	"slices"
	"strconv"
	"time"
)

// bucketSeries is measurementtype=histogram: buckets of one millisecond.
type bucketSeries struct {
	name     string
	verbose  bool
	buckets  []int64
	overflow int64
	all      totals
	now      window
}

func newBucketSeries(name string, opts *Options) *bucketSeries {
	return &bucketSeries{name: name, verbose: opts.Verbose, buckets: make([]int64, opts.Buckets), all: newTotals()}
}

func (s *bucketSeries) record(_ time.Duration, us, n int64) {
	us = min(us, maxLatency)
	if ms := us / 1000; ms < int64(len(s.buckets)) {
		s.buckets[ms] += n
	} else {
		s.overflow += n
	}
	s.all.record(us, n)
	s.now.record(us, n)
}

func (s *bucketSeries) summary(time.Duration) (string, error) {
	return averageSummary(s.name, &s.now), nil
}

// averageSummary is the summary of the bucket and time series types in a status line.
func averageSummary(name string, now *window) string {
	w := now.reset()
	if w.n == 0 {
		return ""
	}
	return "[" + name + " AverageLatency(us)=" + formatDecimal(w.mean()) + "]"
}

func (s *bucketSeries) export(l *lines, returns []statusCount) {
	l.int("Operations", s.all.n)
	l.double("AverageLatency(us)", s.all.mean())
	l.double("LatencyVariance(us)", s.all.variance())
	l.int("MinLatency(us)", s.all.min)
	l.int("MaxLatency(us)", s.all.max)
	s.exportPercentiles(l)
	l.returns(returns)
	if s.verbose {
		for ms, n := range s.buckets {
			l.int(strconv.Itoa(ms), n)
		}
		l.int(">"+strconv.Itoa(len(s.buckets)), s.overflow)
	}
}

// exportPercentiles writes the lower end of the bucket of a percentile. As in YCSB, a percentile above the last bucket
// has no line.
func (s *bucketSeries) exportPercentiles(l *lines) {
	var seen int64
	done95 := false
	for ms, n := range s.buckets {
		seen += n
		share := float64(seen) / float64(s.all.n)
		if !done95 && share >= 0.95 {
			l.int("95thPercentileLatency(us)", int64(ms)*1000)
			done95 = true
		}
		if share >= 0.99 {
			l.int("99thPercentileLatency(us)", int64(ms)*1000)
			return
		}
	}
}

// timeSeries is measurementtype=timeseries: the average of every unit of time.
type timeSeries struct {
	name        string
	granularity time.Duration
	percentiles []float64
	hist        *latencies
	all         totals
	now         window

	begun bool
	first time.Duration // end of the first operation, from which units count
	unit  int64         // number of the current unit
	sum   window        // of the current unit
	done  []unitAverage
}

// unitAverage is the average of the unit of time that began ms after the first operation.
type unitAverage struct {
	ms      int64
	average float64
}

func newTimeSeries(name string, opts *Options) *timeSeries {
	return &timeSeries{name: name, granularity: opts.Granularity, percentiles: opts.SeriesValues,
		hist: newLatencies(), all: newTotals()}
}

func (s *timeSeries) record(at time.Duration, us, n int64) {
	if !s.begun {
		s.begun, s.first = true, at
	}
	us = min(us, maxLatency)
	if unit := int64((at - s.first) / s.granularity); unit > s.unit {
		s.endUnit()
		s.unit = unit
	}
	s.hist.record(us, n)
	s.all.record(us, n)
	s.now.record(us, n)
	s.sum.record(us, n)
}

// endUnit ends the current unit. Units without operations have no line.
func (s *timeSeries) endUnit() {
	sum := s.sum.reset()
	s.done = append(s.done, unitAverage{s.unit * s.granularity.Milliseconds(), sum.mean()})
}

func (s *timeSeries) summary(time.Duration) (string, error) {
	return averageSummary(s.name, &s.now), nil
}

func (s *timeSeries) export(l *lines, returns []statusCount) {
	s.endUnit()
	l.int("Operations", s.all.n)
	l.double("AverageLatency(us)", s.all.mean())
	l.int("MinLatency(us)", s.all.min)
	l.int("MaxLatency(us)", s.all.max)
	l.percentiles(s.hist, s.percentiles)
	l.returns(returns)
	for _, u := range s.done {
		l.double(strconv.FormatInt(u.ms, 10), u.average)
	}
}

// rawSeries is measurementtype=raw: every single value.
type rawSeries struct {
	name   string
	opts   *Options
	points []rawPoint
	sum    int64
	now    window
}

// rawPoint is one operation.
type rawPoint struct {
	at time.Duration // end, since the start of the run
	us int32
}

func (s *rawSeries) record(at time.Duration, us, n int64) {
	us = max(0, min(us, maxLatency))
	for range n {
		s.points = append(s.points, rawPoint{at, int32(us)})
	}
	s.sum += us * n
	s.now.record(us, n)
}

func (s *rawSeries) summary(time.Duration) (string, error) {
	w := s.now.reset()
	if w.n == 0 {
		return "", nil
	}
	return fmt.Sprintf("%s count: %d, average latency(us): %.2f", s.name, w.n, w.mean()), nil
}

func (s *rawSeries) export(l *lines, returns []statusCount) {
	if l.err == nil {
		l.err = s.dump()
	}
	l.int("Total Operations", int64(len(s.points)))
	if len(s.points) > 0 && s.opts.RawSummary {
		s.exportSummary(l)
	}
	l.returns(returns)
}

// dump writes every value in the order of recording.
func (s *rawSeries) dump() error {
	w := s.opts.RawOut
	if _, err := fmt.Fprintf(w, "%s latency raw data: op, timestamp(ms), latency(us)\n", s.name); err != nil {
		return err
	}
	for _, p := range s.points {
		if _, err := fmt.Fprintf(w, "%s,%d,%d\n", s.name, s.opts.Start.Add(p.at).UnixMilli(), p.us); err != nil {
			return err
		}
	}
	return nil
}

// rawQuantiles are the summary lines of a raw series after its minimum and maximum.
var rawQuantiles = []struct {
	name string
	q    float64
}{
	{"p1", 0.01}, {"p5", 0.05}, {"p50", 0.5}, {"p90", 0.9}, {"p95", 0.95}, {"p99", 0.99}, {"p99.9", 0.999}, {"p99.99", 0.9999},
}

func (s *rawSeries) exportSummary(l *lines) {
	sorted := make([]int32, len(s.points))
	for i, p := range s.points {
		sorted[i] = p.us
	}
	slices.Sort(sorted)
	n := len(sorted)
	l.int("Below is a summary of latency in microseconds:", -1)
	l.double("Average", float64(s.sum)/float64(n))
	l.int("Min", int64(sorted[0]))
	l.int("Max", int64(sorted[n-1]))
	for _, r := range rawQuantiles {
		l.int(r.name, int64(sorted[int(float64(n)*r.q)]))
	}
}
