// Package enginetest helps tests that need a real server: it finds the engines that run on this
// machine, and starts sets of servers that end with the test. Only tests use it.
//
// A test that cannot run is not registered, and a line in the log says how to make it run. With
// PLIMSOLL_REQUIRE_ENGINE=1, which CI sets, a missing documentdb is a failure.
package enginetest

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/plimsoll-bench/plimsoll/internal/notrun"
	"github.com/plimsoll-bench/plimsoll/lab/engine"
)

// startLimit is long: the machine may be busy with other tests.
const startLimit = 10 * time.Minute

// DocumentDB returns the installed engine documentdb, with a home directory of its own for the
// servers of this test. If it is not installed, ok is false, and the test has failed if it is required.
func DocumentDB(t testing.TB) (e engine.Engine, ok bool) {
	t.Helper()
	if notrun.Left(t, "on documentdb") {
		return nil, false
	}
	installed, err := engine.DefaultHome(os.Getenv)
	if err == nil {
		home := Home(t, installed)
		if e, err = engine.ByName(home, engine.DocumentDB); err == nil {
			_, err = e.Installed(t.Context())
		}
	}
	if err == nil && os.Geteuid() != 0 {
		err = errors.New("documentdb runs only as root")
	}
	if err == nil {
		return e, true
	}
	if os.Getenv("PLIMSOLL_REQUIRE_ENGINE") == "1" {
		t.Fatalf("PLIMSOLL_REQUIRE_ENGINE=1, but: %v", err)
	}
	notrun.Here(t, "on documentdb: %v\n  make it run with: sudo make engine", err)
	return nil, false
}

// Home makes a home directory for one test that has the engines of another one.
func Home(t testing.TB, installed string) string {
	t.Helper()
	home := t.TempDir()
	if err := os.Symlink(filepath.Join(installed, "engines"), filepath.Join(home, "engines")); err != nil {
		t.Fatal(err)
	}
	return home
}

// Mongod returns the engine mongod if there is one to start, installed or on PATH.
func Mongod(t testing.TB) (e engine.Engine, ok bool) {
	t.Helper()
	installed, err := engine.DefaultHome(os.Getenv)
	if err != nil || notrun.Left(t, "on a real mongod") {
		return nil, false
	}
	if e, err = engine.ByName(Home(t, installed), engine.Mongod); err != nil {
		t.Fatal(err)
	}
	if _, err := e.Installed(t.Context()); err != nil {
		notrun.Here(t, "on a real mongod: %v", err)
		return nil, false
	}
	return e, true
}
