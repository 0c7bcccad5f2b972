package record

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/klauspost/compress/zstd"

	"github.com/plimsoll-bench/plimsoll/internal/safeopen"
	"github.com/plimsoll-bench/plimsoll/measure"
)

// Result is a record of any kind.
type Result interface {
	Common() *Head
	// Conclude returns its conclusion.
	Conclude() Conclusion
	// NothingMeasured reports whether it was interrupted before anything was measured.
	NothingMeasured() bool
	// measured reports whether it has results.
	measured() bool
	// complete reads other files of the record. held is whether a process is writing the record. If its process has
	// ended, a running record becomes a killed one.
	complete(dir string, held bool) error
}

type kind struct {
	name, file string
	noun       string   // in errors
	journal    string   // a line for each event, "" for kinds that cannot be resumed
	others     []string // further files, all of them with checksums
	dirs       []string // of the records below it
	empty      func() Result
	whole      bool // what is below it belongs to it, and is no record of its own
}

// kinds are all kinds of records. A directory is a record of the first kind whose main file is in it.
var kinds = []*kind{
	{KindSuite, SuiteFile, "suite", SuiteJournal, []string{SuitePlan}, []string{PartsDir}, newOf[Suite], false},
	{KindStudy, StudyFile, "study", JournalFile, nil, []string{TrialsDir, ProceduresIn}, newOf[Study], false},
	{KindDrill, DrillFile, "drill", "", nil, []string{RoundsDir}, newOf[Drill], false},
	{KindProbe, ProbeFile, "probe", "", []string{TimelineFile}, nil, newOf[Probe], true},
	{KindComparison, ComparisonFile, "comparison", "", nil, nil, newOf[ComparisonReport], false},
	{KindCapacity, CapacityFile, "capacity", CapacityJournal, nil, []string{StepsDir}, newOf[Capacity], false},
	{KindRun, RunFile, "record", "", runFiles(), nil, newOf[Run], true},
}

// newOf makes an empty record of a type.
func newOf[T any, R interface {
	*T
	Result
}]() Result {
	return R(new(T))
}

func kindOf[R Result]() *kind {
	i := slices.IndexFunc(kinds, func(k *kind) bool { _, ok := k.empty().(R); return ok })
	return kinds[i]
}

func (k *kind) files() []string {
	files := append([]string{k.file}, k.others...)
	if k.journal != "" {
		files = append(files, k.journal)
	}
	return files
}

// Files are the files of records of all kinds, without the checksums.
func Files() (files []string) {
	for _, k := range kinds {
		files = append(files, k.files()...)
	}
	return files
}

// allDirs are the directories that hold the records below another.
func allDirs() (dirs []string) {
	for _, k := range kinds {
		dirs = append(dirs, k.dirs...)
	}
	return dirs
}

// MainFiles are the main files of all kinds. Each record has one of them.
func MainFiles() []string {
	var files []string
	for _, k := range kinds {
		files = append(files, k.file)
	}
	return files
}

// Owns reports whether a record at a path below a record of a kind is a part of it.
func Owns(name, below string) bool {
	top, _, _ := strings.Cut(below, "/")
	return slices.ContainsFunc(kinds, func(k *kind) bool { return k.name == name && slices.Contains(k.dirs, top) })
}

// Whole reports whether all that is below a record of a kind belongs to it, and is no record of its own.
func Whole(name string) bool {
	return slices.ContainsFunc(kinds, func(k *kind) bool { return k.name == name && k.whole })
}

// KindOf returns the kind of record with this main file, "" if there is none.
func KindOf(file string) string {
	for _, k := range kinds {
		if k.file == file {
			return k.name
		}
	}
	return ""
}

// KindIn returns the kind of the record in a directory, "" if there is none.
func KindIn(dir string) string {
	for _, k := range kinds {
		if safeopen.Exists(dir, k.file) {
			return k.name
		}
	}
	return ""
}

// Find returns the directories of the records of some kinds at or below a directory, in alphabetical order, without
// those inside one of them. What cannot be read is left out.
func Find(top string, kinds ...string) (dirs []string, err error) {
	err = filepath.WalkDir(top, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil && path == top:
			return err
		case err != nil || !d.IsDir():
			return nil
		case slices.Contains(kinds, KindIn(path)):
			dirs = append(dirs, path)
			return fs.SkipDir
		}
		return nil
	})
	return dirs, err
}

// Open reads the record of any kind in a directory. If files changed after its end, its validity has a finding. A
// record whose process was killed is read as far as it was written.
func Open(dir string) (Result, error) {
	name := KindIn(dir)
	if name == "" {
		name = KindRun // for its error
	}
	return open(dir, name)
}

