package conduct

import (
	"errors"

	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/run"
)

// ConcludeError returns the outcome for an error of a study.
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
