package own

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/plimsoll-bench/plimsoll/workload"
)

var update = flag.Bool("update", false, "write the golden files")

func plan(t testing.TB, text string, change ...func(*workload.Spec)) *Plan {
	t.Helper()
	asked := workload.Spec{Text: text, Seed: 1}
	for _, c := range change {
		c(&asked)
	}
	w, err := Open(asked)
	if err != nil {
		t.Fatal(err)
	}
	return w.(*Plan)
}

// everything has each generator and each command.
const everything = `
name: everything
collections:
  - name: things
    count: 50
    document:
      _id: {$sequence: {prefix: thing-, digits: 6}}
      int: {$int: {min: -5, max: 5}}
      skewed: {$int: {min: 1, max: 100, skew: 0.8}}
      long: {$long: {min: 10000000000, max: 20000000000}}
      double: {$double: {min: 1, max: 2, round: 3}}
      decimal: {$decimal: {min: 1, max: 100, scale: 2}}
      bool: {$bool: 80%}
      string: {$string: 12}
      few: {$string: {size: {min: 3, max: 6}, values: 3, from: abc}}
      words: {$words: {count: {min: 2, max: 4}}}
      colour: {$words: {count: 1, from: [red, green]}}
      date: {$date: {min: 2025-01-01, max: 2025-01-02}}
      step: {$date: {start: 2025-01-01T00:00:00Z, every: 10s}}
      oid: {$objectId: {}}
      uuid: {$uuid: {}}
      binary: {$binary: {size: 16, compressible: 50%}}
      choose: {$choose: [1, two, {three: 3}]}
      weighted: {$choose: {of: {often: 9, seldom: 1}}}
      array: {$array: {of: {a: {$int: 9}, b: {$calc: a * 2}}, count: {min: 1, max: 2}}}
      fixed: [1, 2.5, {$numberDecimal: "1.5"}, {$oid: 0123456789abcdef01234567}, 2020-02-02]
      maybe: {$optional: {value: 1, share: 50%}}
      inner: {price: {$double: {min: 1, max: 9, round: 1}}, quantity: {$int: {min: 1, max: 3}}}
      total: {$calc: "round(inner.price * inner.quantity, 2)"}
      next: {$calc: (n + 1) % 50}
      text: {$format: "{inner.quantity} of {_id}, {few}"}
      again: {$field: text}
      friend: {$zipf: things}
      owner: {$sequential: people}
  - name: people
    count: 10
    document:
      name: {$words: 2}
      mail: {$format: "{name}@example.org"}
      number: {$sequence: {start: 100, step: 10}}
  - name: log
    document: {at: {$date: now}, by: {$ref: {to: people, field: number, keys: hotspot, hot: 10%, of: 90%}}}
operations:
  - {name: find, weight: 1, find: things, filter: {int: {$gte: {$int: {min: 1, max: 3}}}}, projection: {int: 1}, sort: {int: 1}, skip: {$int: 9}, limit: 5, hint: {int: 1}}
  - {name: one, weight: 1, findOne: things, filter: {_id: {$zipf: {to: things, theta: 0.5}}}, read_concern: majority, read_preference: nearest}
  - {name: aggregate, weight: 1, aggregate: things, pipeline: [{$match: {few: {$string: {size: 3, values: 2}}}}, {$group: {_id: $few, n: {$sum: 1}}}], collation: {locale: de}}
  - {name: count, weight: 1, count: people, filter: {name: x}}
  - {name: distinct, weight: 1, distinct: things, key: few, filter: {int: {$int: 3}}}
  - {name: insert, weight: 1, insert: things, batch: 2}
  - {name: log, weight: 1, insert: log, document: {what: {$words: 1}, n: 1}, write_concern: {w: 1, journal: false}}
  - name: bulk
    weight: 1
    bulkWrite: things
    unordered: true
    writes:
      - {insert: next, times: 2}
      - {update: {$inc: {int: 1}}, filter: {_id: {$uniform: things}}, times: 2}
      - {replace: {int: 1}, filter: {_id: {$uniform: things}}, upsert: true}
      - {delete: true, filter: {_id: {$uniform: things}}}
  - {name: update, weight: 1, update: things, filter: {_id: {$latest: things}}, with: {$set: {"array.$[x].a": {$int: 5}}}, array_filters: [{x.a: 1}]}
  - {name: many, weight: 1, update: things, many: true, filter: {few: abc}, with: [{$set: {double: {$add: [$double, {$double: 1}]}}}]}
  - {name: replace, weight: 1, replace: people, filter: {_id: {$uniform: people}}, with: {name: {$words: 1}}}
  - {name: delete, weight: 1, delete: things, filter: {int: -5}, empty: true}
  - {name: take, weight: 1, findAndModify: things, filter: {int: 1}, sort: {long: 1}, with: {$set: {int: 2}}, new: true, projection: {int: 1}}
  - {name: remove, weight: 1, findAndModify: things, filter: {int: 1}, remove: true}
  - name: transfer
    weight: 1
    let: {a: {$uniform: people}, amount: {$int: {min: 1, max: 9}}}
    transaction:
      - {findOne: people, filter: {_id: {$var: a}}, as: person}
      - {name: book, update: people, filter: {_id: {$var: person._id}}, with: {$inc: {number: {$calc: -amount}}}}
      - {insert: log, document: {name: {$var: person.name}, text: {$format: "{amount} for {person.name}"}}}
    write_concern: {w: majority}
  - name: visit
    weight: 1
    let: {who: {$uniform: people}}
    sequence:
      - {name: login, findOne: people, filter: {_id: {$var: who}}, as: me}
      - {name: act, think: 2s, insert: log, document: {who: {$var: me._id}}}
  - {name: feed, watch: log, readers: 2, pipeline: [{$match: {operationType: insert}}]}
`

