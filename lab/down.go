package lab

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/plimsoll-bench/plimsoll/internal/filelock"
	"github.com/plimsoll-bench/plimsoll/internal/procid"
	"github.com/plimsoll-bench/plimsoll/lab/journal"
	"github.com/plimsoll-bench/plimsoll/lab/process"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/spec"
)

// A supervisor may take stopLimit to end in order before it is killed, and silentStop if it does not answer the request
// to stop. The journal does the rest.
const (
	stopLimit  = 30 * time.Second
	silentStop = 2 * time.Second
)

// Down removes a lab in any state: it runs, is being created, its supervisor was killed, or an earlier Down was. A lab
// that does not exist is no error. progress may be nil.
func Down(ctx context.Context, home, name string, progress func(record.LabEvent)) error {
	if progress == nil {
		progress = func(record.LabEvent) {}
	}
	report := func(format string, a ...any) {
		progress(record.LabEvent{Time: time.Now().UTC(), Kind: "progress", Text: fmt.Sprintf(format, a...)})
	}
	dir := Dir(home, name)
	if err := spec.CheckLabName(name); err != nil {
		return refuse("%s", err)
	}
	if !exists(labsDir(home)) {
		report("there is no lab %s", name)
		return nil
	}
	unlock, err := filelock.Await(ctx, lockName(home, name), nil)
	if err != nil {
		return fmt.Errorf("another plimsoll process is creating or removing the lab %s: %w", name, err)
	}
	defer unlock()
	if !exists(dir) {
		report("there is no lab %s", name)
		return nil
	}
	release, err := endSupervisor(ctx, dir, report)
	if err != nil {
		return err
	}
	defer release()
	return sweep(ctx, dir, report)
}

// endSupervisor ends the supervisor of a lab and returns with its lock, so that no other supervisor can start.
func endSupervisor(ctx context.Context, dir string, report func(string, ...any)) (release func(), err error) {
	release, err = filelock.Hold(filepath.Join(dir, aliveFile))
	if !errors.Is(err, filelock.ErrBusy) {
		if err == nil {
			endLateSupervisor(dir)
		}
		return release, err
	}
	report("stopping the servers")
	stopCtx, cancel := context.WithTimeout(ctx, stopLimit)
	defer cancel()
	h := newHandle(dir)
	defer h.Close()
	patience := stopLimit
	if h.stop(stopCtx) != nil { // it does not answer, or is about to end by itself
		patience = silentStop
	}
	waitCtx, done := context.WithTimeout(stopCtx, patience)
	defer done()
	if release, err := filelock.Await(waitCtx, filepath.Join(dir, aliveFile), nil); err == nil {
		return release, nil
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	return killSupervisor(ctx, dir, report)
}

// endLateSupervisor ends a supervisor that was started and has not locked its lab yet, because the process that started
// it was killed. It has made nothing, and would end by itself because its order is missing.
func endLateSupervisor(dir string) {
	var s procid.ID
	if readJSON(dir, supervisorFile, &s) != nil || !s.Alive() || s == procid.Self() {
		return
	}
	_ = s.Signal(syscall.SIGKILL, nil)                          // it may have ended in between
	_ = process.Gone(map[int]uint64{s.PID: s.Ticks}, stopLimit) // one that remains finds no order
}

// killSupervisor kills a supervisor that did not end in order. The kernel kills its children.
func killSupervisor(ctx context.Context, dir string, report func(string, ...any)) (release func(), err error) {
	ctx, cancel := context.WithTimeout(ctx, stopLimit)
	defer cancel()
	for {
		var s procid.ID
		if readJSON(dir, supervisorFile, &s) == nil && s.Alive() {
			report("the supervisor does not answer; killing it")
			_ = s.Signal(syscall.SIGKILL, nil) // it may have ended in between
		}
		wait, done := context.WithTimeout(ctx, time.Second)
		release, err = filelock.Await(wait, filepath.Join(dir, aliveFile), nil)
		done()
		if err == nil || ctx.Err() != nil || !errors.Is(err, filelock.ErrBusy) {
			return release, err
		}
	}
}

// sweep removes the remaining resources of a lab whose supervisor has ended, and its directory.
func sweep(ctx context.Context, dir string, report func(string, ...any)) error {
	j, err := journal.Open(dir)
	if err != nil {
		return err
	}
	if n := len(j.Live()); n > 0 {
		report("removing %d remaining resources", n)
	}
	err = errors.Join(j.Clean(ctx, Removers()), j.Close())
	if err != nil {
		return fmt.Errorf("some resources of the lab were not removed. They stay in its journal; run the command again:\n%w", err)
	}
	// The order is removed first, so that a supervisor that starts late finds none and makes nothing. Its lock is removed
	// last.
	err = os.Remove(filepath.Join(dir, orderFile))
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	if err = errors.Join(err, removeAllBut(dir, aliveFile)); err != nil {
		return fmt.Errorf("the lab has ended, but its directory cannot be removed: %w", err)
	}
	return process.RemoveTree(dir)
}

func removeAllBut(dir, keep string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	var all error
	for _, e := range entries {
		if e.Name() != keep {
			all = errors.Join(all, process.RemoveTree(filepath.Join(dir, e.Name())))
		}
	}
	return all
}
