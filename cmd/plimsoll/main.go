// Command plimsoll says how much load a MongoDB deployment safely carries.
//
// This package is the command line: a thin main, one file per command, and all text for the terminal.
// Nothing is measured or decided here. Results go to standard output, everything about how the work
// goes on to standard error; exit codes are a contract (exit.go).
package main

import (
	"context"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"golang.org/x/term"

	"github.com/plimsoll-bench/plimsoll/report/html"

	"github.com/plimsoll-bench/plimsoll/internal/redact"
)

// environment is everything outside of the process that a command may touch. Commands take it from
// here and never from package os, so that tests can run whole commands.
type environment struct {
	args     []string // without the program name
	stdin    io.Reader
	stdout   io.Writer
	stderr   io.Writer
	getenv   func(string) string
	unsetenv func(string) error // keeps a variable from processes that are started; nil does nothing
	secrets  *redact.Known      // of addresses that were read; never in an error
	now      func() time.Time
	terminal bool                              // standard error is a terminal
	width    func() int                        // columns of that terminal
	signals  func() (<-chan os.Signal, func()) // interrupts, and how to stop listening

	openPage func(dir string) (*html.Source, error) // reads a record for its page; nil but in tests
}

func main() {
	os.Exit(mainRun(context.Background(), &environment{
		args:     os.Args[1:],
		stdin:    os.Stdin,
		stdout:   os.Stdout,
		stderr:   os.Stderr,
		getenv:   os.Getenv,
		unsetenv: os.Unsetenv,
		now:      time.Now,
		terminal: term.IsTerminal(int(os.Stderr.Fd())),
		width:    terminalWidth,
		signals:  interrupts,
	}))
}

func terminalWidth() int {
	if w, _, err := term.GetSize(int(os.Stderr.Fd())); err == nil && w > 0 {
		return w
	}
	return 80
}

// interrupts are the signals that end a command in order. The end of the terminal is one of them, unless it was to be survived
// (nohup). From here on a reader of the output that has gone, as with `| head` or a tee that the same Ctrl-C ended, does not end the
// program in the middle of its work: what is broken has to be healed first, and a record to be finished.
func interrupts() (<-chan os.Signal, func()) {
	c := make(chan os.Signal, 2)
	ends := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) {
		ends = append(ends, syscall.SIGHUP)
	}
	signal.Notify(c, ends...)
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE) // the write fails, which nobody minds
	return c, func() { signal.Stop(c) }
}
