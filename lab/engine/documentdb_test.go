package engine_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/plimsoll-bench/plimsoll/lab/engine"
	"github.com/plimsoll-bench/plimsoll/lab/engine/enginetest"
)

func TestDocumentDBSettings(t *testing.T) {
	t.Parallel() // it mostly waits for a server
	e, ok := enginetest.DocumentDB(t)
	if !ok {
		return
	}
	s := enginetest.Start(t, e, engine.StartOptions{
		SynchronousCommit: "off", Connections: 7,
		Parameters: map[string]string{"shared_buffers": "64MB", "wal_writer_delay": "300ms"},
	})
	set, err := s.Settings(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"synchronous_commit": "off", "pool_max_conns": "7", "shared_buffers": "64MB", "wal_writer_delay": "300ms",
		"fsync": "on", "full_page_writes": "on",
	} {
		if set[name] != want {
			t.Errorf("%s is %q, want %q", name, set[name], want)
		}
	}
}

func TestDocumentDBRefuses(t *testing.T) {
	t.Parallel() // it mostly waits for a server
	e, ok := enginetest.DocumentDB(t)
	if !ok {
		return
	}
	foreign := t.TempDir()
	if err := os.WriteFile(filepath.Join(foreign, "thesis.txt"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name string
		opts engine.StartOptions
		want string
	}{
		{"durability", engine.StartOptions{SynchronousCommit: "maybe"}, "use one of on, off"},
		{"mongod's cache", engine.StartOptions{CacheGB: 1}, "options of mongod"},
		{"connections", engine.StartOptions{Connections: -1}, "not between"},
		{"port", engine.StartOptions{Port: 70000}, "not between"},
		{"foreign directory", engine.StartOptions{DataDir: foreign}, "thesis.txt"},
		{"setting's name", engine.StartOptions{Parameters: map[string]string{"a b": "1"}}, "not the name"},
		{"unknown setting", engine.StartOptions{Parameters: map[string]string{"no_such_thing": "1"}}, `unrecognized configuration parameter "no_such_thing"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
			defer cancel()
			s, err := e.Start(ctx, c.opts)
			if err == nil {
				_ = s.Stop(ctx)
			}
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want one with %q", err, c.want)
			}
		})
	}
}

// A start that is interrupted leaves no process, no journal, and data that a later start can use.
func TestDocumentDBStartInterrupted(t *testing.T) {
	t.Parallel() // it mostly waits for a server
	e, ok := enginetest.DocumentDB(t)
	if !ok {
		return
	}
	dir := filepath.Join(t.TempDir(), "data")
	for _, after := range []time.Duration{0, 100 * time.Millisecond, 400 * time.Millisecond, time.Second} {
		ctx, cancel := context.WithTimeout(t.Context(), after)
		s, err := e.Start(ctx, engine.StartOptions{DataDir: dir})
		cancel()
		if err == nil { // a fast machine
			err = s.Stop(t.Context())
		}
		t.Logf("after %v: %v", after, err)
	}
	enginetest.Start(t, e, engine.StartOptions{DataDir: dir})
}
