// Package notrun names what tests could not check on a machine, so that it is not taken for checked. A test that
// returns early because of the machine calls [Here]. At its end, `make test` lists all of them by name
// (tools/notrun.sh).
package notrun

import (
	"fmt"
	"os"
	"testing"
)

// Mark begins the line of a test in the output of `go test -json`, which also has the logs of tests that pass.
const Mark = "NOT RUN: "

// LeaveVar is the variable in the environment with which `make test` leaves to `make ci` what needs an engine, a
// browser, a cluster or root.
const LeaveVar = "PLIMSOLL_TEST_LEAVE"

// Left reports whether a test leaves a part to `make ci`, and says so.
func Left(t testing.TB, part string) bool {
	t.Helper()
	if os.Getenv(LeaveVar) == "" {
		return false
	}
	Here(t, "%s: left to make ci", part)
	return true
}

// Here says that a test, or the part of it that comes now, does not run on this machine, and why.
func Here(t testing.TB, format string, a ...any) {
	t.Helper()
	t.Log(Mark + fmt.Sprintf(format, a...))
}
