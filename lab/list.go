package lab

import (
	"cmp"
	"context"
	"errors"
	"path/filepath"
	"sync"
	"time"

	"github.com/plimsoll-bench/plimsoll/lab/host"
	"github.com/plimsoll-bench/plimsoll/record"
)

// listLimit is how long a list waits for the answer of each supervisor.
const listLimit = 5 * time.Second

// Entry is one lab in a list.
type Entry struct {
	record.Lab
	// Alive is false if the supervisor has ended. The lab can only be removed then.
	Alive bool `json:"alive"`
}

// List returns all labs of a home directory, even dead and incomplete ones.
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

// Find returns one lab, even a dead one. The error wraps [ErrNoLab] if there is none.
func Find(ctx context.Context, home, name string) (Entry, error) {
	if !exists(Dir(home, name)) {
		return Entry{}, noLab(home, name)
	}
	e := entryOf(ctx, home, name)
	return e, ctx.Err()
}

// Events reads the events of a lab from its file, even of a dead lab.
func Events(home, name string) []record.LabEvent {
	return eventsAfter(filepath.Join(Dir(home, name), eventsFile), 0)
}

// markDead changes the last known state of a lab whose supervisor has ended: the kernel has killed every process, so
// roles, lag and health are not known, and no fault is in place.
func markDead(l *record.Lab) {
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

// lastKnown is the state of a lab in its files.
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
		markDead(&l)
		l.Problem = cmp.Or(l.Problem, "its supervisor has ended")
	} else if err != nil && l.Problem == "" {
		l.Problem = err.Error()
	}
	return l
}
