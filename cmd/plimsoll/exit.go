package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/plimsoll-bench/plimsoll/record"
)

// Exit codes. They are a contract with scripts: documented in `plimsoll help exit-codes` and in
// docs/exit-codes.md, and tested.
const (
	exitSuccess     = 0   // done, and every objective is met
	exitFailure     = 1   // something failed that none of the others names
	exitUsage       = 2   // the command line or a file given to it is wrong
	exitUnreachable = 3   // the target cannot be reached or refuses the credentials
	exitObjective   = 4   // measured, but an objective is missed
	exitLost        = 5   // an acknowledged write that had to survive is gone (drills)
	exitInvalid     = 6   // measured, but the result must not be believed
	exitInterrupted = 130 // ended by Ctrl-C or a signal; what was measured is kept
)

// exitOf is the exit code of each conclusion. What a result comes to is decided by the rooms that judge.
var exitOf = map[record.Conclusion]int{
	record.Satisfied: exitSuccess, record.NoResult: exitFailure, record.Refused: exitUsage, record.OutOfReach: exitUnreachable,
	record.Missed: exitObjective, record.WritesLost: exitLost, record.Incredible: exitInvalid, record.Ended: exitInterrupted,
}

// ending is the error that carries the exit code of a conclusion. The result was printed, so it has no text; nil if all is well.
func ending(c record.Conclusion) error {
	if c == record.Satisfied {
		return nil
	}
	code, known := exitOf[c]
	if !known {
		code = exitFailure
	}
	return withExit(code, errSilent)
}

// errSilent only carries an exit code.
var errSilent = errors.New("")

// exitError carries an exit code and, for the person, what to do next.
type exitError struct {
	code int
	err  error
	hint string
}

func (e *exitError) Error() string { return e.err.Error() }
func (e *exitError) Unwrap() error { return e.err }

// usageError is a mistake in what the user wrote.
func usageError(format string, a ...any) error {
	return &exitError{code: exitUsage, err: fmt.Errorf(format, a...)}
}

// withExit attaches an exit code to err; nil stays nil.
func withExit(code int, err error) error {
	if err == nil {
		return nil
	}
	return &exitError{code: code, err: err}
}

// withHint attaches an exit code and a next step to err.
func withHint(code int, err error, hint string) error {
	return &exitError{code: code, err: err, hint: hint}
}

// exitCode finds the code for an error that reached the top.
func exitCode(err error) int {
	var e *exitError
	switch {
	case err == nil:
		return exitSuccess
	case errors.Is(err, record.ErrTaken):
		return exitUsage // whatever it was that wanted to write there: nothing was done
	case errors.As(err, &e):
		return e.code
	case errors.Is(err, context.Canceled):
		return exitInterrupted
	}
	return exitFailure
}
