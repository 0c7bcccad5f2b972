package record

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/plimsoll-bench/plimsoll/internal/finite"
	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/spec"
)

// rewriteAfter is the time between two writes of run.json during the run.
const rewriteAfter = 10 * time.Second

// RunWriter writes the record of a run during the run; it is the [measure.Sink] of the run. One goroutine calls its
// methods. What was written stays readable if the disk is full, the process is killed or the machine crashes.
type RunWriter struct {
	*Store[*Run]
	run   Run // with credentials: [Store] keeps them out of what is written
	dims  measure.Dims
	sums  summaries
	base  time.Time     // start of the first segment, with its monotonic clock, which UTC() would lose
	shift time.Duration // of the segment being written, from there

	begun     bool
	log       *intervalLog
	rollups   []*rollup
	events    *lineFile
	samples   *packedLines // nil without samples
	series    seriesSums
	services  map[string]serviceUse // what the REST service used, by phase
	rewritten time.Duration
	dropped   droppedValues
	failed    error
	finished  bool
}

var _ measure.Sink = (*RunWriter)(nil)

// lineFile grows by complete lines.
type lineFile struct {
	*bufio.Writer
	file *os.File
}

func createLines(dir, name string) (*lineFile, error) {
	f, err := os.OpenFile(filepath.Join(dir, name), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, err
	}
	return &lineFile{bufio.NewWriterSize(f, 1<<16), f}, nil
}

func (l *lineFile) close() error {
	return errors.Join(l.Flush(), l.file.Sync(), l.file.Close())
}

// packedLines is a [lineFile] of JSON that is compressed.
type packedLines struct {
	lines    *lineFile
	compress *zstd.Encoder
}

func createPacked(dir, name string) (*packedLines, error) {
	lines, err := createLines(dir, name)
	if err != nil {
		return nil, err
	}
	z, err := zstd.NewWriter(lines, zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(1<<20))
	if err != nil {
		return nil, errors.Join(err, lines.close())
	}
	return &packedLines{lines, z}, nil
}

// write appends lines and flushes, so that a killed process leaves them readable.
func (f *packedLines) write(list ...any) error {
	lines := json.NewEncoder(f.compress)
	for _, x := range list {
		if err := finite.Encode(lines, x); err != nil {
			return err
		}
	}
	return errors.Join(f.compress.Flush(), f.lines.Flush())
}

func (f *packedLines) close() error { return errors.Join(f.compress.Close(), f.lines.close()) }

// CreateRun begins the record of a run in a new or empty directory and writes a first run.json. Errors have one line.
func CreateRun(dir string, tool Tool, asked spec.Run) (*RunWriter, error) {
	store, err := Create[*Run](dir, asked)
	if err != nil {
		return nil, err
	}
	w := &RunWriter{Store: store, run: Run{
		Head: Head{SchemaVersion: SchemaVersion, Kind: KindRun, Status: Running, Tool: tool,
			Started: time.Now().UTC()},
		Specification: asked, Files: files(),
	}}
	if err := w.create(); err != nil {
		return nil, explain(dir, errors.Join(err, w.close()))
	}
	return w, w.check(w.writeRun())
}

func (w *RunWriter) create() (err error) {
	for _, coarser := range resolutions[1:] {
		w.rollups = append(w.rollups, &rollup{resolution: coarser, from: map[string]time.Duration{}})
	}
	if w.log, err = createIntervalLog(w.dir, resolutions[0]); err != nil {
		return err
	}
	w.events, err = createLines(w.dir, EventsFile)
	return err
}

// SetLab stores the lab as it was before the measured time.
func (w *RunWriter) SetLab(l Lab) { w.run.Lab = &l }

// SetLabAfter stores the lab as it was after the run.
func (w *RunWriter) SetLabAfter(l Lab) { w.run.LabAfter = &l }

func (w *RunWriter) SetCommand(args []string) { w.run.Command = args }

func (w *RunWriter) SetTarget(t Target) { w.run.Target = t }

