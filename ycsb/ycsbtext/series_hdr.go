package ycsbtext

import (
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// hdrSeries is measurementtype=hdrhistogram.
type hdrSeries struct {
	name  string
	opts  *Options
	total *latencies
	now   *latencies // since the last status line
	log   *histogramLog
}

func newHDRSeries(name string, opts *Options) (*hdrSeries, error) {
	s := &hdrSeries{name: name, opts: opts, total: newLatencies(), now: newLatencies()}
	if opts.Log == nil {
		return s, nil
	}
	var err error
	s.log, err = openHistogramLog(name, opts)
	return s, err
}

func (s *hdrSeries) record(_ time.Duration, us, n int64) { s.now.record(us, n) }

// statusPercentiles are the percentiles of a status line. The first one is new in 0.18.
var statusPercentiles = []float64{50, 90, 99, 99.9, 99.99}

func (s *hdrSeries) summary(at time.Duration) (string, error) {
	var b strings.Builder
	fmt.Fprintf(&b, "[%s: Count=%d, Max=%d, Min=%d, Avg=%s", s.name,
		s.now.count(), s.now.max(), s.now.min(), formatDecimal(s.now.mean()))
	percentiles := statusPercentiles
	if s.opts.Release017 {
		percentiles = percentiles[1:]
	}
	for _, p := range percentiles {
		fmt.Fprintf(&b, ", %s=%d", strconv.FormatFloat(p, 'f', -1, 64), s.now.at(p))
	}
	b.WriteByte(']')
	return b.String(), s.roll(at)
}

// roll ends the window of a status line.
func (s *hdrSeries) roll(at time.Duration) error {
	var err error
	if s.log != nil {
		err = s.log.write(s.now, at)
	}
	s.total.add(s.now)
	s.now.reset()
	return err
}

func (s *hdrSeries) export(l *lines, returns []statusCount) {
	l.int("Operations", s.total.count())
	l.double("AverageLatency(us)", s.total.mean())
	l.int("MinLatency(us)", s.total.min())
	l.int("MaxLatency(us)", s.total.max())
	l.percentiles(s.total, s.opts.Percentiles)
	l.returns(returns)
	if s.opts.Verbose {
		for _, bar := range s.total.h.Distribution() {
			if bar.Count != 0 {
				l.double(strconv.FormatInt(inInt(bar.To), 10), float64(bar.Count))
			}
		}
	}
}

// close writes the last window to the histogram log and closes it. Call it before export.
func (s *hdrSeries) close(at time.Duration) error {
	err := s.roll(at)
	if s.log == nil {
		return err
	}
	return errors.Join(err, s.log.to.Close())
}

// histogramLog writes the windows of one series in the HdrHistogram log format.
type histogramLog struct {
	to    io.WriteCloser
	w     *hdrhistogram.HistogramLogWriter
	start time.Time
	last  time.Duration
}

func openHistogramLog(name string, opts *Options) (*histogramLog, error) {
	f, err := opts.Log(name)
	if err != nil {
		return nil, err
	}
	l := &histogramLog{to: f, w: hdrhistogram.NewHistogramLogWriter(f), start: opts.Start}
	l.w.SetBaseTime(opts.Start.UnixMilli())
	for _, step := range []func() error{
		func() error { return l.w.OutputComment("[Logging for: " + name + "]") },
		l.w.OutputLogFormatVersion,
		func() error { return l.w.OutputStartTime(opts.Start.UnixMilli()) },
		l.w.OutputLegend,
	} {
		if err := step(); err != nil {
			return nil, fmt.Errorf("write the histogram log of %s: %w", name, err)
		}
	}
	return l, nil
}

func (l *histogramLog) write(h *latencies, at time.Duration) error {
	h.h.SetStartTimeMs(l.start.Add(l.last).UnixMilli())
	h.h.SetEndTimeMs(l.start.Add(at).UnixMilli())
	l.last = at
	return l.w.OutputIntervalHistogram(h.h)
}
