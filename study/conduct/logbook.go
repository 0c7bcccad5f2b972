package conduct

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"syscall"
	"time"

	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/run"
	"github.com/plimsoll-bench/plimsoll/study"
)

// logbook writes the study: study.json, the journal and the directories of attempts.
type logbook struct {
	dir    string
	clock  study.Clock
	w      *record.StudyWriter
	study  *record.Study // without credentials
	number uint64        // of the run that began last

	sessions   []record.StudySession        // all of them, this one last
	unreadable int                          // unreadable lines of the journal
	open       map[string]*record.TrialData // of attempts whose end is unknown, by their records
	attempts   map[string]int               // the highest attempt of each trial
	scanned    bool                         // attempts knows those of earlier sessions
}

func newLogbook(o Options, w *record.StudyWriter, s *record.Study) *logbook {
	return &logbook{dir: o.Dir, clock: o.Clock, w: w, study: s,
		open: map[string]*record.TrialData{}, attempts: map[string]int{}}
}

// recall reads the journal of earlier sessions, also for the state of the data.
func (l *logbook) recall(data *dataSets) error {
	events, unreadable, err := record.ReadJournal(l.dir)
	if err != nil {
		return recording(err)
	}
	l.unreadable = unreadable
	for i := range events {
		e := &events[i]
		switch {
		case e.Session != nil:
			l.sessions = append(l.sessions, *e.Session)
		case e.Event == record.EventBegin && e.Data != nil:
			l.open[e.Trial.Record] = e.Data
		case e.Event == record.EventEnd && e.Data != nil:
			delete(l.open, e.Trial.Record)
			data.ended(e.Data)
		}
	}
	for _, d := range l.open {
		data.cutShort(d)
	}
	return nil
}

// begin writes the study for the first time in a session.
func (l *logbook) begin(session record.StudySession) error {
	if err := l.w.Write(l.study); err != nil {
		return recording(err)
	}
	l.sessions = append(l.sessions, session)
	return recording(l.w.Append(record.StudyEvent{At: l.clock.Now().UTC(), Event: record.EventSession, Session: &session}))
}

// write replaces study.json.
func (l *logbook) write() error { return unwritten(l.w.Write(l.study)) }

// note writes to the journal and to the list of trials.
func (l *logbook) note(kind string, t record.Trial, j job, d *record.TrialData) error {
	e := record.StudyEvent{At: l.clock.Now().UTC(), Event: kind, Trial: &t, Procedure: j.procedure, Step: j.step, Data: d}
	if err := l.w.Append(e); err != nil {
		return unwritten(err)
	}
	l.study.Place(t)
	return nil
}

// unwritten explains a write error. After a full disk the study can be resumed.
func unwritten(err error) error {
	if full(err) {
		return &Stop{Reason: DiskFull, Text: err.Error(), Err: err}
	}
	return recording(err)
}

func full(err error) bool { return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) }

// close writes the study at the end of the session, and returns it without credentials. err is what stopped it.
func (l *logbook) close(err error) (*record.Study, error) {
	writeErr := l.w.Write(l.study)
	clean, redactErr := l.w.Redacted(l.study)
	if writeErr != nil && clean != nil {
		clean.Validity = append(clean.Validity, record.Unwritten(writeErr))
	}
	if lost := errors.Join(writeErr, redactErr); err == nil {
		err = recording(lost)
	} else if lost != nil {
		err = errors.Join(err, fmt.Errorf("and the study could not be written at its end: %w", lost))
	}
	return clean, err
}

// nextNumber returns the number of a run that begins now. It is the time, and keeps the keys of inserts of different
// runs apart. If the clock was set back, the number must not repeat. Each previous number was the start time of its
// trial or one more than its predecessor, so none exceeds the latest start plus the number of trials.
func (l *logbook) nextNumber(now time.Time) uint64 {
	if l.number == 0 {
		trials := uint64(0)
		for _, t := range l.study.Trials {
			if t.Started != nil {
				l.number = max(l.number, run.Number(*t.Started))
				trials++
			}
		}
		l.number += trials
	}
	l.number = max(run.Number(now), l.number+1)
	return l.number
}

// nameOf names a trial within a study; an attempt of it adds its number.
func nameOf(t record.Trial, procedure string) string {
	if procedure == "" {
		return fmt.Sprintf("%04d", t.Number)
	}
	return fmt.Sprintf("%s-%04d", procedure, t.Number-firstNumber[procedure])
}

