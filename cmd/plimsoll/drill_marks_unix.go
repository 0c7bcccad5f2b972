//go:build unix

package main

import (
	"os"
	"syscall"
)

// markSignals are the signals that mark a moment.
func markSignals() []os.Signal { return []os.Signal{syscall.SIGUSR1} }
