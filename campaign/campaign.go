// Package campaign performs jobs one after the other, in a record that can be resumed: the trials of a study, those of
// its procedures, the parts of a suite. A [Session] is one process at such a record.
//
// The progress of a campaign is on the disk in three places. The record of a job is its result. The journal has a line
// for the beginning and the end of each job, which is synced before the campaign continues. The main file is replaced
// after each job. So a process may be killed, or the machine lose power, between any two lines: a job whose record is
// complete is finished, even if its end is not in the journal, and any other job that began is done again.
//
// The package does not know what jobs do. study/conduct and suite say that; they judge the results, too.
package campaign

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"syscall"
	"time"

	"github.com/plimsoll-bench/plimsoll/internal/mac"
	"github.com/plimsoll-bench/plimsoll/record"
)

// Journal is how the jobs of a campaign are written down.
type Journal[J any] interface {
	// Append appends a line about a session or about a job to the journal, and syncs it.
	Append(at time.Time, event string, session *record.StudySession, job *J) error
	// Place puts the state of a job into the result.
	Place(J)
	// RecordOf returns the directory of a job's record, relative to that of the campaign; "" for none.
	RecordOf(J) string
}

// Session performs jobs of a campaign until none is left or it is stopped, from its beginning or from the end of an
// earlier session. Only the goroutine that runs it uses it.
type Session[R record.Result, J any] struct {
	Dir     string
	Result  R // as it is on the disk, without credentials
	Store   *record.Store[R]
	Journal Journal[J]
	Now     func() time.Time
	Tool    record.Tool // of this session, as Command
	Command []string
	Budget  Budget
	Streak  Streak[J]
	// OnEnd is called after the end of a job is on the disk; nil for nothing.
	OnEnd func(J)

	// Sessions are all sessions so far, this one last. Unreadable is the number of lines of the journal that cannot be
	// read. Resume sets both from the journal.
	Sessions   []record.StudySession
	Unreadable int
	Ended      int // jobs that ended in this session
}

// Create begins the record of a campaign in a new directory. Credentials in asked are hidden; the key marks the record
// as one of this user, if it is not nil. end closes it, and releases the directory.
func Create[R record.Result](dir string, asked any, key *mac.Key) (w *record.Store[R], end func(), err error) {
	release, err := record.Hold(dir)
	if err != nil {
		return nil, nil, recording(err)
	}
	return opened(record.Create[R], dir, asked, key, release)
}

// Reopen holds and reads the record of a campaign that began. It writes nothing before [Continue].
func Reopen[R record.Result](dir string) (r R, release func(), err error) {
	if r, err = record.ReadHeld[R](dir); err != nil { // first, because Hold makes the directory
		return r, nil, Wrong(err)
	}
	if release, err = record.Hold(dir); err != nil {
		return r, nil, recording(err)
	}
	if r, err = record.ReadHeld[R](dir); err != nil {
		release()
		return r, nil, Wrong(err)
	}
	return r, release, nil
}

// Continue opens a record of [Reopen] to write it further. Its other arguments and results are those of [Create].
func Continue[R record.Result](dir string, asked any, key *mac.Key) (w *record.Store[R], end func(), err error) {
	return opened(record.Continue[R], dir, asked, key, func() {})
}

func opened[R record.Result](open func(string, any) (*record.Store[R], error), dir string, asked any, key *mac.Key,
	release func()) (*record.Store[R], func(), error) {
	w, err := open(dir, asked)
	if err != nil {
		release()
		return nil, nil, recording(err)
	}
	w.Sign(key)
	return w, func() { w.Close(); release() }, nil
}

// Begin writes the record for the first time in a session.
func (s *Session[R, J]) Begin() error {
	if err := s.Store.Write(s.Result); err != nil {
		return recording(err)
	}
	here := s.here()
	s.Sessions = append(s.Sessions, here)
	return recording(s.Journal.Append(s.Now().UTC(), record.EventSession, &here, nil))
}

