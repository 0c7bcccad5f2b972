package engine_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/plimsoll-bench/plimsoll/internal/wait"
	"github.com/plimsoll-bench/plimsoll/lab/engine"
	"github.com/plimsoll-bench/plimsoll/lab/engine/enginetest"
	"github.com/plimsoll-bench/plimsoll/lab/host"
)

// home returns the directory with the installed engine documentdb, if there is one.
func home(t *testing.T) (string, bool) {
	t.Helper()
	if _, ok := enginetest.DocumentDB(t); !ok {
		return "", false
	}
	dir, err := engine.DefaultHome(os.Getenv)
	if err != nil {
		t.Fatal(err)
	}
	return dir, true
}

// A member of a set and a gateway keep what nodes promise.
func TestDocumentDBNodes(t *testing.T) {
	home, ok := home(t)
	if !ok {
		return
	}
	j, hosts := enginetest.Hosts(t, host.Plain, "host1", "host2")
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	dir := t.TempDir()
	p, err := engine.NewPostgres(ctx, engine.PostgresOptions{Home: home, Name: "rs0-1", Host: hosts["host1"],
		Log:     filepath.Join(dir, "rs0-1.log"),
		Journal: j, Password: "secret", Allow: []string{"127.0.0.1"}, Members: 1, Sessions: 16,
		Cache: 32 << 20, Parameters: map[string]string{"work_mem": "5MB"}})
	if err != nil {
		t.Fatal(err)
	}
	begun := time.Now()
	if err := p.Create(ctx, filepath.Join(dir, "rs0-1")); err != nil {
		t.Fatal(err)
	}
	t.Logf("made from the template in %v", time.Since(begun))
	if err := p.Start(ctx); err != nil {
		t.Fatal(err)
	}
	for err := p.MakeUsers(ctx, "app", "client secret"); err != nil; err = p.MakeUsers(ctx, "app", "client secret") {
		if wait.Sleep(ctx, 20*time.Millisecond) != nil {
			t.Fatal(err)
		}
	}
	if err := p.Stop(ctx); err != nil {
		t.Fatal(err)
	}
	// The node as it is after that, described anew: what is known of it must come from its directory.
	p2, err := engine.NewPostgres(ctx, engine.PostgresOptions{Home: home, Name: "rs0-1", Host: hosts["host1"],
		Log:     filepath.Join(dir, "rs0-1b.log"),
		Journal: j, Password: "secret", Allow: []string{"127.0.0.1"}, Members: 1, Sessions: 16,
		Cache: 32 << 20, Parameters: map[string]string{"work_mem": "5MB"}})
	if err != nil {
		t.Fatal(err)
	}
	if err := p2.Create(ctx, filepath.Join(dir, "rs0-1")); err != nil {
		t.Fatal(err)
	}
	t.Run("postgres", func(t *testing.T) { enginetest.Conform(t, p2, hosts["host2"]) })

	if err := p2.Start(ctx); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p2.Kill() })
	g, err := engine.NewGateway(ctx, engine.GatewayOptions{Home: home, Name: "gateway-durable", Host: hosts["host2"],
		Log: filepath.Join(dir, "gateway.log"),
		Dir: filepath.Join(dir, "gateway"), Password: "secret", Commit: "on", Sessions: 8, User: "app", ClientPassword: "client secret"})
	if err != nil {
		t.Fatal(err)
	}
	if err := g.Start(ctx); err == nil {
		t.Error("a gateway without members was started")
	}
	g.SetMembers(p2.Upstream())
	t.Run("gateway", func(t *testing.T) { enginetest.Conform(t, g, hosts["host1"]) })
}
