package main

import (
	"bufio"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// drillMarks returns the moments that the user marks with Enter or, on Unix, SIGUSR1.
func drillMarks(env *environment) (<-chan time.Time, func()) {
	marks := make(chan time.Time, 16)
	send := func() {
		select {
		case marks <- time.Now():
		default: // more marks than a drill uses
		}
	}
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, syscall.SIGUSR1)
	done := make(chan struct{})
	go func() {
		for {
			select {
			case <-signals:
				send()
			case <-done:
				return
			}
		}
	}()
	go func() { // ends with the program: a read from a terminal cannot be interrupted
		lines := bufio.NewReader(env.stdin)
		for {
			if _, err := lines.ReadString('\n'); err != nil {
				return
			}
			send()
		}
	}()
	return marks, func() { signal.Stop(signals); close(done) }
}