// here describes this session.
func (s *Session[R, J]) here() record.StudySession {
	e := record.NewEnvironment(nil)
	return record.StudySession{Tool: s.Tool, Command: s.Command, Pid: syscall.Getpid(), Host: e.Host, CPU: e.CPU,
		Cores: e.Cores, Directory: Directory()}
}

// Directory is where relative paths count from; "" if that is not known.
func Directory() string {
	dir, _ := filepath.Abs(".")
	return dir
}

// Do performs a job between the lines for its beginning and its end. perform sets what became of the job; its error
// stops the campaign after the end is on the disk.
func (s *Session[R, J]) Do(j *J, perform func() error) error {
	if err := s.Note(record.EventBegin, *j); err != nil {
		return err
	}
	stop := perform()
	if err := s.end(*j); err != nil {
		return err
	}
	return stop
}

// end writes the end of a job, after its record was synced.
func (s *Session[R, J]) end(j J) error {
	if at := s.Journal.RecordOf(j); at != "" {
		if err := s.Store.SyncBelow(at); err != nil {
			return Unwritten(err)
		}
	}
	if err := s.Note(record.EventEnd, j); err != nil {
		return err
	}
	s.Ended++
	if s.OnEnd != nil {
		s.OnEnd(j)
	}
	return Unwritten(s.Store.Update(s.Result))
}

// Note writes the state of a job to the journal, and puts it into the result.
func (s *Session[R, J]) Note(event string, j J) error {
	if err := s.Journal.Append(s.Now().UTC(), event, nil, &j); err != nil {
		return Unwritten(err)
	}
	s.Journal.Place(j)
	return nil
}

// Write replaces the main file.
func (s *Session[R, J]) Write() error { return Unwritten(s.Store.Write(s.Result)) }

// All performs jobs until there is none. next returns the next job, false if there is none; do performs it. An error of
// either ends it.
func (s *Session[R, J]) All(ctx context.Context, next func() (J, bool, error), do func(J) error) error {
	for {
		j, ok, err := next()
		if err != nil || !ok {
			return err
		}
		if ctx.Err() != nil {
			return s.Interruption()
		}
		if err := do(j); err != nil {
			return err
		}
		if err := s.TooMany(); err != nil {
			return err
		}
	}
}

// Interruption is the error of a session that was asked to stop.
func (s *Session[R, J]) Interruption() *Stop { return Interruption(s.Result.Common().Kind, s.Dir) }

// TooMany returns the error of a session in which too many jobs failed in a row, nil if they did not.
func (s *Session[R, J]) TooMany() error {
	if s.Streak.failures < s.Streak.Most || s.Streak.Most == 0 {
		return nil
	}
	return &Stop{Reason: TooManyFail, Text: fmt.Sprintf("%d %s failed in a row, the last one with: %s. Remove the cause, then "+
		"continue with: plimsoll %s resume %s (--retry-failed repeats them)", s.Streak.failures, s.Streak.Noun, s.Streak.last,
		s.Result.Common().Kind, s.Dir)}
}

// Finish writes the record at the end of the session, after judge, and returns it without credentials. err is what
// stopped it. The error has an error of writing, too.
func (s *Session[R, J]) Finish(err error, judge func()) (R, error) {
	h := s.Result.Common()
	h.Ended = nil
	switch {
	case err == nil:
		ended := s.Now().UTC()
		h.Status, h.Problem, h.Ended = record.Complete, "", &ended
	case errors.As(err, new(*Stop)):
		h.Status, h.Problem = record.Interrupted, err.Error()
	default:
		h.Status, h.Problem = record.Failed, err.Error()
	}
	judge()
	writeErr := s.Store.Write(s.Result)
	clean, redactErr := s.Store.Redacted(s.Result)
	lost := errors.Join(writeErr, redactErr)
	if lost == nil {
		return clean, err
	}
	if redactErr == nil {
		of := clean.Common()
		of.Validity = append(of.Validity, record.Unwritten(lost))
	}
	return clean, errors.Join(err, recording(fmt.Errorf("the %s could not be written at its end: %w", h.Kind, lost)))
}
