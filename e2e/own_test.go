//go:build !race

package e2e

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/plimsoll-bench/plimsoll/lab/engine"
	"github.com/plimsoll-bench/plimsoll/lab/engine/enginetest"
	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/record"
)

// exampleWorkloads are the workload files of the examples, with what an engine without replica set refuses in them.
var exampleWorkloads = []struct{ name, refused string }{
	{"audit-log", ""},
	{"iot", ""},
	{"sessions", ""},
	{"social-feed", "operation notify: "}, // a change stream
	{"web-shop", "operation order: "},     // a transaction
}

func exampleWorkload(t *testing.T, name string) string {
	t.Helper()
	file, err := filepath.Abs("../examples/workloads/" + name + ".yaml")
	if err != nil {
		t.Fatal(err)
	}
	return file
}

// TestOwnWorkloads runs the workload files of the examples with both clients on one server of each engine. What is no
// replica set refuses operations that it cannot do by their names. Without these operations, it can do the rest.
func TestOwnWorkloads(t *testing.T) {
	inTurn(t, 20)
	forEachServer(t, func(t *testing.T, s *server) {
		for i, w := range exampleWorkloads {
			t.Run(w.name, func(t *testing.T) {
				file := exampleWorkload(t, w.name)
				if w.refused != "" && !strings.Contains(s.uri, "replicaSet=") {
					e := plimsoll(t, "run", s.uri, "--database", newDatabase(w.name), "--workload", file, "--operations", "10").must(t, 2)
					if !strings.Contains(e.stderr, w.refused) {
						t.Errorf("%s", e.stderr)
					}
					file = without(t, file, strings.TrimSuffix(strings.TrimPrefix(w.refused, "operation "), ": "))
				}
				workers := "1" // bulk writes of several workers deadlock on the open engine, which then fails one of them
				if s.engine == engine.Mongod {
					workers = "4"
				}
				runExample(t, s.uri, file, clients[i%2], 200, workers)
			})
		}
		t.Run("verified", func(t *testing.T) { testVerified(t, s) })
	})
}

