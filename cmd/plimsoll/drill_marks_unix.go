//go:build unix

package main

import (
	"os"
	"syscall"
)

func markSignals() []os.Signal { return []os.Signal{syscall.SIGUSR1} }
