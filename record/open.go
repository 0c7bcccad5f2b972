package record

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/klauspost/compress/zstd"

	"github.com/plimsoll-bench/plimsoll/measure"
)

// Open reads a record. If files were changed after the run the result says so in its validity. The
// results of a run that was killed are recovered from what it left, to its last complete interval.
func Open(dir string) (*Run, error) {
	r, err := readRun(dir)
	if err != nil {
		return nil, err
	}
	changed, err := altered(dir)
	if err != nil {
		return nil, fmt.Errorf("checking the record %s: %w", dir, err)
	}
	if r.Status == Running {
		if err := recoverRun(dir, r); err != nil {
			return nil, err
		}
	}
	if len(changed) > 0 {
		r.Validity = append(r.Validity, measure.Finding{
			ID: "altered", Severity: measure.Invalid,
			Text: fmt.Sprintf("%s changed after the run ended, so this is no longer what was measured; get the original record or run again",
				strings.Join(changed, ", ")),
		})
	}
	measure.SortFindings(r.Validity)
	return r, nil
}

func readRun(dir string) (*Run, error) {
	path := filepath.Join(dir, RunFile)
	b, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s holds no record: there is no %s in it", dir, RunFile)
	}
	if err != nil {
		return nil, fmt.Errorf("cannot read the record in %s: %w", dir, cause(err))
	}
	if err := checkHead(path, b, KindRun); err != nil {
		return nil, err
	}
	var r Run
	if err := json.Unmarshal(b, &r); err != nil {
		return nil, fmt.Errorf("%s is damaged: %w", path, err)
	}
	return &r, nil
}

func cause(err error) error {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		return pe.Err
	}
	return err
}

// recoverRun puts the results of a killed run together from its intervals, and judges them as far as that
// is possible without what the run knew.
func recoverRun(dir string, r *Run) error {
	sums, err := summarize(dir, r)
	if err != nil {
		return err
	}
	if r.Phases, err = sums.results(r.Environment.Cores); err != nil {
		return err
	}
	if r.Series, err = recoverSeries(dir, sums); err != nil {
		return err
	}
	r.Status = Killed
	for i := range r.Clients {
		if c := &r.Clients[i]; c.Status == "running" {
			c.Status, c.Problem = "lost", "the run did not end properly"
		}
	}
	if s := sums.get(phaseMeasure); s != nil {
		objectives, err := measure.ParseObjectives(strings.Join(r.Specification.Objectives, ","))
		if err != nil {
			return fmt.Errorf("the specification in %s is damaged: %w", dir, err)
		}
		r.Objectives = measure.EvaluateAll(objectives, s)
		r.Validity = append(r.Validity, measure.Judge(s, r.circumstances())...)
	}
	r.Validity = append(r.Validity, measure.Finding{
		ID: "incomplete", Severity: measure.Warning,
		Text: "the run did not end properly (or still goes on), so this is what was measured until its last complete second; " +
			"run again for a result that can be compared",
	})
	return nil
}

// circumstances are those of a run as far as its record tells.
func (r *Run) circumstances() measure.Circumstances {
	kind := r.Target.Kind
	return measure.Circumstances{
		Cores: r.Environment.Cores, InProcess: kind == "embedded" || kind == "null",
		Varying: len(r.Specification.Load.Stages) > 0,
	}
}

// Rebuild computes the results of all phases again, from latency.hlog and the intervals alone.
func Rebuild(dir string) ([]PhaseResult, error) {
	r, err := readRun(dir)
	if err != nil {
		return nil, err
	}
	return rebuild(dir, r)
}

func rebuild(dir string, r *Run) ([]PhaseResult, error) {
	sums, err := summarize(dir, r)
	if err != nil {
		return nil, err
	}
	return sums.results(r.Environment.Cores)
}

// RebuildSummary merges the intervals of a phase of a record again; nil if the phase is not in it. Phase
// "measure" has the operations of phase "drain" as its tail.
func RebuildSummary(dir, phase string) (*measure.Summary, error) {
	r, err := readRun(dir)
	if err != nil {
		return nil, err
	}
	sums, err := summarize(dir, r)
	if err != nil {
		return nil, err
	}
	return sums.get(phase), nil
}

