package ycsb

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/plimsoll-bench/plimsoll/internal/figure"
	"github.com/plimsoll-bench/plimsoll/internal/replace"
	"github.com/plimsoll-bench/plimsoll/load"
	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/ycsb/ycsbtext"
)

// output is the destination of results: standard output and the files of properties.
type output struct {
	settings *settings
	stdout   io.Writer
	raw      *os.File        // nil if there is none
	file     *replace.Output // of the property exportfile, nil if there is none
	options  ycsbtext.Options
}

// openOutput opens the files before the run, so that an error does not waste a run.
func openOutput(ctx context.Context, s *settings, stdout io.Writer, start time.Time) (*output, error) {
	o := &output{settings: s, stdout: stdout, options: s.text}
	o.options.Start = start
	if s.hdrLogs {
		o.options.Log = func(series string) (io.WriteCloser, error) {
			f, err := replace.Create(ctx, s.hdrPrefix+series+".hdr", 0o644)
			return closer{f}, err
		}
	}
	if s.exportFile != "" {
		var err error
		if o.file, err = replace.Create(ctx, s.exportFile, 0o644); err != nil {
			return nil, fmt.Errorf("property exportfile: %w", err)
		}
	}
	if s.text.Type.NeedsPoints() {
		return o, o.openRaw(ctx)
	}
	return o, nil
}

// closer ends an output when it is closed.
type closer struct{ *replace.Output }

func (c closer) Close() error { return c.Commit() }

func (o *output) openRaw(ctx context.Context) (err error) {
	if o.settings.rawFile == "" {
		fmt.Fprintln(o.stdout, "Raw data measurement: will output to stdout.")
		o.options.RawOut = o.stdout
		return nil
	}
	fmt.Fprintln(o.stdout, "Raw data measurement: will output to result file: "+o.settings.rawFile)
	if o.raw, err = replace.Append(ctx, o.settings.rawFile, 0o644); err != nil {
		return fmt.Errorf("property measurement.raw.output_file: %w", err)
	}
	o.options.RawOut = o.raw
	return nil
}

func (o *output) close() error {
	if o.file != nil {
		_ = o.file.Abort() // it does nothing to a result that is complete
	}
	if o.raw == nil {
		return nil
	}
	f := o.raw
	o.raw = nil
	return f.Close()
}

// export writes the summary to standard output or to the property exportfile.
func (o *output) export(overall *ycsbtext.Overall, m *ycsbtext.Measurements) error {
	w, done := o.stdout, func() error { return nil }
	if o.file != nil {
		w, done = o.file, o.file.Commit
	}
	buffered := bufio.NewWriter(w)
	err := export(buffered, o.settings.exporter, overall, m)
	return errors.Join(err, buffered.Flush(), done(), o.close())
}

func export(w io.Writer, exporter string, overall *ycsbtext.Overall, m *ycsbtext.Measurements) error {
	e, err := ycsbtext.NewExporter(exporter, w)
	if err != nil {
		return err
	}
	if err := overall.Export(e); err != nil {
		return err
	}
	if err := m.Export(e, overall.RunTime); err != nil {
		return err
	}
	return e.Close()
}

