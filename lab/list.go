package lab

import (
	"cmp"
	"context"
	"errors"
	"path/filepath"
	"sync"
	"time"

	"github.com/plimsoll-bench/plimsoll/internal/procid"
	"github.com/plimsoll-bench/plimsoll/lab/host"
	"github.com/plimsoll-bench/plimsoll/record"
)

// listLimit is how long a supervisor may take to answer before its lab is listed as one that does not.
const listLimit = 5 * time.Second

// Entry is one lab of a list.
type Entry struct {
	record.Lab
	// Alive is false when the supervisor is gone: the lab is as it was then, and can only be removed.
	Alive bool `json:"alive"`
}

// List returns all labs of a home directory, also dead ones and those that are half made.
func List(ctx context.Context, home string) ([]Entry, error) {
	names, err := Names(home)
	if err != nil {
		return nil, err
	}
	entries := make([]Entry, len(names))
	var all sync.WaitGroup
	for i, name := range names {
		all.Go(func() { entries[i] = entryOf(ctx, home, name) })
	}
	all.Wait()
	return entries, ctx.Err()
}

func entryOf(ctx context.Context, home, name string) Entry {
	ctx, cancel := context.WithTimeout(ctx, listLimit)
	defer cancel()
	h, err := Open(ctx, home, name)
	if err == nil {
		defer h.Close()
		var l record.Lab
		if l, err = h.Describe(ctx, false); err == nil {
			return Entry{Lab: l, Alive: true}
		}
	}
	return Entry{Lab: lastKnown(home, name, err)}
}

// Find returns one lab, also a dead one. An error wraps [ErrNoLab] if there is none.
func Find(ctx context.Context, home, name string) (Entry, error) {
	if !exists(Dir(home, name)) {
		return Entry{}, noLab(home, name)
	}
	e := entryOf(ctx, home, name)
	return e, ctx.Err()
}

// Events reads from its file what happened in a lab, also in a dead one.
func Events(home, name string) []record.LabEvent {
	return eventsAfter(filepath.Join(Dir(home, name), eventsFile), 0)
}

// SupervisorPID is the process that keeps the lab in a directory.
func SupervisorPID(dir string) (int, error) {
	var s procid.ID
	if err := readJSON(dir, supervisorFile, &s); err != nil {
		return 0, err
	}
	if !s.Alive() {
		return 0, gone(filepath.Base(dir))
	}
	return s.PID, nil
}

// ended says of a lab whose supervisor is gone what the kernel did then: it ended every process. What was known of roles, lag
// and health is not true any more, and faults ended with what they broke.
func ended(l *record.Lab) {
	for i := range l.Hosts {
		l.Hosts[i].State, l.Hosts[i].CutFrom = host.Off, nil
	}
	for i := range l.Members {
		m := &l.Members[i]
		m.State, m.Role, m.LagSeconds, m.LagBytes, m.Idle, m.PIDs, m.Problem = "dead", "unknown", nil, nil, false, nil, ""
	}
	for i := range l.Volumes {
		l.Volumes[i].Health, l.Volumes[i].Detail = "unknown", ""
	}
	l.Faults = nil
}

// lastKnown is a lab as its files tell it.
func lastKnown(home, name string, err error) record.Lab {
	var l record.Lab
	var o order
	if readJSON(Dir(home, name), labFile, &l) != nil {
		l = record.Lab{SchemaVersion: record.SchemaVersion, Name: name, State: stateStarting}
		if readJSON(Dir(home, name), orderFile, &o) == nil {
			l.Specification, l.Started, l.Engine = o.Spec, o.Began, o.Spec.Engine.Name
		}
	}
	if errors.Is(err, ErrGone) {
		ended(&l)
		l.Problem = cmp.Or(l.Problem, "its supervisor is gone")
	} else if err != nil && l.Problem == "" {
		l.Problem = err.Error()
	}
	return l
}