func (w *RunWriter) SetEnvironment(e Environment) { w.run.Environment = e }

func (w *RunWriter) SetClientSettings(s map[string]string) { w.run.ClientSettings = s }

func (w *RunWriter) SetFill(f FillResult) { w.run.Fill = &f }

func (w *RunWriter) SetSharded(list []LabSharding) { w.run.Target.Sharded = list }

// AddNote adds a note about the target.
func (w *RunWriter) AddNote(text string) {
	w.run.Target.Notes = append(w.run.Target.Notes, text)
}

func (w *RunWriter) SetClients(list []ClientShare) {
	if w.run.Clients == nil && len(list) > 0 {
		w.run.Files = append(w.run.Files, File{ClientsDir, "the records of the load processes, one directory each"})
	}
	w.run.Clients = list
}

// Begin sets the dimensions of the following intervals and the origin of their times. It must be called before the
// first interval, and again for each later part of the run with its own clock, such as the measured load after the load
// phase. All times in the record count from the first origin. Classes and outcomes must stay the same.
func (w *RunWriter) Begin(d measure.Dims, started time.Time) error {
	if w.begun && !(slices.Equal(w.dims.Classes, d.Classes) && slices.Equal(w.dims.Outcomes, d.Outcomes)) {
		return errors.New("the operation classes or outcomes changed during the run. This is a bug in plimsoll; please report it")
	}
	w.dims = d
	w.run.Classes, w.run.Outcomes, w.run.Scheduled = d.Classes, d.Outcomes, d.Scheduled
	if w.begun {
		w.shift = started.Sub(w.base)
		// A run that is killed soon must keep the result of its load phase, and whether this part is scheduled.
		return w.check(w.writeRun())
	}
	w.begun, w.sums.dims, w.base, w.run.Started = true, d, started, started.UTC()
	return w.check(errors.Join(w.log.begin(w.run.Started), w.writeRun()))
}

// Interval writes an interval and keeps no reference to it. After an error the record stays as it was before.
func (w *RunWriter) Interval(iv *measure.Interval) error {
	if !w.begun {
		return errors.New("an interval came before Begin. This is a bug in plimsoll; please report it")
	}
	if w.failed != nil {
		return w.failed
	}
	iv = shift(iv, w.shift)
	iv.Failures = w.red.failures(iv.Failures)
	if err := w.check(errors.Join(w.log.append(w.dims, w.run.Started, iv), w.rollUp(iv), w.events.Flush())); err != nil {
		return err
	}
	if err := w.sums.add(iv); err != nil { // after it is written: the results never say more than the files
		return err
	}
	w.settleSeries(iv.Start)
	if iv.End-w.rewritten >= rewriteAfter {
		w.rewritten = iv.End
		return w.check(w.replaceRun(false)) // a sync would disturb a measurement of the same disk
	}
	return nil
}

// AddService adds the use of the REST service since the last interval: processor time and resident memory.
func (w *RunWriter) AddService(phase string, cpu time.Duration, memory int64) {
	if w.services == nil {
		w.services = map[string]serviceUse{}
	}
	s := w.services[phase]
	w.services[phase] = serviceUse{s.cpu + cpu, max(s.memory, memory)}
}

// serviceUse is processor time and the maximum of memory.
type serviceUse struct {
	cpu    time.Duration
	memory int64
}

func (w *RunWriter) withServices(results []PhaseResult) {
	for i := range results {
		p := &results[i]
		use, ok := w.services[p.Phase]
		if !ok {
			continue
		}
		p.Service = &ServiceResult{CPUSeconds: use.cpu.Seconds(), MemoryBytes: use.memory}
		if n := p.Ended.Attempted; n > 0 {
			p.Service.CPUPerOperation = float64(use.cpu) / float64(n)
		}
	}
}

func (w *RunWriter) Event(e measure.Event) error {
	if w.failed != nil {
		return w.failed
	}
	e.At += w.shift
	return w.check(json.NewEncoder(w.events).Encode(redacted(&w.red, e)))
}