// Each generator and each command has the same bytes for the same seed.
func TestGolden(t *testing.T) {
	p := plan(t, everything)
	var b bytes.Buffer
	for _, name := range []string{"things", "people"} {
		for n := range int64(2) {
			text, err := bson.MarshalExtJSON(p.Document(name, n), true, false)
			if err != nil {
				t.Fatalf("%s %d: %v", name, n, err)
			}
			fmt.Fprintf(&b, "%s %d: %s\n", name, n, text)
		}
	}
	for _, s := range p.Each() {
		for _, c := range s.Commands {
			text, err := bson.MarshalExtJSON(c.Command, true, false)
			if err != nil {
				t.Fatalf("%s: %v", s.Class, err)
			}
			fmt.Fprintf(&b, "%s%s: %s\n", s.Class, s.Think, text)
		}
	}
	got := []byte(stable(b.String()))
	file := filepath.Join("testdata", "everything.golden")
	if *update {
		if err := os.WriteFile(file, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Error(diff)
	}
}

// stable leaves out the time.
func stable(text string) string {
	before, rest, found := strings.Cut(text, `"at":{"$date":`)
	if !found {
		return text
	}
	_, after, _ := strings.Cut(rest, "}}")
	return before + `"at":NOW` + stable(after)
}

func TestNoAllocations(t *testing.T) {
	p := plan(t, everything)
	s := p.Stream(2, 3)
	answer, _ := bson.Marshal(bson.D{{Key: "_id", Value: 1}, {Key: "name", Value: "Ada"}})
	var op workload.Op
	next := func() {
		s.Next(&op)
		for i := range op.Requests {
			if s.Listens(&op, i) {
				s.Answer(&op, i, answer)
			}
		}
		s.Done(&op, true)
	}
	for range 5000 { // buffers grow to their greatest size
		next()
	}
	if n := testing.AllocsPerRun(2000, next); n > 0 {
		t.Errorf("an operation allocates %v times", n)
	}
}

// Two streams with the same seed and worker are equal, and so are the documents of two loaders.
func TestRepeatable(t *testing.T) {
	text := strings.ReplaceAll(everything, "$date: now", "$date: 2026-01-01")
	a, b := plan(t, text), plan(t, text)
	if diff := cmp.Diff(fmt.Sprint(a.Sample(300)), fmt.Sprint(b.Sample(300))); diff != "" {
		t.Error(diff)
	}
	other := plan(t, text, func(s *workload.Spec) { s.Seed = 2 })
	if fmt.Sprint(a.Sample(30)) == fmt.Sprint(other.Sample(30)) {
		t.Error("another seed makes the same operations")
	}
}

// An aggregate with $merge or $out writes, and changes the collection that it writes to.
func TestOutputs(t *testing.T) {
	p := plan(t, `
name: sums
collections:
  - {name: sales, count: 3, document: {n: {$int: 5}}}
  - {name: sums, count: 3, document: {n: 1}}
  - {name: days, count: 3, document: {n: 1}}
operations:
  - {name: sum, weight: 1, aggregate: sales, pipeline: [{$group: {_id: $n}}, {$merge: {into: sums}}], read_concern: majority, write_concern: {w: majority}}
  - {name: day, weight: 1, aggregate: sales, pipeline: [{$match: {n: {$int: 5}}}, {$out: {db: other, coll: days}}]}
  - {name: read, weight: 1, aggregate: sales, pipeline: [{$match: {n: 5}}]}
`)
	for _, x := range p.Examples() {
		r := &x.Requests[0]
		if want := x.Class != "read"; r.Writes() != want || r.Out != workload.Outputs(r.Pipeline) {
			t.Errorf("%s writes: %v", x.Class, r.Writes())
		}
		if r.Out && r.Concern.Preference != "primary" {
			t.Errorf("%s goes to %+v", x.Class, r.Concern)
		}
	}
	if p.Removes("sales") || !p.Removes("sums") || !p.Removes("days") {
		t.Error("the collections that lose documents are others")
	}
}
