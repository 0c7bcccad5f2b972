package run

import (
	"context"
	"errors"
	"slices"

	"github.com/plimsoll-bench/plimsoll/lab"
	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/store"
)

// Conclude returns the conclusion of a run.
func Conclude(r *record.Run) record.Conclusion {
	switch {
	case r.Status == record.Interrupted || r.Status == record.Killed:
		return record.Ended
	case r.Status == record.Failed:
		return record.NoResult
	case measure.Worst(r.Validity) == measure.Invalid:
		return record.Incredible
	case slices.ContainsFunc(r.Objectives, func(o measure.ObjectiveResult) bool { return !o.Met }):
		return record.Missed
	}
	return record.Satisfied
}

// NothingMeasured reports whether a run was interrupted before its measured phase.
func NothingMeasured(r *record.Run) bool {
	return r.Status == record.Interrupted && r.Phase("measure") == nil && !r.Specification.LoadPhase.Only
}

// Denied reports whether a server refused the credentials or the rights of a user.
func Denied(err error) bool {
	const unauthorized, authenticationFailed = 13, 18
	var e *store.ServerError
	return errors.As(err, &e) && (e.Code == unauthorized || e.Code == authenticationFailed)
}

// NoLab reports whether the lab does not exist.
func NoLab(err error) bool { return errors.Is(err, lab.ErrNoLab) }

// ConcludeError returns the conclusion of an error of a run, or of a study, drill or suite.
func ConcludeError(err error) record.Conclusion {
	var e *Error
	staged := errors.As(err, &e)
	switch {
	case err == nil:
		return record.Satisfied
	case errors.Is(err, record.ErrTaken):
		return record.Refused
	case Denied(err):
		return record.OutOfReach
	case staged && (e.Stage == Specification || e.Stage == Reaching && NoLab(err)):
		return record.Refused
	case staged && e.Stage == Reaching && !errors.Is(err, context.Canceled):
		return record.OutOfReach
	case errors.Is(err, context.Canceled):
		return record.Ended
	}
	return record.NoResult
}
