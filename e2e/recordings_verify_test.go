//go:build !race

package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/plimsoll-bench/plimsoll/internal/mongouri"
	"github.com/plimsoll-bench/plimsoll/lab/engine"
)

// TestMongoVerificationEnds stops a verification by Ctrl-C, which drops its database, and by a kill, after which
// --restore drops it. Both keep the file, and the recorded database stays as it was.
func TestMongoVerificationEnds(t *testing.T) {
	forEachServer(t, func(t *testing.T, s *server) {
		if s.engine != engine.Mongod {
			t.Log("the engine has no profiler")
			return
		}
		address, err := mongouri.Parse(s.uri)
		if err != nil {
			t.Fatal(err)
		}
		ctx := deadline(t)
		db := s.client.Database(newDatabase("recorded"))
		address.Path = db.Name()
		const documents = 15_000 // their load takes some time
		var docs []any
		for i := range documents {
			docs = append(docs, d("_id", i, "text", strings.Repeat("x", 3000)))
		}
		if _, err := db.Collection("items").InsertMany(ctx, docs); err != nil {
			t.Fatal(err)
		}
		if err := db.RunCommand(ctx, d("profile", 2)).Err(); err != nil {
			t.Fatal(err)
		}
		for i := range 10 {
			if err := find(ctx, db.Collection("items"), d("_id", i)); err != nil {
				t.Fatal(err)
			}
		}
		if err := db.RunCommand(ctx, d("profile", 0)).Err(); err != nil {
			t.Fatal(err)
		}
		left := func() []string {
			names, err := s.client.ListDatabaseNames(deadline(t), d("name", bson.Regex{Pattern: "^plimsoll_verify_"}))
			if err != nil {
				t.Fatal(err)
			}
			return names
		}
		verifying := func() bool { return len(left()) > 0 }
		file := filepath.Join(t.TempDir(), "shop.yaml")
		record := []string{"workload", "record", address.String(), "-o", file}
		said := "drop the database with: plimsoll workload record"

		stopped := start(t, record...)
		until(t, "the verification writes", verifying)
		stopped.signal(t, os.Interrupt)
		e := stopped.wait(t).must(t, 130)
		if names := left(); len(names) > 0 || !strings.Contains(e.stdout, "not verified: interrupted") || !strings.Contains(e.stderr, said) {
			t.Errorf("left %v\n%s\n%s", names, e.stdout, e.stderr)
		}

		killed := start(t, record...)
		until(t, "the verification writes", verifying)
		killed.signal(t, syscall.SIGKILL)
		if e := killed.wait(t); !strings.Contains(e.stderr, said) {
			t.Error(e.stderr)
		}
		if info, err := os.Stat(file); err != nil || info.Size() == 0 {
			t.Errorf("the file: %v", err)
		}
		if e := plimsoll(t, "workload", "record", address.String(), "--restore").must(t, 0); verifying() {
			t.Errorf("left %v\n%s", left(), e.stdout)
		}
		if n, err := db.Collection("items").CountDocuments(deadline(t), d()); err != nil || n != documents {
			t.Errorf("the recorded database has %d documents (%v)", n, err)
		}
	})
}