func open(dir, name string) (Result, error) {
	k := kinds[slices.IndexFunc(kinds, func(k *kind) bool { return k.name == name })]
	_, held := Holder(dir) // first, so that a record that ends now is read completely
	r := k.empty()
	if err := readDocument(dir, k.file, k.name, k.noun, r); err != nil {
		return nil, err
	}
	doubts, err := doubtsOf(dir, k.file, r, held)
	if err != nil {
		return nil, err
	}
	if err := r.complete(dir, held); err != nil {
		return nil, err
	}
	h := r.Common()
	h.Validity = append(h.Validity, doubts...)
	measure.SortFindings(h.Validity)
	return r, nil
}

// openAs is [Open] for one kind.
func openAs[R Result](dir, name string) (none R, err error) {
	r, err := open(dir, name)
	if err != nil {
		return none, err
	}
	return r.(R), nil
}

// OpenRun reads the record of a run. The results of a killed run are recovered to its last complete interval.
func OpenRun(dir string) (*Run, error) { return openAs[*Run](dir, KindRun) }

// OpenStudy reads a study with its journal. The current trial of a killed study is lost.
func OpenStudy(dir string) (*Study, error) { return openAs[*Study](dir, KindStudy) }

// OpenDrill reads a drill. The verdict of a killed drill is unknown, unless it had already found a lost write.
func OpenDrill(dir string) (*Drill, error) { return openAs[*Drill](dir, KindDrill) }

// OpenProbe reads a probe. A killed probe has its finished steps.
func OpenProbe(dir string) (*Probe, error) { return openAs[*Probe](dir, KindProbe) }

// OpenSuite reads a suite with its journal.
func OpenSuite(dir string) (*Suite, error) { return openAs[*Suite](dir, KindSuite) }

// OpenComparison reads a comparison.
func OpenComparison(dir string) (*ComparisonReport, error) {
	return openAs[*ComparisonReport](dir, KindComparison)
}

// Decode reads a main file from its text, without the other files of the record and without checking its version.
func Decode(file string, text []byte) (Result, error) {
	i := slices.IndexFunc(kinds, func(k *kind) bool { return k.file == file })
	if i < 0 {
		return nil, fmt.Errorf("%s is not a main file of a record", file)
	}
	r := kinds[i].empty()
	if err := safeopen.Unmarshal(text, r); err != nil {
		return nil, err
	}
	h := r.Common()
	h.Kind = kinds[i].name
	h.Validity = append(h.Validity, Empty(r)...)
	return r, nil
}

func (r *Run) complete(dir string, _ bool) error {
	if r.Status != Running {
		return nil
	}
	return recoverRun(dir, r)
}

// ReadHeld is [Open] for the process that holds the record (see [Hold]), also on file systems without locks. It does
// not change the status of unfinished work.
func ReadHeld[R Result](dir string) (none R, err error) {
	k := kindOf[R]()
	r := k.empty().(R)
	if err := readDocument(dir, k.file, k.name, k.noun, r); err != nil {
		return none, err
	}
	return r, r.complete(dir, true)
}

