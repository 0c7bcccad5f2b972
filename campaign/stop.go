package campaign

import (
	"context"
	"errors"
	"syscall"

	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/run"
)

// Reason is why a campaign stopped before its last job.
type Reason string

const (
	Interrupted Reason = "interrupted" // it was asked to
	Unreachable Reason = "unreachable" // the target is not there, or refuses
	DiskFull    Reason = "disk full"   // of the record, or of an embedded target
	TooManyFail Reason = "failures"    // too many jobs failed in a row
	BudgetUsed  Reason = "budget"      // the time that it may take is over
	OutOfTime   Reason = "out of time" // its procedures have no time left
	Stuck       Reason = "stuck"       // a job cannot even be aborted
	NotOurs     Reason = "not ours"    // a job needs fresh data, and those that are there belong to somebody else
)

// Stop is the error of a campaign that stopped before its last job. Finished jobs are kept, and it can be resumed.
type Stop struct {
	Reason Reason
	Text   string // what happened, and what to do
	Err    error  // what it came from, nil for none
}

func (s *Stop) Error() string { return s.Text }
func (s *Stop) Unwrap() error { return s.Err }

// Interruption is the error of a campaign that was asked to stop.
func Interruption(kind, dir string) *Stop {
	return &Stop{Reason: Interrupted, Text: "interrupted. Continue with: plimsoll " + kind + " resume " + dir,
		Err: context.Canceled}
}

// ConcludeError returns the outcome for an error of a campaign.
func ConcludeError(err error) record.Conclusion {
	var stop *Stop
	switch {
	case !errors.As(err, &stop):
		return run.ConcludeError(err)
	case stop.Reason == Interrupted:
		return record.Ended
	case run.NoLab(err):
		return record.Refused
	case stop.Reason == Unreachable:
		return record.OutOfReach
	}
	return record.NoResult
}

// Wrong marks an error of the specification.
func Wrong(err error) error { return &run.Error{Stage: run.Specification, Err: err} }

// recording marks an error of writing.
func recording(err error) error {
	if err == nil {
		return nil
	}
	return &run.Error{Stage: run.Recording, Err: err}
}

// Unwritten explains an error of writing; nil for none. After a full disk the campaign can be resumed.
func Unwritten(err error) error {
	if Full(err) {
		return &Stop{Reason: DiskFull, Text: err.Error(), Err: err}
	}
	return recording(err)
}

// Full reports whether a disk or a quota is full.
func Full(err error) bool { return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) }
