package run

import (
	"context"
	"errors"

	"github.com/plimsoll-bench/plimsoll/lab"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/store"
)

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
