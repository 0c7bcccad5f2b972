//go:build !race

package e2e

import (
	"bytes"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/plimsoll-bench/plimsoll/lab/engine/enginetest"
	"github.com/plimsoll-bench/plimsoll/record"
)

// TestDrillOfAgents deletes acknowledged documents of two agents during a drill, and then kills one of the agents. The
// deleted documents are lost. The writes of the killed agent since its last hand-over are unknown: neither lost nor
// unexpected. The next agent on its machine removes its record.
func TestDrillOfAgents(t *testing.T) {
	inTurn(t, 60)
	uri := enginetest.StartSet(t, enginetest.StandinMongo(t, "8.0.12"), 1).URI
	client, err := dial(uri)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { hangUp(client) })
	const db, records, threads = "drill", "plimsoll_ledger", 4
	c := startCoordinator(t, "drill", uri, "--external", "--agents", "2", "--threads", fmt.Sprint(threads),
		"--rate", "60", "--duration", "40s", "--database", db, "--format", "json", "--out", out)
	agents := startAgents(t, c, 2)
	coll := client.Database(db).Collection(records)
	deleted := int64(0)
	c.until(t, "each writer to have inserted documents", func() bool {
		first := firstInserted(t, coll)
		for writer := range threads {
			if len(first[writer]) < 3 {
				return false
			}
		}
		c.signal(t, syscall.SIGUSR1)
		for _, ids := range first {
			got, err := coll.DeleteOne(deadline(t), bson.D{{Key: "_id", Value: ids[0]}})
			if err != nil {
				t.Fatal(err)
			}
			deleted += got.DeletedCount
		}
		return true
	})
	told := int64(0)
	for range 5 { // seconds; ledgers are handed over every 2 s
		before := told
		c.until(t, "the next second of the load", func() bool {
			s, err := record.ReadStatus(filepath.Join(c.dir, out))
			if err != nil || s == nil {
				return false
			}
			told = s.Writes.Acknowledged
			return told > before
		})
	}
	agents[0].signal(t, syscall.SIGKILL)
	c.signal(t, syscall.SIGUSR1)
	r := drillOf(t, c.wait(t).must(t, 5)).Rounds[0]
	l := r.Ledger
	if l == nil || deleted != threads || l.LostWrites() != deleted || l.Inserts[record.WriteLost] != deleted ||
		l.Inserts[record.WriteUnexpected]+l.Updates[record.WriteUnexpected] != 0 || len(l.LostRanges) != threads {
		t.Errorf("%d documents were deleted, the ledger is %+v", deleted, l)
	}
	if len(r.Unknown) != 1 || r.Unknown[0].From <= 0 || r.Unknown[0].To <= r.Unknown[0].From {
		t.Fatalf("unknown are %+v", r.Unknown)
	}
	own, err := record.OpenRun(filepath.Join(c.dir, out, "rounds", "1"))
	if err != nil {
		t.Fatal(err)
	}
	killed := fmt.Sprintf("-%d", agents[0].cmd.Process.Pid)
	if lost := own.Clients[r.Unknown[0].Client]; lost.Status != "lost" || !strings.HasSuffix(lost.Agent, killed) {
		t.Errorf("the writes of %+v are unknown, and the agent %s was killed", lost, killed)
	}
	for _, a := range agents {
		a.wait(t)
	}
	testNextAgentTidies(t)
}

// testNextAgentTidies finds the record of a killed agent of the test, and starts agents, which remove it.
func testNextAgentTidies(t *testing.T) {
	left := func() []string {
		list, err := filepath.Glob(filepath.Join(agentsDir(t), "plimsoll-agent-*"))
		if err != nil {
			t.Fatal(err)
		}
		return list
	}
	if list := left(); len(list) != 1 {
		t.Errorf("one agent was killed, and left %q", list)
	}
	c := startCoordinator(t, ofAgents("--duration", "1s")...)
	agents := startAgents(t, c, 2)
	c.wait(t).judged(t)
	for _, a := range agents {
		a.wait(t)
	}
	if list := left(); len(list) != 0 {
		t.Errorf("the next agents leave %q", list)
	}
}

// firstInserted returns the _id of the first inserted documents of each writer of the workload ledger. An _id has the
// run (4 bytes), the writer (3 bytes) and the sequence of the write.
func firstInserted(t *testing.T, coll *mongo.Collection) map[int][]bson.ObjectID {
	t.Helper()
	cursor, err := coll.Find(deadline(t), bson.D{})
	if err != nil {
		t.Fatal(err)
	}
	type document struct {
		ID      bson.ObjectID `bson:"_id"`
		Payload []byte        `bson:"p"` // documents of updates have none
	}
	var docs []document
	if err := cursor.All(deadline(t), &docs); err != nil {
		t.Fatal(err)
	}
	slices.SortFunc(docs, func(a, b document) int { return bytes.Compare(a.ID[:], b.ID[:]) })
	first := map[int][]bson.ObjectID{}
	for _, d := range docs {
		if d.Payload == nil {
			continue
		}
		writer := int(d.ID[4])<<16 | int(d.ID[5])<<8 | int(d.ID[6])
		first[writer] = append(first[writer], d.ID)
	}
	return first
}
