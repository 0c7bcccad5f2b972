//go:build !race

package e2e

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/plimsoll-bench/plimsoll/internal/mongouri"
	"github.com/plimsoll-bench/plimsoll/lab/engine"
	"github.com/plimsoll-bench/plimsoll/workload/own"
)

// profilerOf returns the level of the profiler of a database, and whether it has a profile.
func profilerOf(t *testing.T, db *mongo.Database) (level int32, profile bool) {
	t.Helper()
	ctx := deadline(t)
	reply, err := db.RunCommand(ctx, bson.D{{Key: "profile", Value: -1}}).Raw()
	if err != nil {
		t.Fatal(err)
	}
	names, err := db.ListCollectionNames(ctx, bson.D{{Key: "name", Value: "system.profile"}})
	if err != nil {
		t.Fatal(err)
	}
	return reply.Lookup("was").Int32(), len(names) > 0
}

// TestMongodIsRecorded records the operations of an application on a mongod, and replays them. A recording that is
// killed leaves a profiler that --restore restores.
func TestMongodIsRecorded(t *testing.T) {
	forEachServer(t, func(t *testing.T, s *server) {
		if s.engine != engine.Mongod {
			t.Log("the engine has no profiler")
			return
		}
		db := s.client.Database(newDatabase("recorded"))
		address, err := mongouri.Parse(s.uri)
		if err != nil {
			t.Fatal(err)
		}
		address.Path = db.Name()
		dir := t.TempDir()
		file, recording := filepath.Join(dir, "shop.yaml"), filepath.Join(dir, "shop.recording")
		record := []string{"workload", "record", address.String(), "--profile", "all", "--for", "5m", "-o", file,
			"--recording", recording}
		changed := func() bool { level, _ := profilerOf(t, db); return level == 2 }
		restored := func() bool { level, profile := profilerOf(t, db); return level == 0 && !profile }

		killed := start(t, record...)
		until(t, "the profiler is changed", changed)
		killed.signal(t, syscall.SIGKILL)
		killed.wait(t)
		if !changed() {
			t.Error("the killed recording restored the profiler")
		}
		plimsoll(t, "workload", "record", address.String(), "--restore").must(t, 0)
		if !restored() {
			t.Error("the profiler is not restored")
		}

		c := start(t, record...)
		until(t, "the profiler is changed", changed)
		application(t, db.Collection("orders"))
		c.signal(t, os.Interrupt)
		if c.wait(t).must(t, 130); !restored() {
			t.Error("the profiler is not restored after Ctrl-C")
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		f, err := own.Read(strings.NewReader(string(text)))
		if err != nil || len(f.Operations) != 3 || f.Operations[0].Weight != 20 || f.Operations[2].Weight != 20 {
			t.Fatalf("the workload (%v):\n%s", err, text)
		}
		if strings.Contains(string(text), "customer-1") {
			t.Error("a value is in the workload")
		}
		r := plimsoll(t, "run", s.uri, "--database", newDatabase("replayed"), "--replay", recording, "--speed", "2x", "--out", out,
			"--format", "json").record(t)
		if p := r.Phase("measure"); p == nil || p.Offered != 60 {
			t.Errorf("the replay: %+v", p)
		}
	})
}

// application does twenty operations of three kinds.
func application(t *testing.T, c *mongo.Collection) {
	t.Helper()
	ctx := context.Background()
	for i := range 20 {
		name := fmt.Sprintf("customer-%d", i)
		_, err := c.InsertOne(ctx, bson.D{{Key: "_id", Value: i}, {Key: "customer", Value: name}})
		if err == nil {
			_, err = c.UpdateOne(ctx, bson.D{{Key: "_id", Value: i}}, bson.D{{Key: "$set", Value: bson.D{{Key: "paid", Value: true}}}})
		}
		if err == nil {
			err = c.FindOne(ctx, bson.D{{Key: "customer", Value: name}}).Err()
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}