// check remembers the first error and explains it.
func (w *RunWriter) check(err error) error {
	if err == nil {
		return nil
	}
	if w.failed == nil {
		w.failed = explain(w.dir, err)
		if n := len(w.sums.list); n > 0 {
			w.failed = fmt.Errorf("%w. The result until %v is kept", w.failed, w.sums.list[n-1].End)
		}
	}
	return w.failed
}

// Summary returns the summary of a phase so far, nil if it has none. The operations of phase "drain" are the tail of
// phase "measure". The caller must not change it.
func (w *RunWriter) Summary(phase string) *measure.Summary { return w.sums.get(phase) }

// Series returns the series of machines and servers in the measured phase so far.
func (w *RunWriter) Series() []Series { return seriesOf(&w.sums, &w.series) }

// Run returns run.json as it would be written now, without credentials.
func (w *RunWriter) Run() (*Run, error) {
	results, err := w.sums.results(w.run.clientCores(), w.run.Course.Unsent)
	if err != nil {
		return nil, err
	}
	w.withServices(results)
	r := w.run
	r.Phases = results
	r.Series = seriesOf(&w.sums, &w.series)
	r.Anatomy = r.findAnatomy()
	r.Validity = append([]measure.Finding{}, r.Validity...)
	r.Classes = append([]measure.Class{}, r.Classes...)
	r.Outcomes = append([]measure.Outcome{}, r.Outcomes...)
	return w.Redacted(&r)
}

func (w *RunWriter) writeRun() error { return w.replaceRun(true) }

func (w *RunWriter) replaceRun(durable bool) error {
	r, err := w.Run()
	if err != nil {
		return err
	}
	return w.replace(r, durable)
}

// Ending is the end of a run.
type Ending struct {
	Status     Status
	Problem    string // why it failed, if it did
	Ended      time.Time
	Course     Course
	Objectives []measure.ObjectiveResult
	Validity   []measure.Finding
}

// Finish completes and closes the record. If the record could not be written completely, it still writes what it can
// and returns the first error.
func (w *RunWriter) Finish(e Ending) (*Run, error) {
	if w.finished {
		return nil, errors.New("the record is already finished")
	}
	w.finished = true
	w.settleSeries(0)
	ended := e.Ended.UTC()
	w.run.Status, w.run.Ended, w.run.Problem = e.Status, &ended, e.Problem
	w.run.Course, w.run.Objectives, w.run.Validity = e.Course, e.Objectives, e.Validity
	w.run.Target.Notes = append(w.run.Target.Notes, w.dropped.notes()...)
	// Intervals or events that were lost must not look like a complete record.
	err := w.check(w.close())
	if err != nil && e.Status != Failed {
		w.run.Status = Failed
		w.run.Problem = err.Error()
	}
	known := w.failed != nil // the disk may have space for the summary by now
	if known {
		w.run.Validity = w.unwritten(w.run.Validity)
	}
	if w.check(w.writeRun()) == nil {
		_ = w.check(Seal(w.dir)) // w.failed is returned below
	}
	r, rerr := w.Run()
	if rerr != nil {
		return nil, rerr
	}
	if w.failed != nil && !known {
		r.Status, r.Validity = Failed, w.unwritten(r.Validity)
	}
	return r, w.failed
}

func (w *RunWriter) unwritten(findings []measure.Finding) []measure.Finding {
	all := append(slices.Clone(findings), Unwritten(w.failed))
	measure.SortFindings(all)
	return all
}

func (w *RunWriter) close() error {
	var errs []error
	errs = append(errs, w.closeRollups())
	if w.samples != nil {
		errs = append(errs, w.samples.close())
	}
	if w.log != nil {
		errs = append(errs, w.log.close())
	}
	if w.events != nil {
		errs = append(errs, w.events.close())
	}
	return errors.Join(errs...)
}