// WriteRun writes YCSB's summary of the measured phase of the run recorded in dir, for scripts and spreadsheets. A run
// with a schedule has each series twice, as with measurement.interval=both.
func WriteRun(w io.Writer, dir string, r *record.Run) error {
	p := r.Phase("measure")
	if p == nil {
		return failed(Nothing, errors.New("the run measured nothing, so there is no summary"))
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
	overall := &ycsbtext.Overall{RunTime: time.Duration(p.Seconds * 1e9), Operations: collector.Operations()}
	return export(w, "", overall, m)
}

// conclusion prints the summary and the notes of a call, and decides whether it has failed.
type conclusion struct {
	*call
	out      *output
	sink     *sink
	workload *threads
	report   load.Report
	gcs      int64
	gcTime   time.Duration
}

func (c *conclusion) conclude() error {
	if c.settings.maxTime > 0 && c.report.End >= c.settings.maxTime {
		fmt.Fprintln(c.process.Stderr, "Maximum time elapsed. Requesting stop for the workload.")
		fmt.Fprintln(c.process.Stderr, "Stop requested for workload. Now Joining!")
	}
	c.sink.probes.drain(c.sink.m, forever) // the points after the last interval, such as the closing of sessions
	if c.settings.status {
		if err := c.sink.line(c.report.End); err != nil {
			return err
		}
	}
	overall := &ycsbtext.Overall{RunTime: c.report.End, Operations: c.operations(), GCs: c.gcs, GCTime: c.gcTime}
	if err := c.out.export(overall, c.sink.m); err != nil {
		return fmt.Errorf("could not export measurements: %w", err)
	}
	c.explain(overall)
	return c.verdict()
}

// operations is the number of operations as YCSB counts them: without the buffered batches that were sent at the end.
func (c *conclusion) operations() int64 { return c.sink.collector.Operations() - c.report.Flushed }

// explain prints to standard error what the summary does not have, and its differences from YCSB's.
func (c *conclusion) explain(overall *ycsbtext.Overall) {
	c.sink.explainFailures()
	t := c.sink.total
	if !c.settings.load && t.NotFound*100 > t.Attempted {
		c.note("%.3g %% of the operations found no record, because fewer are loaded than recordcount=%d says. Finding none is cheaper, "+
			"so the throughput is too high. Load the data set with the same recordcount, or set recordcount to the number of records",
			100*float64(t.NotFound)/float64(t.Attempted), c.params.Records)
	}
	if bad := t.Attempted - t.Succeeded; bad > 0 {
		c.note("%s of %s operations did not succeed; Throughput counts them, as YCSB does. Successful operations only: %s/s",
			figure.Count(bad), figure.Count(t.Attempted), figure.Rate(float64(t.Succeeded)/c.report.End.Seconds()))
	}
	if n := c.report.Mismatch; n > 0 {
		c.note("%s reads returned other data than was written", figure.Count(n))
	}
	if c.report.Flushed > 0 {
		c.note("%d last, short batches were sent at the end; YCSB loses them. Each counts as a further INSERT", c.report.Flushed)
	}
	if c.settings.load && c.settings.batch > 1 && overall.Operations%c.settings.batch != 0 {
		c.note("the last, short batches were sent too; YCSB loses them")
	}
	if c.report.Abandoned > 0 {
		c.note("%d operations did not return after their deadline and were abandoned", c.report.Abandoned)
	}
	if c.settings.out != "" {
		c.note("recorded in %s: plimsoll show %s", c.settings.out, c.settings.out)
	}
	c.note("the TOTAL_GC lines count the garbage collections of plimsoll; Go's one collector has no name, so there are no further lines")
}

// verdict returns why the call has failed, nil for a success. YCSB exits with 0 in all of these cases.
func (c *conclusion) verdict() error {
	t := c.sink.total
	switch {
	case c.report.Interrupted || c.report.Aborted:
		return failed(Interrupted, errors.New("interrupted; the summary covers the operations until then"))
	case c.settings.load:
		return c.loadVerdict()
	case t.Attempted == 0:
		return failed(Nothing, errors.New("no operation was done (YCSB exits 0 here)"))
	case t.Succeeded > 0:
		return nil
	case t.NotFound == t.Attempted:
		return hinted(Nothing, errors.New("no record was found (YCSB exits 0 here)"),
			"load the data set first, with the same recordcount, table and database: plimsoll ycsb load …")
	}
	return failed(Nothing, errors.New("all operations failed (YCSB exits 0 here)"))
}

func (c *conclusion) loadVerdict() error {
	missing := c.settings.operations - c.workload.loaded.Load()
	if missing <= 0 {
		return nil
	}
	err := fmt.Errorf("%s of %s records are not loaded (YCSB exits 0 here)",
		figure.Count(missing), figure.Count(c.settings.operations))
	switch {
	case c.settings.maxTime > 0 && c.report.End >= c.settings.maxTime:
		return hinted(Short, err, "maxexecutiontime ended the load; leave it out or raise it")
	case c.sink.collector.Operations() == 0:
		return failed(Short, err)
	}
	return hinted(Short, err, "to continue after a failed insert: -p core_workload_insertion_retry_limit=5, "+
		"or -p core_workload_insertion_keep_going_on_error=true; to overwrite existing records: -p mongodb.upsert=true")
}
