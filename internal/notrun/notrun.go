// Package notrun names what tests could not check on a machine, so that it is not taken for checked. A test that
// returns early because of the machine calls [Here]. At its end, `make test` lists all of them by name
// (tools/notrun.sh).
package notrun

import (
	"fmt"
	"testing"
)

// Mark begins the line of a test in the output of `go test -json`, which also has the logs of tests that pass.
const Mark = "NOT RUN: "

// Here says that a test, or the part of it that comes now, does not run on this machine, and why.
func Here(t testing.TB, format string, a ...any) {
	t.Helper()
	t.Log(Mark + fmt.Sprintf(format, a...))
}
