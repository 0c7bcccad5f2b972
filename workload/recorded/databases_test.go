package recorded

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/plimsoll-bench/plimsoll/workload"
	"github.com/plimsoll-bench/plimsoll/workload/own"
)

// commandLines are captured commands of the database shop, one each second.
func commandLines(commands ...string) []byte {
	var b bytes.Buffer
	for i, c := range commands {
		fmt.Fprintf(&b, `{"time":"2026-03-01T10:00:%02d.000Z","db":"shop","command":%s}`+"\n", i, c)
	}
	return b.Bytes()
}

var otherDatabases = []string{
	`{"aggregate":"orders","pipeline":[{"$group":{"_id":"$customer"}},{"$merge":{"into":{"db":"production","coll":"users"}}}],"cursor":{}}`,
	`{"aggregate":"orders","pipeline":[{"$match":{"paid":true}},{"$out":{"db":"production","coll":"orders"}}],"cursor":{}}`,
	`{"aggregate":"orders","pipeline":[{"$merge":{"into":{"db":"shop","coll":"sums"},"whenMatched":"replace"}}],"cursor":{}}`,
	`{"aggregate":"orders","pipeline":[{"$unionWith":{"db":"archive","coll":"orders","pipeline":[{"$limit":1}]}}],"cursor":{}}`,
	`{"aggregate":"orders","pipeline":[{"$out":"copies"}],"cursor":{}}`,
	`{"renameCollection":"shop.orders","to":"production.orders"}`,
}

// A recording, and the workload in it, stay in the database that was recorded. Collections of other databases get names
// of their own, and the file says so.
func TestRecordedOperationsStay(t *testing.T) {
	data, h := record(t, Options{Values: true}, Read(bytes.NewReader(commandLines(otherDatabases...))))
	if strings.Contains(h.Workload, "db:") || !strings.Contains(h.Workload, "production.users") {
		t.Errorf("the workload:\n%s", h.Workload)
	}
	f, err := own.Read(strings.NewReader(h.Workload))
	if err != nil {
		t.Fatal(err)
	}
	if said := strings.Join(f.Recorded.Unseen, "\n"); !strings.Contains(said,
		"the database of the target: archive.orders, production.orders, production.users.") {
		t.Errorf("the file says:\n%s", said)
	}
	w, err := OpenReplay(openBytes(data), workload.Spec{Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	if list := w.Databases(); len(list) > 0 {
		t.Errorf("the replay names %v", list)
	}
	stream := w.Stream(0, 1)
	var op workload.Op
	var last []string
	for i := range w.Total() {
		stream.Turn(i)
		stream.Next(&op)
		text, err := bson.MarshalExtJSON(bson.D{{Key: "p", Value: bson.RawValue{Type: bson.TypeArray,
			Value: op.Requests[0].Pipeline}}}, false, false)
		if err != nil {
			t.Fatal(err)
		}
		var doc struct{ P []json.RawMessage }
		if err := json.Unmarshal(text, &doc); err != nil {
			t.Fatal(err)
		}
		last = append(last, string(doc.P[len(doc.P)-1]))
	}
	want := []string{`{"$merge":{"into":"production.users"}}`, `{"$out":"production.orders"}`,
		`{"$merge":{"into":"sums","whenMatched":"replace"}}`,
		`{"$unionWith":{"coll":"archive.orders","pipeline":[{"$limit":1}]}}`, `{"$out":"copies"}`}
	if diff := cmp.Diff(want, last); diff != "" {
		t.Error(diff)
	}
}

// A recording whose commands were made by another program names its databases.
func TestForeignRecordingNamesDatabases(t *testing.T) {
	var ops []Operation
	for op, err := range Read(bytes.NewReader(commandLines(otherDatabases[:5]...))) {
		if err != nil {
			t.Fatal(err)
		}
		ops = append(ops, op)
	}
	var cmd bson.Raw
	if err := bson.UnmarshalExtJSON([]byte(otherDatabases[0]), false, &cmd); err != nil {
		t.Fatal(err)
	}
	data, _ := record(t, Options{Values: true}, func(yield func(Operation, error) bool) {
		ops[0].Command, ops[0].Moved = cmd, nil
		yield(ops[0], nil)
	})
	w, err := OpenReplay(openBytes(data), workload.Spec{Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	for _, n := range w.Databases() {
		names[n.Database] = true
	}
	if diff := cmp.Diff(map[string]bool{"production": true}, names); diff != "" {
		t.Error(diff)
	}
}

// The commands of a recording that rename collections or have no operation cannot be sent.
func TestOtherCommandsAreNotSent(t *testing.T) {
	for _, text := range []string{otherDatabases[5], `{"dropDatabase":1}`, `{"mapReduce":"c","out":{"replace":"x","db":"production"}}`} {
		var cmd bson.Raw
		if err := bson.UnmarshalExtJSON([]byte(text), false, &cmd); err != nil {
			t.Fatal(err)
		}
		if r, err := requestOf(cmd, map[string]*workload.Concern{}); err == nil {
			t.Errorf("%s is sent as %+v", text, r)
		}
	}
}