func summarize(dir string, r *Run) (*summaries, error) {
	sums := &summaries{dims: r.Dims()}
	_, err := eachInterval(dir, sums.dims, sums.add)
	return sums, err
}

// Dims returns the dimensions of the intervals of the run.
func (r *Run) Dims() measure.Dims {
	return measure.Dims{Classes: r.Classes, Outcomes: r.Outcomes, Scheduled: r.Scheduled}
}

// EachInterval calls f with every complete interval of a record, with its histograms, in the order in
// which they were closed. complete is false if the files end early, as those of a killed run do.
func EachInterval(dir string, f func(*measure.Interval) error) (complete bool, err error) {
	r, err := readRun(dir)
	if err != nil {
		return false, err
	}
	return eachInterval(dir, r.Dims(), f)
}

func eachInterval(dir string, d measure.Dims, f func(*measure.Interval) error) (complete bool, err error) {
	hlog, err := os.Open(filepath.Join(dir, LatencyFile))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil // killed before it began
	}
	if err != nil {
		return false, fmt.Errorf("cannot read the record in %s: %w", dir, cause(err))
	}
	defer hlog.Close()
	log := bufio.NewReaderSize(hlog, 1<<16)
	complete, err = EachLine(dir, func(l *IntervalLine) error {
		iv, err := l.interval(d, func(tag string) (*measure.Histogram, error) { return nextHistogram(log, tag) })
		if err != nil {
			return err
		}
		return f(iv)
	})
	if errors.Is(err, io.EOF) || errors.Is(err, errTorn) {
		return false, nil // the log ends before the intervals do
	}
	return complete, err
}

func nextHistogram(log *bufio.Reader, tag string) (*measure.Histogram, error) {
	line, err := nextLogLine(log)
	if err != nil {
		return nil, err
	}
	if line.tag != tag {
		return nil, fmt.Errorf("latency.hlog has tag %q where %q belongs", line.tag, tag)
	}
	return measure.Decode(line.payload)
}

// EachLine calls f with every whole line of the intervals of a record. complete is false if the file
// ends early.
func EachLine(dir string, f func(*IntervalLine) error) (complete bool, err error) {
	file, err := os.Open(filepath.Join(dir, IntervalsFile))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("cannot read the record in %s: %w", dir, cause(err))
	}
	defer file.Close()
	z, err := zstd.NewReader(file, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(64<<20))
	if err != nil {
		return false, fmt.Errorf("cannot read %s: %w", file.Name(), err)
	}
	defer z.Close()
	return eachLine(bufio.NewReaderSize(z, 1<<16), file.Name(), f)
}

func eachLine(r *bufio.Reader, name string, f func(*IntervalLine) error) (complete bool, err error) {
	for {
		b, err := r.ReadBytes('\n')
		switch {
		case errors.Is(err, io.EOF):
			return len(b) == 0, nil
		case errors.Is(err, io.ErrUnexpectedEOF):
			return false, nil
		case err != nil:
			return false, fmt.Errorf("%s is damaged: %w", name, err)
		}
		var l IntervalLine
		if err := json.Unmarshal(bytes.TrimSpace(b), &l); err != nil {
			return false, fmt.Errorf("%s is damaged: %w", name, err)
		}
		if err := f(&l); err != nil {
			return false, err
		}
	}
}

// Events reads the events of a record. A torn last line is left out.
func Events(dir string) ([]measure.Event, error) {
	b, err := os.ReadFile(filepath.Join(dir, EventsFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("cannot read the record in %s: %w", dir, cause(err))
	}
	var events []measure.Event
	for line := range bytes.Lines(b) {
		if !bytes.HasSuffix(line, []byte("\n")) {
			break
		}
		var e measure.Event
		if err := json.Unmarshal(line, &e); err != nil {
			return events, fmt.Errorf("%s in %s is damaged: %w", EventsFile, dir, err)
		}
		events = append(events, e)
	}
	return events, nil
}