// dirOf returns the directory of the record of an attempt, relative to that of the study.
func dirOf(t record.Trial, procedure string) string {
	in := record.TrialsDir
	if procedure != "" {
		in = record.ProceduresIn
	}
	return fmt.Sprintf("%s/%s-%d", in, nameOf(t, procedure), t.Attempt)
}

// nextAttempt returns the number of an attempt that begins now.
func (l *logbook) nextAttempt(t record.Trial, procedure string) int {
	l.attempts[nameOf(t, procedure)]++
	return l.attempts[nameOf(t, procedure)]
}

var attemptDir = regexp.MustCompile(`^(.+)-(\d+)$`)

// scan finds the highest attempt of each trial, from the directories and the list of trials.
func (l *logbook) scan() error {
	if l.scanned {
		return nil
	}
	l.scanned = true
	see := func(name string) {
		m := attemptDir.FindStringSubmatch(name)
		if m == nil {
			return
		}
		if n, err := strconv.Atoi(m[2]); err == nil {
			l.attempts[m[1]] = max(l.attempts[m[1]], n)
		}
	}
	for _, in := range []string{record.TrialsDir, record.ProceduresIn} {
		at, err := record.Below(l.dir, in)
		if err != nil {
			return recording(err)
		}
		entries, err := os.ReadDir(at)
		if err != nil {
			return recording(err)
		}
		for _, e := range entries {
			see(e.Name())
		}
	}
	for _, t := range l.study.Trials {
		if t.Record != "" {
			see(filepath.Base(t.Record))
		}
	}
	return nil
}

// unended lists the attempts of a trial that began and whose end is unknown.
func (l *logbook) unended(t record.Trial, procedure string) ([]record.Trial, error) {
	if err := l.scan(); err != nil {
		return nil, err
	}
	var list []record.Trial
	for attempt := 1; attempt <= l.attempts[nameOf(t, procedure)]; attempt++ {
		known, ended := l.known(t, attempt)
		if ended {
			continue
		}
		known.Record = cmp.Or(known.Record, dirOf(known, procedure))
		list = append(list, known)
	}
	return list, nil
}

// known returns an attempt as far as the study knows it, and whether it ended.
func (l *logbook) known(t record.Trial, attempt int) (record.Trial, bool) {
	for _, have := range l.study.Trials {
		same := have.Number == t.Number && (have.Kind == record.TrialSearch) == (t.Kind == record.TrialSearch)
		if same && have.Attempt == attempt && have.Status != record.TrialPlanned {
			return have, have.Status != record.TrialRunning
		}
	}
	t.Attempt, t.Record = attempt, ""
	t.Started, t.Seconds, t.Values, t.Validity, t.Problem = nil, 0, nil, nil, ""
	return t, false
}

// left lists the trials to run, in order: those that did not end and, with retryFailed, those that failed or are
// invalid.
func (l *logbook) left(retryFailed bool) []record.Trial {
	last := map[int]record.Trial{}
	var numbers []int
	for _, t := range l.study.Trials {
		if t.Kind == record.TrialSearch {
			continue
		}
		if _, seen := last[t.Number]; !seen {
			numbers = append(numbers, t.Number)
		}
		// attempts after a valid one do not count
		if have := last[t.Number]; have.Status != record.TrialDone || worthless(have) {
			last[t.Number] = t
		}
	}
	var list []record.Trial
	for _, n := range numbers {
		switch t := last[n]; t.Status {
		case record.TrialLeft: // it stays left out: see Options.TakeLeft
		case record.TrialDone, record.TrialFailed, record.TrialTimeout:
			if retryFailed && (t.Status != record.TrialDone || worthless(t)) {
				list = append(list, t)
			}
		default:
			list = append(list, t)
		}
	}
	return list
}

// worthless reports whether a finished trial is invalid.
func worthless(t record.Trial) bool { return measure.Worst(t.Validity) == measure.Invalid }

// lastProblem returns why the last failed trial failed.
func lastProblem(trials []record.Trial) string {
	problem := "no reason given"
	for _, t := range trials {
		if t.Status == record.TrialFailed || t.Status == record.TrialTimeout {
			problem = t.Problem
		}
	}
	return problem
}
