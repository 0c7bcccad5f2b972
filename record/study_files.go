package record

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// StudyWriter writes what belongs to a study as a whole: study.json and the journal. Its methods are called from one
// goroutine, of the process that holds the directory (see [Hold]).
type StudyWriter struct {
	dir     string
	journal *os.File
	red     *studyRedactor
	now     func() time.Time
	took    time.Duration // the last writing of study.json
	written time.Time
}

// CreateStudy begins a study in a directory that holds none. Everything is written without the credentials that are
// in the specification.
func CreateStudy(dir string, spec StudySpec) (*StudyWriter, error) {
	if strings.TrimSpace(dir) == "" {
		return nil, errors.New("a study needs a directory: give one (--out)")
	}
	for _, name := range []string{StudyFile, JournalFile} {
		// An empty journal is what a study leaves that was killed before it could write anything else.
		if info, err := os.Lstat(filepath.Join(dir, name)); err == nil && (name != JournalFile || info.Size() > 0) {
			return nil, fmt.Errorf("%s already holds a study (%s is there): go on with it (plimsoll study resume %s), or choose another directory (--out)", dir, name, dir)
		}
	}
	if _, err := os.Lstat(filepath.Join(dir, RunFile)); err == nil {
		return nil, fmt.Errorf("%s already holds a record (%s is there): choose another directory (--out)", dir, RunFile)
	}
	w, err := ContinueStudy(dir, spec)
	if err == nil {
		_ = syncDir(filepath.Dir(filepath.Clean(dir))) // where that is not allowed, the study is not worse off than any other file
	}
	return w, err
}

// ContinueStudy goes on writing a study.
func ContinueStudy(dir string, spec StudySpec) (*StudyWriter, error) {
	for _, sub := range []string{TrialsDir, ProceduresIn} {
		if err := os.MkdirAll(filepath.Join(dir, sub), 0o755); err != nil {
			return nil, explainStudy(dir, err)
		}
	}
	f, err := openJournal(dir)
	if err != nil {
		return nil, explainStudy(dir, err)
	}
	return &StudyWriter{dir: dir, journal: f, red: newStudyRedactor(spec), now: time.Now}, nil
}

// explainStudy says what to do about an error of the file system.
func explainStudy(dir string, err error) error {
	e := explain(dir, err)
	var w *writeError
	if !errors.As(e, &w) {
		return e
	}
	text := strings.Replace(w.text, "cannot write the record in", "cannot write the study in", 1)
	text = strings.Replace(text, "free space, or write to another directory (--out)", "free space", 1)
	return &writeError{fmt.Sprintf("%s; then go on with plimsoll study resume %s", text, dir), err}
}

// Append adds an event to the journal and waits until it is on the disk.
func (w *StudyWriter) Append(e StudyEvent) error {
	e, err := redactedCopy(w.red, e)
	if err != nil {
		return err
	}
	if err := appendLine(w.journal, e); err != nil {
		return explainStudy(w.dir, err)
	}
	return nil
}

// Redacted returns a copy of the study without credentials.
func (w *StudyWriter) Redacted(s *Study) (*Study, error) {
	out, err := redactedCopy(w.red, *s)
	if err != nil {
		return nil, err
	}
	return &out, sameStudy(s, &out)
}

// sameStudy makes sure that what is about to be written is still this study: it is what a resume goes by.
func sameStudy(s, out *Study) error {
	same := s.Status == out.Status && len(s.Trials) == len(out.Trials) && len(s.Configurations) == len(out.Configurations)
	for i := 0; same && i < len(s.Trials); i++ {
		a, b := &s.Trials[i], &out.Trials[i]
		same = a.Number == b.Number && a.Attempt == b.Attempt && a.Status == b.Status && a.Kind == b.Kind && a.Record == b.Record
	}
	if !same {
		return errors.New("the study without its credentials would not be the same study, so it was not written: this is a mistake in plimsoll, please report it")
	}
	return nil
}

// Write replaces study.json.
func (w *StudyWriter) Write(s *Study) error {
	start := w.now()
	clean, err := w.Redacted(s)
	if err != nil {
		return err
	}
	b, err := marshal(clean)
	if err != nil {
		return err
	}
	if err := replace(w.dir, StudyFile, b, true); err != nil {
		return explainStudy(w.dir, err)
	}
	w.written = w.now()
	w.took = w.written.Sub(start)
	return nil
}

// A large study is not written whole after each of its trials: the journal has them, and [OpenStudy] reads it.
const (
	alwaysBelow = 50 * time.Millisecond
	atMostShare = 20 // of the time goes into writing
)

// Update is [StudyWriter.Write] but for a large study, which it writes less often.
func (w *StudyWriter) Update(s *Study) error {
	if w.took > alwaysBelow && w.now().Sub(w.written) < atMostShare*w.took {
		return nil
	}
	return w.Write(s)
}

// SyncTrials makes sure that the directories of trials are found after a crash of the machine.
func (w *StudyWriter) SyncTrials(record string) error {
	if err := syncDir(filepath.Dir(filepath.Join(w.dir, record))); err != nil {
		return explainStudy(w.dir, err)
	}
	return nil
}

