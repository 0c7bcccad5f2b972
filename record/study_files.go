package record

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/plimsoll-bench/plimsoll/spec"
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
func CreateStudy(dir string, asked spec.Study) (*StudyWriter, error) {
	if strings.TrimSpace(dir) == "" {
		return nil, errors.New("a study needs a directory: give one (--out)")
	}
	if err := begun(dir, "study", StudyFile, JournalFile); err != nil {
		return nil, err
	}
	if err := vacate(dir); err != nil {
		return nil, err
	}
	w, err := ContinueStudy(dir, asked)
	if err == nil {
		_ = syncDir(filepath.Dir(filepath.Clean(dir))) // where that is not allowed, the study is not worse off than any other file
	}
	return w, err
}

// ContinueStudy goes on writing a study.
func ContinueStudy(dir string, asked spec.Study) (*StudyWriter, error) {
	for _, sub := range []string{TrialsDir, ProceduresIn} {
		if err := os.MkdirAll(filepath.Join(dir, sub), 0o755); err != nil {
			return nil, explainStudy(dir, err)
		}
	}
	if err := unseal(dir); err != nil {
		return nil, explainStudy(dir, err)
	}
	f, err := openJournal(dir)
	if err != nil {
		return nil, explainStudy(dir, err)
	}
	return &StudyWriter{dir: dir, journal: f, red: newStudyRedactor(asked), now: time.Now}, nil
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
	if err := replaceSealed(w.dir, StudyFile, b, s.Status); err != nil {
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

func (s *Study) complete(dir string, held bool) error {
	events, _, err := ReadJournal(dir)
	if err != nil {
		return err
	}
	s.placeAll(events)
	if held {
		return nil
	}
	if s.Status == Running {
		s.Status = Killed
	}
	for i := range s.Trials {
		if t := &s.Trials[i]; t.Status == TrialRunning {
			t.Status, t.Problem = TrialLost, "the study was killed while it was under way"
		}
	}
	return nil
}

// ReadHeldStudy is [OpenStudy] for the process that holds the study (see [Hold]), also where the file system cannot
// say so: it leaves open what became of a trial that was under way.
func ReadHeldStudy(dir string) (*Study, error) {
	s, err := readStudy(dir)
	if err != nil {
		return nil, err
	}
	return s, s.complete(dir, true)
}

// placeAll puts what a journal says into the list, as [Study.Place] does one by one. Most of it has its place there already;
// the rest is put in at once, because a journal may have many lines.
func (s *Study) placeAll(events []StudyEvent) {
	type trial struct {
		search bool
		number int
	}
	type attempt struct {
		trial
		attempt int
	}
	trialOf := func(t *Trial) trial { return trial{t.Kind == TrialSearch, t.Number} }
	at, open := map[attempt]int{}, map[trial]int{} // open ones stand for any attempt that is to come
	note := func(i int) {
		t := &s.Trials[i]
		at[attempt{trialOf(t), t.Attempt}] = i
		if delete(open, trialOf(t)); t.Status == TrialPlanned || t.Status == TrialLeft {
			open[trialOf(t)] = i
		}
	}
	for i := range s.Trials {
		note(i)
	}
	known := len(s.Trials)
	for i := range events {
		t := events[i].Trial
		if t == nil {
			continue
		}
		j, have := at[attempt{trialOf(t), t.Attempt}]
		if have && rankOf(t.Status) < rankOf(s.Trials[j].Status) {
			continue
		}
		if !have {
			j, have = open[trialOf(t)]
		}
		if !have {
			j, s.Trials = len(s.Trials), append(s.Trials, Trial{})
		}
		s.Trials[j] = *t
		note(j)
	}
	if len(s.Trials) > known {
		slices.SortStableFunc(s.Trials, func(a, b Trial) int {
			switch {
			case behind(&a, &b):
				return 1
			case behind(&b, &a):
				return -1
			}
			return 0
		})
	}
}

func readStudy(dir string) (*Study, error) {
	var s Study
	if err := readDocument(dir, StudyFile, KindStudy, "study", &s); err != nil {
		return nil, err
	}
	return &s, nil
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
