package lab

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/plimsoll-bench/plimsoll/internal/nearest"
	"github.com/plimsoll-bench/plimsoll/internal/procid"
	"github.com/plimsoll-bench/plimsoll/spec"
)

// The directory of a lab, HOME/labs/NAME, is readable by the owner alone. Besides what the rooms keep in it:
//
//	order.json         what was asked for, written before anything else
//	lab.json           the lab as it was when its state last changed
//	supervisor.json    the supervisor's process
//	supervisor.lock    held by the supervisor as long as it lives
//	supervisor.log     what it said, mostly nothing
//	events.ndjson      what happened, one event per line
//	journal.ndjson     what was made, see package journal
//	socket             where the supervisor answers
//
// HOME/labs/.NAME.lock is held by who makes or removes the directory.
const (
	orderFile      = "order.json"
	labFile        = "lab.json"
	supervisorFile = "supervisor.json"
	aliveFile      = "supervisor.lock"
	logFile        = "supervisor.log"
	eventsFile     = "events.ndjson"
	socketFile     = "socket"
)

// labsDir is where all labs of a home directory are.
func labsDir(home string) string { return filepath.Join(home, "labs") }

// Dir is the directory of a lab, whether or not there is one.
func Dir(home, name string) string { return filepath.Join(labsDir(home), name) }

func lockName(home, name string) string { return filepath.Join(labsDir(home), "."+name+".lock") }

// order is what the supervisor is told.
type order struct {
	Spec spec.Lab `json:"spec"`
	// Home is where engines are installed, Executable the program that is started again for parts of the lab.
	Home       string    `json:"home"`
	Executable string    `json:"executable"`
	Keep       bool      `json:"keep,omitempty"`
	Began      time.Time `json:"began"`
	// Owner is who asked, and ends the wait for a lab that failed.
	Owner procid.ID `json:"owner"`
}

// ErrNoLab says that there is no lab of a name.
var ErrNoLab = errors.New("there is no such lab")

// ErrGone says that a lab's supervisor does not answer any more, so that the lab can only be removed.
var ErrGone = errors.New("its supervisor is gone")

// noLab names the labs that there are.
func noLab(home, name string) error {
	names, err := Names(home)
	switch {
	case err != nil:
		return err
	case len(names) == 0:
		return fmt.Errorf("%w: %q; there are no labs at all in %s (plimsoll lab up makes one%s)", ErrNoLab, name, home, LabsOfRoot(os.Geteuid()))
	}
	return fmt.Errorf("%w: %q%s (labs: %s%s)", ErrNoLab, name, nearest.DidYouMean(name, names), strings.Join(names, ", "), LabsOfRoot(os.Geteuid()))
}

// LabsOfRoot says to a user who may look for a lab that root made where that is.
func LabsOfRoot(uid int) string {
	if uid == 0 {
		return ""
	}
	return "; labs that root made are seen by root only"
}

// Names lists the labs of a home directory, also dead ones.
func Names(home string) ([]string, error) {
	entries, err := os.ReadDir(labsDir(home))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("cannot list the labs: %w", err)
	}
	var names []string
	for _, e := range entries {
		if e.IsDir() && spec.CheckLabName(e.Name()) == nil {
			names = append(names, e.Name())
		}
	}
	slices.Sort(names)
	return names, nil
}

// errBusy says that another process holds a lock.
var errBusy = errors.New("locked by another process")

// lock takes the lock of a name, which the kernel gives back when the process ends, however it ends. The file is
// removed on unlocking, so a lock counts only while the file is still the one in the directory.
func lock(name string) (unlock func(), err error) {
	for {
		f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o600)
		if err != nil {
			return nil, err
		}
		if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
			f.Close()
			if errors.Is(err, syscall.EWOULDBLOCK) {
				return nil, errBusy
			}
			return nil, fmt.Errorf("cannot lock %s: %w", name, err)
		}
		have, err := f.Stat()
		now, nowErr := os.Stat(name)
		if err == nil && nowErr == nil && os.SameFile(have, now) {
			return func() { _ = os.Remove(name); f.Close() }, nil
		}
		f.Close() // somebody removed it in between
	}
}

// waitLock waits for a lock as long as ctx allows.
func waitLock(ctx context.Context, name string) (unlock func(), err error) {
	for {
		unlock, err := lock(name)
		if !errors.Is(err, errBusy) {
			return unlock, err
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("%w: %w", err, context.Cause(ctx))
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// writeJSON replaces a file in one step; only the owner may read it.
func writeJSON(dir, name string, v any) error {
	b, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	f, err := os.CreateTemp(dir, "."+name+"-*")
	if err != nil {
		return err
	}
	_, err = f.Write(append(b, '\n'))
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), filepath.Join(dir, name))
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return nil
}

func readJSON(dir, name string, v any) error {
	b, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		return err
	}
	if err := json.Unmarshal(b, v); err != nil {
		return fmt.Errorf("%s: %w", filepath.Join(dir, name), err)
	}
	return nil
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}