// without returns a copy of a workload file without an operation of it.
func without(t *testing.T, file, operation string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var kept strings.Builder
	leave, named := false, regexp.MustCompile(`name: `+operation+`\b`)
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, "  - ") {
			leave = named.MatchString(line)
		}
		if !leave {
			kept.WriteString(line)
		}
	}
	if kept.Len() == len(text) {
		t.Fatalf("%s has no operation %s", file, operation)
	}
	changed := filepath.Join(t.TempDir(), filepath.Base(file))
	if err := os.WriteFile(changed, []byte(kept.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	return changed
}

// runExample loads a workload file, runs it, and checks that each operation of the file is done and nothing fails.
func runExample(t *testing.T, uri, file, client string, operations int64, workers string) *record.Run {
	t.Helper()
	r := plimsoll(t, "run", uri, "--database", newDatabase("own", client), "--workload", file, "--client", client, "--records", "1500",
		"--threads", workers, "--seed", "5", "--operations", strconv.FormatInt(operations, 10), "--quiet", "--format", "json").measured(t)
	p := r.Phase("measure")
	if p == nil || r.Status != record.Complete || r.Fill == nil || r.Fill.Verified < 200 {
		t.Fatalf("status %s, load phase %+v", r.Status, r.Fill)
	}
	if p.Counts.Attempted != operations || len(p.Failures) > 0 {
		t.Errorf("counts %+v, failures %+v", p.Counts, p.Failures)
	}
	for _, k := range p.Classes {
		for outcome, n := range k.Outcomes {
			if outcome != "ok" && outcome != "not-found" {
				t.Errorf("%d operations of %s are %s", n, k.Name, outcome)
			}
		}
	}
	return r
}

// lookups reads documents of its load phase.
const lookups = `
name: lookups
collections:
  - name: things
    count: 60
    document: {_id: {$sequence: {prefix: thing-}}, n: {$int: {max: 1000}}, text: {$words: 5}}
operations:
  - {name: look, weight: 1, findOne: things, filter: {_id: {$uniform: things}}}
`

// testVerified plants a wrong document. The data integrity check finds it, and so does a load phase that inserts a
// document that another client has changed.
func testVerified(t *testing.T, s *server) {
	file := filepath.Join(t.TempDir(), "lookups.yaml")
	if err := os.WriteFile(file, []byte(lookups), 0o600); err != nil {
		t.Fatal(err)
	}
	db := newDatabase("verified")
	args := []string{"run", s.uri, "--database", db, "--workload", file, "--threads", "2", "--operations", "600", "--set",
		"dataintegrity=true", "--quiet", "--format", "json"}
	r := plimsoll(t, args...).measured(t)
	if r.Fill.Verified != 60 || r.Course.Verified != 600 || r.Course.Mismatched != 0 {
		t.Errorf("load phase %+v, course %+v", r.Fill, r.Course)
	}
	wrong := bson.D{{Key: "$set", Value: bson.D{{Key: "n", Value: 1001}}}}
	things := s.client.Database(db).Collection("things")
	if _, err := things.UpdateOne(deadline(t), bson.D{{Key: "_id", Value: "thing-17"}}, wrong); err != nil {
		t.Fatal(err)
	}
	r = plimsoll(t, append(args, "--load", "skip")...).must(t, 6).record(t)
	look := r.Phase("measure").Class("look")
	if n := look.Outcomes["corrupt"]; n == 0 || look.Outcomes["ok"] != 600-n {
		t.Errorf("the outcomes are %v", look.Outcomes)
	}
	if !slices.ContainsFunc(r.Validity, func(f measure.Finding) bool { return f.ID == "corrupt" }) {
		t.Errorf("the findings are %+v", r.Validity)
	}

	// Documents are missing, and one of the rest is wrong: the load phase inserts and reads back.
	if _, err := things.DeleteMany(deadline(t), bson.D{{Key: "_id", Value: bson.D{{Key: "$gte", Value: "thing-3"}}}}); err != nil {
		t.Fatal(err)
	}
	e := plimsoll(t, append(args, "--load", "only")...)
	if e.code == 0 || !strings.Contains(e.stderr, "record 17 of things is not the document that was inserted") {
		t.Errorf("a load phase beside a wrong document ended with %d: %s", e.code, e.stderr)
	}
}

// TestOwnWorkloadsOnMongod runs the workload files of the examples as they are on a set of three mongod: transactions,
// change streams and all. Then a primary is killed below transactions, and the ledger has to find all that was
// acknowledged.
func TestOwnWorkloadsOnMongod(t *testing.T) {
	inTurn(t, 90)
	binary, ok := enginetest.RealMongo(t)
	if !ok {
		return
	}
	const name = "e2e-own"
	labOf(t, name, "--engine", "mongod", "--binary", binary, "--members", "3", "--election", "elect-fast")
	for i, w := range exampleWorkloads {
		t.Run(w.name, func(t *testing.T) {
			r := runExample(t, "lab:"+name, exampleWorkload(t, w.name), clients[i%2], 1000, "4")
			if commit := r.Phase("measure").Class("order-commit"); w.name == "web-shop" && (commit == nil || commit.Counts.Succeeded == 0) {
				t.Errorf("no order is committed: %+v", commit)
			}
		})
	}
	for _, client := range clients {
		t.Run("drill "+client, func(t *testing.T) { testDrillOwn(t, name, transfers, "--client", client) })
	}
}

// notes have writes that the ledger can check, without transactions.
const notes = `
name: notes
collections:
  - {name: pages, count: 100, document: {_id: {$sequence: {prefix: page-}}, views: 0}}
  - {name: notes, document: {page: {$zipf: pages}, text: {$words: 5}}}
operations:
  - {name: write, weight: 5, insert: notes}
  - {name: view, weight: 4, update: pages, filter: {_id: {$zipf: pages}}, with: {$inc: {views: 1}}}
  - {name: read, weight: 1, findOne: pages, filter: {_id: {$uniform: pages}}}
`

// transfers have transactions, some of which conflict.
const transfers = `
name: transfers
collections:
  - {name: accounts, count: 100, document: {_id: {$sequence: {prefix: account-}}, sum: 100}}
  - {name: log, document: {amount: {$int: 9}}}
operations:
  - name: transfer
    weight: 4
    let: {amount: {$int: {min: 1, max: 9}}}
    transaction:
      - {name: from, findOne: accounts, filter: {_id: {$zipf: accounts}}, as: from}
      - {name: give, update: accounts, filter: {_id: {$var: from._id}}, with: {$inc: {sum: {$calc: -amount}}}}
      - {name: log, insert: log, document: {amount: {$var: amount}, of: {$var: from._id}}}
  - {name: note, weight: 1, insert: log}
`

// testDrillOwn kills the primary below a workload file. No write that a majority acknowledged is lost, and the ledger
// has the writes of the file.
func testDrillOwn(t *testing.T, lab, text string, args ...string) {
	file := filepath.Join(t.TempDir(), "own.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	d, _ := untilSeen(t, outageEnded, slices.Concat(gentle, []string{"lab:" + lab, "--fault", "kill:primary", "--at", "3s", "--for", "3s",
		"--duration", "12s", "--w", "majority", "--workload", file, "--quiet", "--out", out}, args)...)
	r := d.Rounds[0]
	if d.Verdict != record.Holds || r.Ledger == nil || r.Ledger.Acknowledged == 0 || r.Ledger.LostWrites() != 0 {
		t.Fatalf("the verdict is %s because of %q, the ledger is %+v", d.Verdict, d.Reasons, r.Ledger)
	}
	for _, writes := range []map[string]int64{r.Ledger.Inserts, r.Ledger.Updates} {
		if writes[record.WriteOK] == 0 || writes[record.WritePhantom]+writes[record.WriteDuplicated] > 0 {
			t.Errorf("the writes are %v, %v", r.Ledger.Inserts, r.Ledger.Updates)
		}
	}
	testAllAgree(t, r, "rs0-1", "rs0-2", "rs0-3")
}

