package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"syscall"

	"github.com/plimsoll-bench/plimsoll/internal/childproc"
	"github.com/plimsoll-bench/plimsoll/internal/replace"
)

// watchLog is the file in a journal with what its watchdog said.
const watchLog = "watch.log"

// startWatchdog starts the watchdog of a journal in a session of its own, so that it outlives this process and its
// terminal.
func startWatchdog(ctx context.Context, journal string) error {
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("cannot start the watchdog that reverts faults of a killed drill: the path of plimsoll is unknown: %w", err)
	}
	log, err := replace.Append(ctx, filepath.Join(journal, watchLog), 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	cmd := childproc.Command(ctx, self, "platform", "watch", journal)
	cmd.Dir, cmd.Stdout, cmd.Stderr = "/", log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("cannot start the watchdog that reverts faults of a killed drill: %w", err)
	}
	go func() { _ = cmd.Wait() }() // its log says what it did
	return nil
}
