package engine

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/plimsoll-bench/plimsoll/lab/process"
)

// Removed tells what [Cleanup] did with one server or interrupted installation.
type Removed struct {
	ID        string // of the server, or the name of the installation's directory
	Engine    string
	Killed    []int // processes that were still there
	InUse     bool  // its Plimsoll is still alive: nothing was touched
	DataDir   string
	Temporary bool // the data were temporary and are gone
}

// Cleanup removes what Plimsolls that were killed left in the home directory: processes, journals,
// logs, temporary data, interrupted installations. Servers whose Plimsoll is alive are left alone.
// Data directories that a user named are never removed. An error about one server does not keep the
// others from being cleaned.
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

// cleanServer ends what is left of one server and removes its directory.
func cleanServer(l layout, id string) (Removed, error) {
	r := Removed{ID: id}
	var j journal
	switch err := readJSON(l.state(id), &j); {
	case errors.Is(err, os.ErrNotExist): // killed before the journal was written, or while it was removed
		r.InUse = youngerThan(l.run(id), time.Minute) // or being made right now
		if r.InUse {
			return r, nil
		}
		return r, process.RemoveTree(l.run(id))
	case err != nil:
		return r, err
	case j.Schema != journalSchema:
		return r, fmt.Errorf("%s has format %d, this Plimsoll knows %d", l.state(id), j.Schema, journalSchema)
	}
	r.Engine, r.DataDir, r.Temporary = j.Engine, j.DataDir, j.Temporary
	if process.Alive(j.Owner.PID, j.Owner.Start) {
		r.InUse = true
		return r, nil
	}
	left := leftovers(j)
	for pid := range left {
		process.KillTree(pid)
		r.Killed = append(r.Killed, pid)
	}
	if err := process.Gone(left, 10*time.Second); err != nil {
		return r, err
	}
	if j.Engine == DocumentDB {
		removeSharedMemory(j.DataDir)
	}
	return r, process.RemoveTree(l.run(id))
}

// youngerThan says whether a directory was changed within the last d.
func youngerThan(dir string, d time.Duration) bool {
	fi, err := os.Stat(dir)
	return err == nil && time.Since(fi.ModTime()) < d
}

// leftovers finds the processes of a server that are still there. On Linux there are none: the kernel
// kills them with their Plimsoll.
func leftovers(j journal) map[int]uint64 {
	left := map[int]uint64{}
	for _, e := range j.Processes {
		if e.PID != 0 && process.Alive(e.PID, e.Start) {
			left[e.PID] = e.Start
		}
	}
	return left
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

// staleInstallations lists the directories of installations under way or interrupted.
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
