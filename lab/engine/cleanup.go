package engine

import (
	"errors"
	"path/filepath"

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
