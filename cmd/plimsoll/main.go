// Command plimsoll measures how much load a MongoDB deployment safely carries.
//
// This package is the command line: a thin main, one file per command, and all text for the terminal. It measures and
// decides nothing. Results go to standard output, progress and messages to standard error. Exit codes are a contract
// (exit.go).
package main

import (
	"cmp"
	"context"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"golang.org/x/term"

	_ "github.com/plimsoll-bench/plimsoll/internal/quickstart" // no garbage collection while the program starts
	"github.com/plimsoll-bench/plimsoll/internal/redact"
	"github.com/plimsoll-bench/plimsoll/report"
)

// environment is everything outside of the process that a command may use. Commands take it from here, never from
// package os, so tests can run whole commands.
type environment struct {
	args     []string // without the program name
	stdin    io.Reader
	stdout   io.Writer
	stderr   io.Writer
	getenv   func(string) string
	unsetenv func(string) error // removes a variable from the environment of child processes; may be nil
	secrets  *redact.Known      // secrets of addresses, hidden in errors
	now      func() time.Time
	columns  func() int                        // of standard output if it is a terminal, otherwise 0; may be nil
	terminal bool                              // standard error is a terminal
	width    func() int                        // columns of that terminal
	signals  func() (<-chan os.Signal, func()) // interrupts, and a function that stops them

	openPage func(dir string) (*report.Source, error) // reads a record for its page; nil except in tests
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
		columns:  func() int { return columnsOf(os.Stdout) },
		terminal: term.IsTerminal(int(os.Stderr.Fd())),
		width:    terminalWidth,
		signals:  interrupts,
	}))
}

func terminalWidth() int {
	return cmp.Or(columnsOf(os.Stderr), 80)
}

// columnsOf is the width of a terminal, 0 if a file is none.
func columnsOf(f *os.File) int {
	w, _, err := term.GetSize(int(f.Fd()))
	if err != nil || w < 0 {
		return 0
	}
	return w
}

// interrupts returns the signals that end a command in order. SIGHUP is one of them, unless it is ignored (nohup).
// SIGPIPE is ignored from here on: a closed output, as with `| head`, must not stop the program before faults are
// reverted and the record is complete.
func interrupts() (<-chan os.Signal, func()) {
	c := make(chan os.Signal, 2)
	ends := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) {
		ends = append(ends, syscall.SIGHUP)
	}
	signal.Notify(c, ends...)
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE) // the write returns an error instead
	return c, func() { signal.Stop(c) }
}
