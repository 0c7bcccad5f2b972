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

	"github.com/plimsoll-bench/plimsoll/internal/procid"
	"github.com/plimsoll-bench/plimsoll/lab/journal"
	"github.com/plimsoll-bench/plimsoll/lab/process"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/spec"
)

// stopLimit is how long a supervisor may take to end in order before it is killed: the journal does the rest.
const stopLimit = 30 * time.Second

// deafLimit is how long one that does not answer may take to end by itself.
const deafLimit = 2 * time.Second

// Down removes a lab, whatever state it is in: it runs, is being made, its supervisor was killed, or an earlier Down
// was. There being nothing to remove is no error. progress may be nil.
func Down(ctx context.Context, home, name string, progress func(record.LabEvent)) error {
	if progress == nil {
		progress = func(record.LabEvent) {}
	}
	tell := func(format string, a ...any) {
		progress(record.LabEvent{Time: time.Now().UTC(), Kind: "progress", Text: fmt.Sprintf(format, a...)})
	}
	dir := Dir(home, name)
	if err := spec.CheckLabName(name); err != nil {
		return refuse("%s", err)
	}
	if !exists(labsDir(home)) {
		tell("there is no lab %s", name)
		return nil
	}
	unlock, err := waitLock(ctx, lockName(home, name))
	if err != nil {
		return fmt.Errorf("another plimsoll is making or removing the lab %s: %w", name, err)
	}
	defer unlock()
	if !exists(dir) {
		tell("there is no lab %s", name)
		return nil
	}
	release, err := endSupervisor(ctx, dir, tell)
	if err != nil {
		return err
	}
	defer release()
	return sweep(ctx, dir, tell)
}

// endSupervisor ends the supervisor of a lab and returns holding its place, so that no other can begin.
func endSupervisor(ctx context.Context, dir string, tell func(string, ...any)) (release func(), err error) {
	release, err = lock(filepath.Join(dir, aliveFile))
	if !errors.Is(err, errBusy) {
		if err == nil {
			endLate(dir)
		}
		return release, err
	}
	tell("ending the servers")
	stopCtx, cancel := context.WithTimeout(ctx, stopLimit)
	defer cancel()
	h := newHandle(dir)
	defer h.Close()
	patience := stopLimit
	if h.stop(stopCtx) != nil { // it does not hear, or is about to end by itself
		patience = deafLimit
	}
	waitCtx, done := context.WithTimeout(stopCtx, patience)
	defer done()
	if release, err := waitLock(waitCtx, filepath.Join(dir, aliveFile)); err == nil {
		return release, nil
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	return killSupervisor(ctx, dir, tell)
}

// endLate ends a supervisor that was started and does not hold its lab yet, because whoever started it was killed. It has made
// nothing, and would find out by itself that the lab is gone.
func endLate(dir string) {
	var s procid.ID
	if readJSON(dir, supervisorFile, &s) != nil || !s.Alive() || s == procid.Self() {
		return
	}
	_ = s.Signal(syscall.SIGKILL, nil)                          // it may have ended in between
	_ = process.Gone(map[int]uint64{s.PID: s.Ticks}, stopLimit) // one that does not go finds no lab any more
}

// killSupervisor kills a supervisor that did not end in order. The kernel ends what it started.
func killSupervisor(ctx context.Context, dir string, tell func(string, ...any)) (release func(), err error) {
	ctx, cancel := context.WithTimeout(ctx, stopLimit)
	defer cancel()
	for {
		var s procid.ID
		if readJSON(dir, supervisorFile, &s) == nil && s.Alive() {
			tell("the supervisor does not answer and is killed")
			_ = s.Signal(syscall.SIGKILL, nil) // it may have ended in between
		}
		wait, done := context.WithTimeout(ctx, time.Second)
		release, err = waitLock(wait, filepath.Join(dir, aliveFile))
		done()
		if err == nil || ctx.Err() != nil || !errors.Is(err, errBusy) {
			return release, err
		}
	}
}

// sweep removes what is left of a lab whose supervisor has ended.
func sweep(ctx context.Context, dir string, tell func(string, ...any)) error {
	j, err := journal.Open(dir)
	if err != nil {
		return err
	}
	if n := len(j.Live()); n > 0 {
		tell("removing %d things that were left", n)
	}
	err = errors.Join(j.Clean(ctx, Removers()), j.Close())
	if err != nil {
		return fmt.Errorf("not all of the lab could be removed; what is left stays in its journal, so try again:\n%w", err)
	}
	// The order goes first: a supervisor that starts now, late, finds none and makes nothing. The lock that keeps it
	// waiting goes last.
	err = os.Remove(filepath.Join(dir, orderFile))
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	if err = errors.Join(err, removeAllBut(dir, aliveFile)); err != nil {
		return fmt.Errorf("everything is ended, but the directory is still there: %w", err)
	}
	return process.RemoveTree(dir)
}

// removeAllBut removes what is in a directory, except for one file.
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
