package main

import (
	"errors"
	"io"
	"time"

	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/report"
	"github.com/plimsoll-bench/plimsoll/report/html"
	"github.com/plimsoll-bench/plimsoll/report/ycsbtext"
)

// writeRecord writes one record in a format that is not a page. The page bounds what it shows; other formats get the
// record as it is.
func writeRecord(w io.Writer, s *html.Source, format string) error {
	result, err := recordOf(s)
	if err != nil {
		return withExit(exitUsage, err)
	}
	if r, ok := result.(*record.Run); ok && format == "ycsb" {
		return writeYCSBText(w, s.Dir, r)
	}
	return printResult(w, result, format, reportFormats()...)
}

// recordOf reads a record again, with all that it has.
func recordOf(s *html.Source) (any, error) {
	if s.Comparison != nil { // it may be a file by itself
		return s.Comparison, nil
	}
	r, err := record.Open(s.Dir)
	if err != nil {
		return nil, err
	}
	result, _ := resultOf(s.Dir, r)
	return result, nil
}

// writeSides writes what compare says of several records without flags.
func writeSides(w io.Writer, list []*html.Source, format string) error {
	sides := make([]html.Side, len(list))
	for i, s := range list {
		if s.Run == nil && s.Study == nil {
			return usageError("%s is neither a run nor a study: --format %s of several records compares them, so give it alone", report.Clean(s.Dir), format)
		}
		sides[i] = html.Side{Name: s.Name, Dir: s.Dir}
	}
	c, err := compareSides(sides)
	if err != nil {
		return withExit(exitUsage, err)
	}
	return printResult(w, c, format)
}

// writeYCSBText writes the measured phase as YCSB would have printed it: the summary lines that scripts and
// spreadsheets read. With a schedule the series are there twice, as with measurement.interval=both.
func writeYCSBText(w io.Writer, dir string, r *record.Run) error {
	p := r.Phase("measure")
	if p == nil {
		return withExit(exitInvalid, errors.New("nothing was measured, so there is nothing that YCSB would print"))
	}
	options := ycsbtext.Options{Start: r.Started}
	if r.Scheduled {
		options.Interval = ycsbtext.Both
	}
	m := ycsbtext.New(options)
	collector := ycsbtext.NewCollector(m, r.Dims(), ycsbtext.Tracked{})
	if _, err := record.EachInterval(dir, func(iv *measure.Interval) error {
		if iv.Phase == "measure" || iv.Phase == "drain" {
			collector.Interval(iv)
		}
		return nil
	}); err != nil {
		return err
	}
	e, err := ycsbtext.NewExporter("", w)
	if err != nil {
		return err
	}
	overall := &ycsbtext.Overall{RunTime: time.Duration(p.Seconds * 1e9), Operations: collector.Operations()}
	if err := overall.Export(e); err != nil {
		return err
	}
	if err := m.Export(e, overall.RunTime); err != nil {
		return err
	}
	return e.Close()
}
