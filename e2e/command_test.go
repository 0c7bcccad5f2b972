//go:build !race

package e2e

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/record"
)

// command is a running plimsoll.
type command struct {
	cmd            *exec.Cmd
	args           []string
	dir            string // working directory
	stdout, stderr bytes.Buffer
	done           chan struct{}
	err            error
}

// ended is the result of a command.
type ended struct {
	args           []string
	dir            string
	code           int // exit code as in a shell; -1 if killed
	stdout, stderr string
}

// start starts plimsoll in an empty working directory.
func start(t *testing.T, args ...string) *command {
	t.Helper()
	return startChanged(t, func(*exec.Cmd) {}, args...)
}

// startChanged starts a command after changes to it.
func startChanged(t *testing.T, change func(*exec.Cmd), args ...string) *command {
	t.Helper()
	f := files(t)
	c := &command{cmd: exec.Command(f.binary, args...), args: args, dir: t.TempDir(), done: make(chan struct{})}
	c.cmd.Env = append(os.Environ(), "PLIMSOLL_HOME="+f.home)
	c.cmd.Dir, c.cmd.Stdout, c.cmd.Stderr = c.dir, &c.stdout, &c.stderr
	change(c.cmd)
	if err := c.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { c.err = c.cmd.Wait(); close(c.done) }()
	t.Cleanup(func() { _ = c.cmd.Process.Kill(); <-c.done })
	return c
}

func (c *command) signal(t *testing.T, sig os.Signal) {
	t.Helper()
	if err := c.cmd.Process.Signal(sig); err != nil {
		t.Fatalf("%v has ended already: %v\n%s", c.args, err, c.stderr.String())
	}
}

func (c *command) wait(t *testing.T) ended {
	t.Helper()
	select {
	case <-c.done:
	case <-time.After(patience):
		t.Fatalf("%v did not end within %v\n%s", c.args, patience, c.stderr.String())
	}
	var exit *exec.ExitError
	if c.err != nil && !errors.As(c.err, &exit) {
		t.Fatal(c.err)
	}
	return ended{args: c.args, dir: c.dir, code: c.cmd.ProcessState.ExitCode(), stdout: c.stdout.String(),
		stderr: c.stderr.String()}
}

// plimsoll runs a command until it exits.
func plimsoll(t *testing.T, args ...string) ended {
	t.Helper()
	return start(t, args...).wait(t)
}

// must fails the test unless the command ended with a code.
func (e ended) must(t *testing.T, code int) ended {
	t.Helper()
	if e.code != code {
		t.Fatalf("plimsoll %q ended with %d, not %d\nstandard output:\n%s\nstandard error:\n%s", e.args, e.code, code, e.stdout, e.stderr)
	}
	return e
}

// measured is the result of a run, also of one whose load generator waited for a busy machine: that makes only its
// figures invalid.
func (e ended) measured(t *testing.T) *record.Run {
	t.Helper()
	if e.code != 6 {
		e.must(t, 0)
	}
	r := e.record(t)
	for _, f := range r.Validity {
		if f.Severity == measure.Invalid && !strings.HasPrefix(f.ID, "client-") {
			t.Errorf("plimsoll %q: %s: %s", e.args, f.ID, f.Text)
		}
	}
	return r
}

// record reads the result that was printed as JSON.
func (e ended) record(t *testing.T) *record.Run {
	t.Helper()
	var r struct { // the record behind a summary
		Summary any
		record.Run
	}
	d := json.NewDecoder(bytes.NewReader([]byte(e.stdout)))
	d.DisallowUnknownFields()
	if err := d.Decode(&r); err != nil {
		t.Fatalf("plimsoll %q printed no result: %v\n%s\n%s", e.args, err, e.stdout, e.stderr)
	}
	if d.More() {
		t.Errorf("plimsoll %q printed more than one JSON value on standard output", e.args)
	}
	return &r.Run
}

// out is the directory of records, relative to the working directory.
const out = "record"

// showAgain prints the record of a command again.
func (e ended) showAgain(t *testing.T, code int) *record.Run {
	t.Helper()
	return plimsoll(t, "show", filepath.Join(e.dir, out), "--format", "json").must(t, code).record(t)
}

// lookEvery is the time between two checks of until. Most checks start a process, and tests run in parallel.
const lookEvery = 200 * time.Millisecond

// until calls f until it returns true. It fails at once if the command exits before.
func (c *command) until(t *testing.T, what string, f func() bool) {
	t.Helper()
	until(t, what, func() bool {
		select {
		case <-c.done:
			t.Fatalf("%v ended while something was waited for: %s\n%s", c.args, what, c.stderr.String())
		default:
		}
		return f()
	})
}

// until calls f until it returns true.
func until(t *testing.T, what string, f func() bool) {
	t.Helper()
	for limit := time.Now().Add(patience); !f(); time.Sleep(lookEvery) {
		if time.Now().After(limit) {
			t.Fatalf("waited %v in vain for: %s", patience, what)
		}
	}
}
