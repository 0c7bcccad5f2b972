package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/plimsoll-bench/plimsoll/internal/childproc"
	"github.com/plimsoll-bench/plimsoll/internal/replace"
	"github.com/plimsoll-bench/plimsoll/internal/safeopen"
	"github.com/plimsoll-bench/plimsoll/platform"
)

// watchLog is the file in a journal with what its watchdog said.
const watchLog = "watch.log"

// watchdogStarts is the pause between two looks whether a watchdog has begun.
const watchdogStarts = 5 * time.Millisecond

// startWatchdog starts the watchdog of a journal in a session of its own, so that it outlives this process and its
// terminal. It returns when the watchdog watches.
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
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	for !platform.Watched(journal) { // nothing may be injected before
		select {
		case err := <-ended:
			said, _ := safeopen.ReadFile(journal, watchLog, 1<<16)
			return fmt.Errorf("the watchdog that reverts faults of a killed drill ended at once: %w: %s", err, bytes.TrimSpace(said))
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(watchdogStarts):
		}
	}
	return nil
}
