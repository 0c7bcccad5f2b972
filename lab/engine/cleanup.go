package engine

import (
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/plimsoll-bench/plimsoll/internal/filelock"
	"github.com/plimsoll-bench/plimsoll/lab/process"
)

// Cleanup removes interrupted installations on which no process works, and returns their names.
func Cleanup(home string) (removed []string, err error) {
	l := layout{home}
	if err := l.check(); err != nil {
		return nil, err
	}
	var all error
	for _, e := range All(l.dir) {
		stale, err := staleInstallations(l, e.Name())
		if err != nil || len(stale) == 0 {
			all = errors.Join(all, err)
			continue
		}
		unlock, err := filelock.Hold(l.lock(e.Name()))
		if errors.Is(err, filelock.ErrBusy) {
			continue
		}
		if err != nil {
			all = errors.Join(all, err)
			continue
		}
		for _, dir := range stale {
			all = errors.Join(all, process.RemoveTree(dir))
			removed = append(removed, filepath.Base(dir))
		}
		unlock()
	}
	return removed, all
}

// Remove removes an installed engine, and returns the removed directories. version is a release or a series of mongod;
// "" removes all releases. An engine whose programs run is not removed.
func Remove(home, name, version string) (removed []string, err error) {
	l := layout{home}
	if err := l.check(); err != nil {
		return nil, err
	}
	dirs := map[string]string{} // by version
	files, err := filepath.Glob(escapeGlob(l.engine(name)) + map[bool]string{true: "/*", false: ""}[name == Mongod] + "/installation.json")
	for _, file := range files {
		inst, readErr := readInstallation(filepath.Dir(file))
		err = errors.Join(err, readErr)
		if version == "" || name == Mongod && isRelease(inst.Version, version) {
			dirs[inst.Version] = filepath.Dir(file)
		}
	}
	switch {
	case err != nil:
		return nil, err
	case len(dirs) == 0:
		return nil, fmt.Errorf("%s is %w in %s, so there is nothing to remove. 'plimsoll engine list' shows what is installed",
			strings.TrimSpace(name+" "+version), ErrNotInstalled, l.engines())
	}
	unlock, err := filelock.Hold(l.lock(name))
	if errors.Is(err, filelock.ErrBusy) {
		return nil, fmt.Errorf("%s is being installed by another process: wait until it has ended", name)
	}
	if err != nil {
		return nil, err
	}
	defer unlock()
	for _, v := range slices.Sorted(maps.Keys(dirs)) {
		if err := checkUnused(dirs[v]); err != nil {
			return removed, err
		}
		if err := process.RemoveTree(dirs[v]); err != nil {
			return removed, err
		}
		removed = append(removed, dirs[v])
	}
	return removed, nil
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
