package engine

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/plimsoll-bench/plimsoll/internal/procid"
	"github.com/plimsoll-bench/plimsoll/lab/process"
)

// Removed is the result of [Cleanup] for one server or interrupted installation.
type Removed struct {
	ID        string // of the server, or the name of the installation's directory
	Engine    string
	Killed    []int // processes that still ran
	InUse     bool  // its Plimsoll is alive, so nothing was changed
	DataDir   string
	Temporary bool // the data were temporary and are removed
}

// endLimit is how long a killed process may take to end: it may wait for a busy disk.
const endLimit = time.Minute

// Cleanup removes what killed Plimsolls left in the home directory: processes, journals, logs, temporary data and
// interrupted installations. It does not change servers whose Plimsoll is alive, and never removes a data directory
// that a user named. After an error about one server it continues with the others.
func Cleanup(home string) ([]Removed, error) {
	l := layout{home}
	if err := l.check(); err != nil {
		return nil, err
	}
	done, err := cleanInstallations(l)
	entries, readErr := os.ReadDir(l.runs())
	if readErr != nil && !errors.Is(readErr, os.ErrNotExist) {
		err = errors.Join(err, readErr)
	}
	for _, e := range entries {
		r, oneErr := cleanServer(l, e.Name())
		if oneErr != nil {
			err = errors.Join(err, fmt.Errorf("server %s: %w", e.Name(), oneErr))
			continue
		}
		done = append(done, r)
	}
	return done, err
}

// cleanServer ends the processes of one server and removes its directory.
func cleanServer(l layout, id string) (Removed, error) {
	r := Removed{ID: id}
	var j journal
	switch err := readJSON(l.state(id), &j); {
	case errors.Is(err, os.ErrNotExist): // killed before the journal was written, or while it was removed
		fi, err := os.Stat(l.run(id))
		if r.InUse = err == nil && time.Since(fi.ModTime()) < time.Minute; r.InUse { // a server that is just being made
			return r, nil
		}
		return r, process.RemoveTree(l.run(id))
	case err != nil:
		return r, err
	case j.Schema != journalSchema:
		return r, fmt.Errorf("%s has format %d, and this Plimsoll reads format %d; use the version that wrote it",
			l.state(id), j.Schema, journalSchema)
	}
	r.Engine, r.DataDir, r.Temporary = j.Engine, j.DataDir, j.Temporary
	if r.InUse = inUse(j); r.InUse {
		return r, nil
	}
	left := map[int]uint64{}
	for _, e := range j.Processes {
		id := e.id()
		if e.PID == 0 || !id.Alive() {
			continue
		}
		// A stopped process cannot end by itself, so no other process can get its id before it is killed.
		if err := id.Signal(syscall.SIGSTOP, nil); err != nil && id.Alive() {
			return r, fmt.Errorf("cannot stop its process %d (%s): %w", e.PID, e.Role, err)
		} else if err == nil {
			process.KillTree(e.PID)
		}
		left[e.PID] = e.Start
		r.Killed = append(r.Killed, e.PID)
	}
	if err := process.Gone(left, endLimit); err != nil {
		return r, err
	}
	if j.Engine == DocumentDB {
		removeSharedMemory(j.DataDir)
	}
	return r, process.RemoveTree(l.run(id))
}

// inUse reports whether the Plimsoll that started a server is alive. If it ran in another PID namespace, such as a
// container, its process cannot be found from here, but the lock of its data directory can.
func inUse(j journal) bool {
	owner := j.Owner.id()
	here := procid.Self()
	if owner.Boot != here.Boot || owner.Namespace == here.Namespace {
		return owner.Alive()
	}
	unlock, err := lockDir(j.DataDir)
	if err == nil {
		unlock()
	}
	justMade := time.Since(j.Created) < time.Minute // the journal is written before the directory is locked
	return justMade || err != nil && !errors.Is(err, os.ErrNotExist)
}

// cleanInstallations removes interrupted installations that no process works on.
func cleanInstallations(l layout) ([]Removed, error) {
	var done []Removed
	var all error
	for _, e := range All(l.dir) {
		stale, err := staleInstallations(l, e.Name())
		if err != nil || len(stale) == 0 {
			all = errors.Join(all, err)
			continue
		}
		unlock, err := tryLock(l.lock(e.Name()))
		if errors.Is(err, errLocked) {
			continue
		}
		if err != nil {
			all = errors.Join(all, err)
			continue
		}
		for _, dir := range stale {
			all = errors.Join(all, process.RemoveTree(dir))
			done = append(done, Removed{ID: filepath.Base(dir), Engine: e.Name()})
		}
		unlock()
	}
	return done, all
}

// staleInstallations lists the directories of unfinished installations.
func staleInstallations(l layout, name string) ([]string, error) {
	return filepath.Glob(escapeGlob(l.installing()) + name + "-*")
}

// escapeGlob quotes a path for filepath.Glob.
func escapeGlob(path string) string {
	var out []byte
	for i := range len(path) {
		switch path[i] {
		case '*', '?', '[', '\\':
			out = append(out, '\\')
		}
		out = append(out, path[i])
	}
	return string(out)
}
