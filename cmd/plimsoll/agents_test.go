package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/plimsoll-bench/plimsoll/fleet"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/spec"
)

// One command at a time coordinates the agents of a run, and a new run takes nothing from the record of an unfinished
// one.
func TestOneCoordinatorOfARun(t *testing.T) {
	env := &environment{stderr: io.Discard, getenv: func(string) string { return "" }}
	dir := filepath.Join(t.TempDir(), "record")
	var flags agentFlags
	first, resumed := flags.places(env, dir), flags.places(env, dir)
	resumed.resume = true
	if _, err := first.find(spec.PlaceManual); err != nil {
		t.Fatal(err)
	}
	_, err := resumed.find(spec.PlaceManual)
	want := fmt.Sprintf("is being written by process %d", os.Getpid())
	if !errors.As(err, new(*record.HeldError)) || !strings.Contains(err.Error(), want) ||
		!strings.Contains(err.Error(), "Wait until it has ended, or end it") {
		t.Errorf("a second coordinator gets %v, want that the directory %s", err, want)
	}
	resumed.close()
	first.close()
	if _, err := resumed.find(spec.PlaceManual); err != nil {
		t.Errorf("after the first coordinator was closed: %v", err)
	}
	resumed.close()

	state := filepath.Join(dir, fleet.CoordinatorDir, "coordinator.json")
	for _, name := range []string{filepath.Join(dir, record.RunFile), state} {
		if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o755), os.WriteFile(name, []byte("{}"), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	again := flags.places(env, dir)
	if _, err := again.find(spec.PlaceManual); !errors.Is(err, record.ErrTaken) {
		t.Errorf("a new run in the directory of an unfinished one gets %v", err)
	}
	again.close()
	if text, err := os.ReadFile(state); err != nil || string(text) != "{}" {
		t.Errorf("the state of the unfinished run is %q, %v", text, err)
	}
}