func readRun(dir string) (*Run, error) {
	var r Run
	if err := readDocument(dir, RunFile, KindRun, "record", &r); err != nil {
		return nil, err
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

// recoverRun computes the results of a killed run from its intervals, and judges them as far as the record allows.
func recoverRun(dir string, r *Run) error {
	sums, err := summarize(dir, r)
	if err != nil {
		return err
	}
	if r.Phases, err = sums.results(r.clientCores(), r.Course.Unsent); err != nil {
		return err
	}
	if r.Series, err = recoverSeries(dir, sums); err != nil {
		return err
	}
	r.Status = Killed
	for i := range r.Clients {
		if c := &r.Clients[i]; c.Status == "running" {
			c.Status, c.Problem = "lost", "the run was killed"
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
		Text: "the run was killed or is still running. The result covers the time until the last complete second. Run again for " +
			"a comparable result.",
	})
	return nil
}

func (r *Run) circumstances() measure.Circumstances {
	kind := r.Target.Kind
	return measure.Circumstances{
		Cores: r.Environment.Cores, Remote: r.Remote(), InProcess: kind == "embedded" || kind == "null",
		Varying: len(r.Specification.Load.Stages) > 0,
	}
}

// Rebuild computes the results of all phases from latency.hlog and the intervals alone.
func Rebuild(dir string) ([]PhaseResult, error) {
	r, err := readRun(dir)
	if err != nil {
		return nil, err
	}
	sums, err := summarize(dir, r)
	if err != nil {
		return nil, err
	}
	return sums.results(r.clientCores(), r.Course.Unsent)
}

// RebuildSummary merges the intervals of a phase of a record, nil if it has none. Phase "measure" has the operations of
// phase "drain" as its tail.
func RebuildSummary(dir, phase string) (*measure.Summary, error) {
	r, err := readRun(dir)
	if err != nil {
		return nil, err
	}
	sums, err := summarize(dir, r)
	if err != nil {
		return nil, err
	}
	s := sums.get(phase)
	if s != nil && phase == phaseMeasure {
		s.Unsent = r.Course.Unsent
	}
	return s, nil
}

func summarize(dir string, r *Run) (*summaries, error) {
	sums := &summaries{dims: r.Dims()}
	_, err := eachInterval(dir, resolutions[0], sums.dims, sums.add)
	return sums, err
}

func (r *Run) Dims() measure.Dims {
	return measure.Dims{Classes: r.Classes, Outcomes: r.Outcomes, Scheduled: r.Scheduled}
}

// EachInterval calls f with every complete interval of a record, with its histograms, in the order of their ends.
// complete is false if the files end early, as those of a killed run do.
func EachInterval(dir string, f func(*measure.Interval) error) (complete bool, err error) {
	r, err := readRun(dir)
	if err != nil {
		return false, err
	}
	return eachInterval(dir, resolutions[0], r.Dims(), f)
}

func eachInterval(dir string, names resolution, d measure.Dims,
	f func(*measure.Interval) error) (complete bool, err error) {
	hlog, err := safeopen.Open(dir, names.latency)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil // killed before it began
	}
	if err != nil {
		return false, fmt.Errorf("cannot read the record in %s: %w", dir, cause(err))
	}
	defer hlog.Close()
	log := safeopen.NewLines(hlog)
	complete, err = eachLine(dir, names.intervals, func(l *IntervalLine) error {
		iv, err := l.interval(d, func(tag string) (*measure.Histogram, error) { return nextHistogram(log, tag) })
		if err != nil {
			return err
		}
		return f(iv)
	})
	if errors.Is(err, io.EOF) || errors.Is(err, safeopen.ErrTorn) || errors.Is(err, fs.ErrNotExist) {
		return false, nil // the log ends before the intervals do, or there are none yet
	}
	return complete, err
}

func nextHistogram(log *safeopen.Lines, tag string) (*measure.Histogram, error) {
	line, err := nextLogLine(log)
	if err != nil {
		return nil, err
	}
	if line.tag != tag {
		return nil, fmt.Errorf("latency.hlog has tag %q where %q belongs", line.tag, tag)
	}
	return measure.Decode(line.payload)
}

// EachLine calls f with every complete line of the intervals of a record. complete is false if the file ends early.
func EachLine(dir string, f func(*IntervalLine) error) (complete bool, err error) {
	complete, err = eachLine(dir, IntervalsFile, f)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return complete, err
}

// eachLine calls f with every complete line of a compressed file of a record. complete is false if the file ends early.
// A missing file is an [fs.ErrNotExist].
func eachLine[L any](dir, name string, f func(*L) error) (complete bool, err error) {
	file, err := safeopen.Open(dir, name)
	if err != nil {
		return false, fmt.Errorf("cannot read the record in %s: %w", dir, err)
	}
	defer file.Close()
	var expansion safeopen.Expansion
	z, err := zstd.NewReader(expansion.Packed(file), zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(64<<20))
	if err != nil {
		return false, fmt.Errorf("cannot read %s: %w", file.Name(), err)
	}
	defer z.Close()
	for lines := safeopen.NewLines(expansion.Unpacked(z)); ; {
		b, err := lines.Next()
		switch {
		case errors.Is(err, io.EOF):
			return true, nil
		case errors.Is(err, safeopen.ErrTorn), errors.Is(err, io.ErrUnexpectedEOF):
			return false, nil
		case err != nil:
			return false, fmt.Errorf("%s is damaged: %w", file.Name(), err)
		}
		var l L
		if err := safeopen.Unmarshal(bytes.TrimSpace(b), &l); err != nil {
			return false, fmt.Errorf("%s is damaged: %w", file.Name(), err)
		}
		if err := f(&l); err != nil {
			return false, err
		}
	}
}

// Events reads the events of a record without a torn last line.
func Events(dir string) ([]measure.Event, error) {
	return plainLines[measure.Event](dir, EventsFile)
}

// plainLines reads a file of JSON lines into memory, without a torn last line. A missing file has no lines.
func plainLines[L any](dir, name string) ([]L, error) {
	f, err := safeopen.Open(dir, name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("cannot read the record in %s: %w", dir, err)
	}
	defer f.Close()
	var list []L
	var kept safeopen.Kept
	for lines := safeopen.NewLines(f); ; {
		b, err := lines.Next()
		if errors.Is(err, io.EOF) || errors.Is(err, safeopen.ErrTorn) {
			return list, nil
		}
		var l L
		if err == nil {
			err = kept.Unmarshal(b, &l)
		}
		if c, ok := any(&l).(checked); ok && err == nil {
			err = c.check()
		}
		if err != nil {
			return list, fmt.Errorf("%s is damaged: %w", f.Name(), err)
		}
		list = append(list, l)
	}
}