// TestWorkloadStaysInItsDatabase merges into a collection of the database of the run, and into another database only if
// that is allowed.
func TestWorkloadStaysInItsDatabase(t *testing.T) {
	forEachServer(t, func(t *testing.T, s *server) {
		if s.engine != engine.Mongod {
			t.Log("the engine has no $merge")
			return
		}
		mine, other := newDatabase("mine"), newDatabase("other")
		merge := func(into string, flags ...string) ended {
			file := filepath.Join(t.TempDir(), "sums.yaml")
			text := "name: sums\ncollections: [{name: sales, count: 20, document: {n: {$int: 5}}}]\noperations:\n" +
				"  - {name: sum, weight: 1, aggregate: sales, pipeline: [{$group: {_id: $n}}, {$merge: {into: " + into + "}}]}\n"
			if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
			return plimsoll(t, append([]string{"run", s.uri, "--database", mine, "--workload", file, "--operations", "3",
				"--threads", "1", "--out", filepath.Join(t.TempDir(), "record")}, flags...)...)
		}
		has := func(database, collection string) bool {
			names, err := s.client.Database(database).ListCollectionNames(deadline(t), bson.D{{Key: "name", Value: collection}})
			if err != nil {
				t.Fatal(err)
			}
			return len(names) > 0
		}
		if e := merge("{db: "+other+", coll: sums}").must(t, 2); !strings.Contains(e.stderr, "--allow-other-databases "+other) {
			t.Errorf("%s", e.stderr)
		}
		if has(other, "sums") || has(mine, "sales") {
			t.Error("the refused run wrote")
		}
		merge("{db: "+mine+", coll: sums}").must(t, 0)
		merge(other+".dotted").must(t, 0) // the whole text is the name of a collection
		if !has(mine, "sums") || !has(mine, other+".dotted") || has(other, "dotted") {
			t.Error("the collections are not in the database of the run")
		}
		merge("{db: "+other+", coll: sums}", "--allow-other-databases", other).must(t, 0)
		if !has(other, "sums") {
			t.Error("the database that is allowed has no result")
		}
	})
}
