//go:build !race

package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/plimsoll-bench/plimsoll/lab/engine/enginetest"
	"github.com/plimsoll-bench/plimsoll/record"
)

// TestDrillOfAShardedCluster kills the primary of the second shard of the shipped cluster: outage, loss and new primary
// are reported for that shard, and the first shard keeps working.
func TestDrillOfAShardedCluster(t *testing.T) {
	inTurn(t, 170)
	file, err := filepath.Abs("../examples/lab/sharded.yaml")
	if err != nil {
		t.Fatal(err)
	}
	binaries := map[string]string{"stand-in": enginetest.StandinMongo(t, "8.0.12", "lags")}
	if real, ok := enginetest.RealMongo(t); ok {
		binaries["mongod"] = real
	}
	for engine, binary := range binaries {
		t.Run(engine, func(t *testing.T) {
			const name = "e2e-sharded"
			l := labOf(t, name, file, "--binary", binary)
			t.Run("majority", func(t *testing.T) { testShardStruck(t, name, "majority") })
			t.Run("w1", func(t *testing.T) { testShardStruck(t, name, "1") })
			t.Run("clean", func(t *testing.T) { testDrillClean(t, name) })
			if engine == "mongod" {
				t.Run("zones", func(t *testing.T) { testZones(t, l) })
			}
		})
	}
	if real := binaries["mongod"]; real != "" {
		t.Run("planned events", func(t *testing.T) { testShardedEvents(t, file, real) })
	}
}

// testShardedEvents runs planned events on a cluster of their own, the migrations in the first drills: after failovers,
// releases of MongoDB may recover a migration for minutes. The second migration takes another chunk, because a shard
// does not take one back before it has deleted the documents that it had of it.
func testShardedEvents(t *testing.T, file, binary string) {
	const name = "e2e-sharded-events"
	labOf(t, name, file, "--binary", binary)
	for range 2 {
		r, ok := testDrillEvents(t, name, "load: {rate: 150, workers: 16, duration: 6s}", "fault: chunk-migration, at: 2s")
		if ok {
			testFigure(t, r, "chunk-migration", "chunks moved", 1)
		}
	}
	// Each shard has half of the writes, and needs 20 in the second before the member is removed. A mongod that is told to
	// end takes some seconds.
	r, ok := testDrillEvents(t, name, "load: {rate: 120, workers: 16, duration: 26s}", "fault: 'compaction:shard1/secondary', at: 2s",
		"fault: 'backup:shard1/secondary', at: 4s", "fault: 'initial-sync:shard2/secondary', at: 6s",
		"fault: 'remove-member:shard1/secondary', at: 9s, for: 8s", "fault: 'rolling-restart:shard2', at: 19s")
	if !ok {
		return
	}
	testFigure(t, r, "initial-sync", "documents after the copy", 1)
	testFigure(t, r, "rolling-restart", "members restarted", 3)
}

// testShardStruck runs a drill in which the second shard acknowledged writes in the second before the fault.
func testShardStruck(t *testing.T, name, w string) {
	t.Helper()
	strikes := func(d record.Drill) bool {
		r := d.Rounds[0]
		writes := r.Of("writes", "shard2")
		return writes != nil && writes.Outage > 0 && len(r.Shards) == 2 && r.Shards[1].AcknowledgedBefore > 0 &&
			r.Shards[1].NewPrimary > 0 && r.Shards[0].NewPrimary == 0 // which a busy machine elects without a fault
	}
	d, _ := untilSeen(t, strikes, "lab:"+name, "--fault", "kill:shard2/primary", "--at", "3s", "--for", "4s", "--duration", "14s", "--rate", "150",
		"--w", w, "--quiet", "--out", out)
	r := d.Rounds[0]
	if d.Verdict != record.Holds || len(r.Shards) != 2 || r.Ledger == nil || len(r.Ledger.Shards) != 2 ||
		r.Placement == "" {
		t.Fatalf("the verdict is %s because of %q, placement %q, shards %+v, ledger %+v", d.Verdict, d.Reasons, r.Placement, r.Shards, r.Ledger)
	}
	for i, s := range r.Shards {
		struck := s.Name == "shard2"
		writes := r.Of("writes", s.Name)
		l := r.Ledger.Shards[i]
		if s.Struck != struck || struck != (s.NewPrimary > 0) || struck && s.AcknowledgedBefore == 0 || writes == nil ||
			l.Acknowledged == 0 {
			t.Fatalf("%+v: writes %+v, ledger %+v", s, writes, l)
		}
		if !struck && l.Lost > 0 || w == "majority" && l.Lost > 0 {
			t.Errorf("%d writes of %s are lost", l.Lost, s.Name)
		}
	}
	// On a busy machine the other shard can stand still for longer than an election takes, but not all the time.
	if struck, other := r.Of("writes", "shard2"), r.Of("writes", "shard1"); struck.Outage < 1e8 ||
		struck.Outage == other.Outage || other.During <= 0 {
		t.Errorf("the writes of the struck shard are %+v, those of the other one %+v", struck, other)
	}
	if lost := r.Ledger.LostWrites(); w == "1" && lost != r.Ledger.Shards[1].Lost {
		t.Errorf("%d writes are lost, %d of them on shard2", lost, r.Ledger.Shards[1].Lost)
	}
	if h := r.Headline(); h == nil || h.Shard != "shard2" {
		t.Errorf("the headline is %+v", h)
	}
}

