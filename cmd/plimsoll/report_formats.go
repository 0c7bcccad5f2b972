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

// writeRecord writes one record in a format that is not a page.
func writeRecord(w io.Writer, s *html.Source, format string) error {
	switch {
	case s.Study != nil:
		return writeStudyAs(w, s.Study, format)
	case s.Drill != nil:
		return writeDrillAs(w, s, format)
	case s.Comparison != nil:
		return writeComparisonAs(w, s.Comparison, format)
	}
	// The page bounds what it shows; other formats get the record as it is.
	r, err := record.Open(s.Dir)
	if err != nil {
		return withExit(exitUsage, err)
	}
	r.Specification.Out = s.Dir
	switch format {
	case "md":
		return report.Markdown(w, r)
	case "csv":
		return report.CSV(w, r)
	case "ycsb":
		return writeYCSBText(w, s.Dir, r)
	}
	return printJSON(w, r)
}

func writeDrillAs(w io.Writer, s *html.Source, format string) error {
	d, err := record.OpenDrill(s.Dir)
	switch {
	case err != nil:
		return withExit(exitUsage, err)
	case format == "csv", format == "ycsb":
		return usageError("a drill has no %s: give the record of one of its rounds", format)
	}
	return printDrill(w, d, format)
}

func writeStudyAs(w io.Writer, s *record.Study, format string) error {
	switch format {
	case "md":
		return report.StudyMarkdown(w, s)
	case "csv":
		return report.StudyCSV(w, s)
	case "ycsb":
		return usageError("YCSB has no form for a study: give the record of one of its trials")
	}
	return printJSON(w, s)
}

func writeComparisonAs(w io.Writer, c *record.ComparisonReport, format string) error {
	switch format {
	case "md":
		return report.CompareMarkdown(w, c)
	case "csv":
		return report.CompareCSV(w, c)
	case "ycsb":
		return usageError("YCSB has no form for a comparison: give the record of a run")
	}
	return printJSON(w, c)
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
