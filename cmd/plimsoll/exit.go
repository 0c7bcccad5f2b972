package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/plimsoll-bench/plimsoll/record"
)

// Exit codes are a contract with scripts: documented in `plimsoll help exit-codes` and docs/reference/exit-codes.md,
// and tested.
const (
	exitSuccess     = 0   // success, all objectives met
	exitFailure     = 1   // any other failure
	exitUsage       = 2   // wrong command line, address or file
	exitUnreachable = 3   // target unreachable, or credentials refused
	exitObjective   = 4   // measured, but an objective was missed
	exitLost        = 5   // an acknowledged write was lost that had to survive (drills)
	exitInvalid     = 6   // measured, but the result is invalid
	exitInterrupted = 130 // Ctrl-C or a signal; measured data is kept
)

// exitOf maps conclusions, which the judging packages decide, to exit codes.
var exitOf = map[record.Conclusion]int{
	record.Satisfied:  exitSuccess,
	record.NoResult:   exitFailure,
	record.Refused:    exitUsage,
	record.OutOfReach: exitUnreachable,
	record.Missed:     exitObjective,
	record.WritesLost: exitLost,
	record.Incredible: exitInvalid,
	record.Ended:      exitInterrupted,
}

// ending returns an error without text that carries the exit code of a conclusion; nil for success.
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

var errSilent = errors.New("")

// exitError carries an exit code and the next step for the user.
type exitError struct {
	code int
	err  error
	hint string
}

func (e *exitError) Error() string { return e.err.Error() }
func (e *exitError) Unwrap() error { return e.err }

func usageError(format string, a ...any) error {
	return &exitError{code: exitUsage, err: fmt.Errorf(format, a...)}
}

// withExit attaches an exit code to err. A nil error stays nil.
func withExit(code int, err error) error {
	if err == nil {
		return nil
	}
	return &exitError{code: code, err: err}
}

func withHint(code int, err error, hint string) error {
	return &exitError{code: code, err: err, hint: hint}
}

func exitCode(err error) int {
	var e *exitError
	switch {
	case err == nil:
		return exitSuccess
	case errors.Is(err, record.ErrTaken):
		return exitUsage // nothing was done
	case errors.As(err, &e):
		return e.code
	case errors.Is(err, context.Canceled):
		return exitInterrupted
	}
	return exitFailure
}
