package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/plimsoll-bench/plimsoll/fleet"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/spec"
)

// One command at a time coordinates the agents of a run, and a new run takes nothing from the record of an unfinished
// one. The keys of a run are in the directory of the user, never in the record.
func TestOneCoordinatorOfARun(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	env := &environment{stderr: io.Discard, getenv: func(name string) string {
		if name == "PLIMSOLL_HOME" {
			return home
		}
		return ""
	}}
	dir := filepath.Join(t.TempDir(), "record")
	var flags agentFlags
	first, resumed := flags.places(env, dir), flags.places(env, dir)
	resumed.resume = true
	if _, err := first.find(spec.PlaceManual); err != nil {
		t.Fatal(err)
	}
	id := filepath.Join(dir, fleet.CoordinatorDir, idFile)
	if left, err := os.ReadDir(filepath.Dir(id)); err != nil || len(left) != 1 || left[0].Name() != idFile {
		t.Errorf("the record has %v, %v", left, err)
	}
	if info, err := os.Stat(filepath.Join(first.dir, "coordinator.json")); err != nil || info.Mode().Perm() != 0o600 ||
		filepath.Dir(first.dir) != filepath.Join(home, coordinatorsDir) {
		t.Errorf("the keys are in %s, %v", first.dir, err)
	}
	_, err := resumed.find(spec.PlaceManual)
	want := fmt.Sprintf("is being written by process %d", os.Getpid())
	if !errors.As(err, new(*record.HeldError)) || !strings.Contains(err.Error(), want) ||
		!strings.Contains(err.Error(), "Wait until it has ended, or end it") {
		t.Errorf("a second coordinator gets %v, want that the directory %s", err, want)
	}
	resumed.close()
	first.close()
	left, err := filepath.Glob(filepath.Join(home, coordinatorsDir, "*"))
	if _, missing := os.Stat(filepath.Dir(id)); err != nil || len(left) != 0 || !errors.Is(missing, fs.ErrNotExist) {
		t.Errorf("the coordinator left %v, %v", left, missing)
	}

	for _, name := range []string{filepath.Join(dir, record.RunFile), id} {
		if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o755), os.WriteFile(name, []byte("{}"), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	again := flags.places(env, dir)
	if _, err := again.find(spec.PlaceManual); !errors.Is(err, record.ErrTaken) {
		t.Errorf("a new run in the directory of an unfinished one gets %v", err)
	}
	again.close()
	if text, err := os.ReadFile(id); err != nil || string(text) != "{}" {
		t.Errorf("the name of the coordinator of the unfinished run is %q, %v", text, err)
	}
	for _, text := range []string{"{}", "../../x", "run-0123456789abcdef0123456789abcdef"} {
		if err := os.WriteFile(id, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		resumed := flags.places(env, dir)
		resumed.resume = true
		if _, err := resumed.find(spec.PlaceManual); err == nil || !strings.Contains(err.Error(), "cannot be resumed") {
			t.Errorf("a record with the coordinator %q: %v", text, err)
		}
		resumed.close()
	}
}

// Directories of coordinators go when their command was killed, or when nobody resumed their run for a week.
func TestOldCoordinators(t *testing.T) {
	all := t.TempDir()
	old := time.Now().Add(-keptFor - time.Hour)
	for name, kept := range map[string]bool{
		"run-00000000000000000000000000000001": false, "run-00000000000000000000000000000002": true,
		"999999999": false, fmt.Sprint(os.Getpid()): true, "other": true, identityFile: true,
	} {
		dir := filepath.Join(all, name)
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		if !strings.HasSuffix(name, "2") {
			if err := os.Chtimes(dir, old, old); err != nil {
				t.Fatal(err)
			}
		}
		removeCoordinators(all)
		if _, err := os.Stat(dir); (err == nil) != kept {
			t.Errorf("%s is kept: %v, want %v", name, err == nil, kept)
		}
	}
}
