package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/plimsoll-bench/plimsoll/load"
	"github.com/plimsoll-bench/plimsoll/report/ycsbtext"
)

// ycsbOutput is where results go: standard output and the files that properties ask for.
type ycsbOutput struct {
	settings *ycsbSettings
	stdout   io.Writer
	raw      *os.File // nil if there is none
	options  ycsbtext.Options
}

// openYCSBOutput opens what must be open before the run, so that a mistake does not cost a run.
func openYCSBOutput(s *ycsbSettings, stdout io.Writer, start time.Time) (*ycsbOutput, error) {
	o := &ycsbOutput{settings: s, stdout: stdout, options: s.text}
	o.options.Start = start
	if s.hdrLogs {
		o.options.Log = func(series string) (io.WriteCloser, error) { return os.Create(s.hdrPrefix + series + ".hdr") }
	}
	if s.exportFile != "" {
		f, err := os.Create(s.exportFile)
		if err != nil {
			return nil, fmt.Errorf("property exportfile: %w", err)
		}
		if err := f.Close(); err != nil {
			return nil, fmt.Errorf("property exportfile: %w", err)
		}
	}
	if s.text.Type.NeedsPoints() {
		return o, o.openRaw()
	}
	return o, nil
}

func (o *ycsbOutput) openRaw() (err error) {
	if o.settings.rawFile == "" {
		fmt.Fprintln(o.stdout, "Raw data measurement: will output to stdout.")
		o.options.RawOut = o.stdout
		return nil
	}
	fmt.Fprintln(o.stdout, "Raw data measurement: will output to result file: "+o.settings.rawFile)
	if o.raw, err = os.OpenFile(o.settings.rawFile, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644); err != nil {
		return fmt.Errorf("property measurement.raw.output_file: %w", err)
	}
	o.options.RawOut = o.raw
	return nil
}

func (o *ycsbOutput) close() error {
	if o.raw == nil {
		return nil
	}
	f := o.raw
	o.raw = nil
	return f.Close()
}

// export writes the summary to standard output or to the file that is asked for.
func (o *ycsbOutput) export(overall *ycsbtext.Overall, m *ycsbtext.Measurements) error {
	w, done := o.stdout, func() error { return nil }
	if o.settings.exportFile != "" {
		f, err := os.Create(o.settings.exportFile)
		if err != nil {
			return err
		}
		w, done = f, f.Close
	}
	buffered := bufio.NewWriter(w)
	err := o.exportTo(buffered, overall, m)
	return errors.Join(err, buffered.Flush(), done(), o.close())
}

func (o *ycsbOutput) exportTo(w io.Writer, overall *ycsbtext.Overall, m *ycsbtext.Measurements) error {
	e, err := ycsbtext.NewExporter(o.settings.exporter, w)
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

// ycsbConclusion is the end of a call: the summary, what is to be said about it, and the exit code.
type ycsbConclusion struct {
	*ycsbRun
	out      *ycsbOutput
	sink     *ycsbSink
	workload *ycsbWorkload
	report   load.Report
	gcs      int64
	gcTime   time.Duration
}

func (c *ycsbConclusion) conclude() error {
	if c.settings.maxTime > 0 && c.report.End >= c.settings.maxTime {
		fmt.Fprintln(c.env.stderr, "Maximum time elapsed. Requesting stop for the workload.")
		fmt.Fprintln(c.env.stderr, "Stop requested for workload. Now Joining!")
	}
	c.sink.probes.drain(c.sink.m, forever) // what was noted after the last interval, such as the end of sessions
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

// operations is how many operations were made as YCSB counts them: without what was sent at the end to
// write what threads had buffered.
func (c *ycsbConclusion) operations() int64 { return c.sink.collector.Operations() - c.report.Flushed }

// explain says on standard error what the summary does not, and where it differs from YCSB's.
func (c *ycsbConclusion) explain(overall *ycsbtext.Overall) {
	c.sink.explainFailures()
	t := c.sink.total
	if bad := t.Attempted - t.Succeeded; bad > 0 {
		c.note("%s of %s operations did not succeed; Throughput counts them, as YCSB does. Successful operations only: %s/s",
			formatCount(bad), formatCount(t.Attempted), formatRate(float64(t.Succeeded)/c.report.End.Seconds()))
	}
	if n := c.report.Mismatch; n > 0 {
		c.note("%s reads returned something else than what was written", formatCount(n))
	}
	if c.report.Flushed > 0 {
		c.note("%d last, short batches were sent at the end; YCSB loses them. Each counts as one more INSERT", c.report.Flushed)
	}
	if c.settings.load && c.settings.batch > 1 && overall.Operations%c.settings.batch != 0 {
		c.note("the last, short batches were sent too; YCSB loses them")
	}
	if c.report.Abandoned > 0 {
		c.note("%d operations did not return after their deadline and were given up", c.report.Abandoned)
	}
	if c.settings.out != "" {
		c.note("recorded in %s: plimsoll show %s", c.settings.out, c.settings.out)
	}
	c.note("the TOTAL_GC lines are those of this program, which has one collector without a name of its own")
}

// verdict decides the exit code. YCSB's is 0 in all of these cases.
func (c *ycsbConclusion) verdict() error {
	t := c.sink.total
	switch {
	case c.report.Interrupted || c.report.Aborted:
		return withExit(exitInterrupted, errors.New("interrupted; the summary is of what was done until then"))
	case c.settings.load:
		return c.loadVerdict()
	case t.Attempted == 0:
		return withExit(exitInvalid, errors.New("nothing was done (YCSB exits 0 here)"))
	case t.Succeeded > 0:
		return nil
	case t.NotFound == t.Attempted:
		return withHint(exitInvalid, errors.New("no record was found (YCSB exits 0 here)"),
			"load the data set first, with the same recordcount, table and database: plimsoll ycsb load …")
	}
	return withExit(exitInvalid, errors.New("all operations failed (YCSB exits 0 here)"))
}

func (c *ycsbConclusion) loadVerdict() error {
	missing := c.settings.operations - c.workload.loaded.Load()
	if missing <= 0 {
		return nil
	}
	err := fmt.Errorf("%s of %s records are not loaded (YCSB exits 0 here)", formatCount(missing), formatCount(c.settings.operations))
	switch {
	case c.settings.maxTime > 0 && c.report.End >= c.settings.maxTime:
		return withHint(exitFailure, err, "maxexecutiontime ended the load; leave it out or raise it")
	case c.sink.collector.Operations() == 0:
		return withExit(exitFailure, err)
	}
	return withHint(exitFailure, err, "to go on after a failed insert: -p core_workload_insertion_retry_limit=5, "+
		"or -p core_workload_insertion_keep_going_on_error=true; to write over records that are there: -p mongodb.upsert=true")
}
