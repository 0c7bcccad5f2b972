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
)

// environment is everything outside of the process that a command may touch. Commands take it from
// here and never from package os, so that tests can run whole commands.
type environment struct {
	args     []string // without the program name
	stdin    io.Reader
	stdout   io.Writer
	stderr   io.Writer
	getenv   func(string) string
	now      func() time.Time
	terminal bool                              // standard error is a terminal
	width    func() int                        // columns of that terminal
	signals  func() (<-chan os.Signal, func()) // interrupts, and how to stop listening
}

func main() {
	os.Exit(mainRun(context.Background(), &environment{
		args:     os.Args[1:],
		stdin:    os.Stdin,
		stdout:   os.Stdout,
		stderr:   os.Stderr,
		getenv:   os.Getenv,
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

func interrupts() (<-chan os.Signal, func()) {
	c := make(chan os.Signal, 2)
	signal.Notify(c, os.Interrupt, syscall.SIGTERM)
	return c, func() { signal.Stop(c) }
}