// testDrillClean removes what the drills left in a lab, on all shards.
func testDrillClean(t *testing.T, name string) {
	t.Helper()
	e := plimsoll(t, "drill", "clean", "lab:"+name)
	if e.code != 2 || !strings.Contains(e.stdout, "found ") || !strings.Contains(e.stderr, "--yes") {
		t.Errorf("without a record: %d, %s%s", e.code, e.stdout, e.stderr)
	}
	e = plimsoll(t, "drill", "clean", "lab:"+name, "--yes").must(t, 0)
	for _, collection := range []string{"plimsoll.plimsoll_ledger", "plimsoll.plimsoll_drill_seeds"} {
		if !strings.Contains(e.stdout, " of "+collection+"\n") || strings.Contains(e.stdout, "kept") {
			t.Errorf("not all documents of %s are removed:\n%s", collection, e.stdout)
		}
	}
	if e = plimsoll(t, "drill", "clean", "lab:"+name).must(t, 0); !strings.Contains(e.stdout, "nothing was removed") {
		t.Errorf("a second time: %s", e.stdout)
	}
}

// regions has a zone for each of two shards.
const regions = `
name: regions
collections:
  - name: orders
    count: 400
    document: {_id: {$sequence: {prefix: order-}}, region: {$choose: [eu, us]}, text: {$words: 5}}
    shard:
      key: {region: 1, _id: 1}
      zones:
        - {name: europe, shards: ["0"], from: {region: eu, _id: {$minKey: 1}}, to: {region: eu, _id: {$maxKey: 1}}}
        - {name: america, shards: [shard2], from: {region: us, _id: {$minKey: 1}}, to: {region: us, _id: {$maxKey: 1}}}
operations:
  - {name: order, weight: 1, insert: orders}
`

// testZones loads a collection with zones. Each shard has the documents of its zone and no others.
func testZones(t *testing.T, l record.Lab) {
	file := filepath.Join(t.TempDir(), "regions.yaml")
	if err := os.WriteFile(file, []byte(regions), 0o600); err != nil {
		t.Fatal(err)
	}
	db := newDatabase("zones")
	plimsoll(t, "run", "lab:"+l.Name, "--database", db, "--workload", file, "--operations", "100", "--quiet").judged(t)
	have := map[string]int64{}
	for _, m := range l.Members {
		if m.Role != "primary" {
			continue
		}
		client, err := dial("mongodb://" + m.Address + "/?directConnection=true&readPreference=primaryPreferred")
		if err != nil {
			t.Fatal(err)
		}
		defer hangUp(client)
		for _, region := range []string{"eu", "us"} {
			n, err := client.Database(db).Collection("orders").CountDocuments(deadline(t), bson.D{{Key: "region", Value: region}})
			if err != nil {
				t.Fatal(err)
			}
			have[m.Set+" "+region] = n
		}
	}
	if have["shard1 eu"] == 0 || have["shard2 us"] == 0 || have["shard1 eu"]+have["shard2 us"] != 500 || len(have) != 4 {
		t.Errorf("documents by shard and region: %v", have)
	}
}