// Close closes the journal.
func (w *StudyWriter) Close() error { return w.journal.Close() }

// OpenStudy reads a study with everything that its journal says. One that is being written has status running; one
// that was left so by a process that is gone has status killed, and its trial that was under way is lost.
func OpenStudy(dir string) (*Study, error) {
	s, err := readStudy(dir)
	if err != nil {
		return nil, err
	}
	_, held := Holder(dir) // before the journal is read: what ends in between is in it
	events, _, err := ReadJournal(dir)
	if err != nil {
		return nil, err
	}
	s.placeAll(events)
	if held {
		return s, nil
	}
	if s.Status == Running {
		s.Status = Killed
	}
	for i := range s.Trials {
		if t := &s.Trials[i]; t.Status == TrialRunning {
			t.Status, t.Problem = TrialLost, "the study was killed while it was under way"
		}
	}
	return s, nil
}

// ReadHeldStudy is [OpenStudy] for the process that holds the study (see [Hold]), also where the file system cannot
// say so: it leaves open what became of a trial that was under way.
func ReadHeldStudy(dir string) (*Study, error) {
	s, err := readStudy(dir)
	if err != nil {
		return nil, err
	}
	events, _, err := ReadJournal(dir)
	if err != nil {
		return nil, err
	}
	s.placeAll(events)
	return s, nil
}

// placeAll puts what a journal says into the list. Most of it has its place there already.
func (s *Study) placeAll(events []StudyEvent) {
	type key struct {
		search          bool
		number, attempt int
	}
	keyOf := func(t *Trial) key { return key{t.Kind == TrialSearch, t.Number, t.Attempt} }
	at := map[key]int{}
	index := func() {
		clear(at)
		for i := range s.Trials {
			at[keyOf(&s.Trials[i])] = i
		}
	}
	index()
	for i := range events {
		t := events[i].Trial
		if t == nil {
			continue
		}
		if j, ok := at[keyOf(t)]; ok {
			if rankOf(t.Status) >= rankOf(s.Trials[j].Status) {
				s.Trials[j] = *t
			}
			continue
		}
		s.Place(*t)
		index()
	}
}

func readStudy(dir string) (*Study, error) {
	path := filepath.Join(dir, StudyFile)
	b, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s holds no study: there is no %s in it", dir, StudyFile)
	}
	if err != nil {
		return nil, fmt.Errorf("cannot read the study in %s: %w", dir, cause(err))
	}
	if err := checkHead(path, b, KindStudy); err != nil {
		return nil, err
	}
	var s Study
	if err := json.Unmarshal(b, &s); err != nil {
		return nil, fmt.Errorf("%s is damaged: %w", path, err)
	}
	return &s, nil
}

// checkHead makes sure that a file is of a kind and of a version that can be read.
func checkHead(path string, b []byte, kind string) error {
	var head struct {
		SchemaVersion string `json:"schema_version"`
		Kind          string `json:"kind"`
	}
	if err := json.Unmarshal(b, &head); err != nil {
		return fmt.Errorf("%s is damaged: %w", path, err)
	}
	major, _, _ := strings.Cut(SchemaVersion, ".")
	if have, _, _ := strings.Cut(head.SchemaVersion, "."); have != major {
		return fmt.Errorf("%s has schema version %q, this plimsoll reads %s.x: use the version that wrote it", path, head.SchemaVersion, major)
	}
	if head.Kind != kind {
		return fmt.Errorf("%s is a record of kind %q, not of a %s", path, head.Kind, kind)
	}
	return nil
}

// Place puts what is known of a trial into the list: over the same attempt if that is not known to be further,
// otherwise behind the earlier attempts; trials of procedures come first.
func (s *Study) Place(t Trial) {
	at := 0
	for i := range s.Trials {
		have := &s.Trials[i]
		switch {
		case sameTrial(have, &t) && have.Attempt == t.Attempt:
			if rankOf(t.Status) >= rankOf(have.Status) {
				*have = t
			}
			return
		case sameTrial(have, &t) && (have.Status == TrialPlanned || have.Status == TrialLeft):
			// It stands for any attempt that is to come.
			*have = t
			return
		case !behind(have, &t):
			at = i + 1
		}
	}
	s.Trials = slices.Insert(s.Trials, at, t)
}

func sameTrial(a, b *Trial) bool {
	return a.Number == b.Number && (a.Kind == TrialSearch) == (b.Kind == TrialSearch)
}

// behind reports whether a comes later than b in the list.
func behind(a, b *Trial) bool {
	if (a.Kind == TrialSearch) != (b.Kind == TrialSearch) {
		return b.Kind == TrialSearch
	}
	if a.Number != b.Number {
		return a.Number > b.Number
	}
	return a.Attempt > b.Attempt
}

func rankOf(s TrialStatus) int {
	switch s {
	case TrialPlanned, TrialLeft: // it did not begin
		return 0
	case TrialRunning:
		return 1
	}
	return 2
}

// FreeBytes returns how much can still be written to the file system of a directory, which need not be there yet;
// known is false where that cannot be found out.
func FreeBytes(dir string) (bytes uint64, known bool) {
	f := filesystemOf("free", existing(dir))
	return f.Free, f.Bytes > 0
}
