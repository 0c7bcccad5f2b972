package recorded

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/plimsoll-bench/plimsoll/workload"
	"github.com/plimsoll-bench/plimsoll/workload/own"
)

// sampled are documents of a collection, and its indexes, as a deployment returns them.
func sampled(o Options) *Collection {
	d := &Documents{Options: o}
	at := time.Date(2026, 3, 1, 10, 0, 0, 0, time.UTC)
	for i := range 200 {
		doc := bson.D{{Key: "_id", Value: i}, {Key: "customer", Value: fmt.Sprintf("customer%03d", i%150)},
			{Key: "state", Value: []string{"new", "paid", "sent"}[i%3]}, {Key: "total", Value: float64(i) * 1.5},
			{Key: "items", Value: bson.A{bson.D{{Key: "sku", Value: "abcdef"}, {Key: "n", Value: i % 4}}}},
			{Key: "at", Value: at.AddDate(0, 0, -i%30)}, {Key: "address", Value: bson.D{{Key: "city", Value: "Rome"}}}}
		if i%2 == 0 {
			doc = append(doc, bson.E{Key: "paid", Value: true})
		}
		raw, _ := bson.Marshal(doc)
		d.Add(raw, at)
	}
	var indexes []bson.Raw
	for _, x := range []bson.D{
		{{Key: "v", Value: 2}, {Key: "key", Value: bson.D{{Key: "_id", Value: 1}}}, {Key: "name", Value: "_id_"}},
		{{Key: "v", Value: 2}, {Key: "key", Value: bson.D{{Key: "customer", Value: 1}, {Key: "at", Value: -1}}}, {Key: "name", Value: "customer_1_at_-1"}},
		{{Key: "v", Value: 2}, {Key: "key", Value: bson.D{{Key: "at", Value: 1}}}, {Key: "name", Value: "at_1"}, {Key: "expireAfterSeconds", Value: 86400}},
		{{Key: "v", Value: 2}, {Key: "key", Value: bson.D{{Key: "total", Value: 1}}}, {Key: "name", Value: "total_1"},
			{Key: "partialFilterExpression", Value: bson.D{{Key: "state", Value: "sent"}}}},
	} {
		raw, _ := bson.Marshal(x)
		indexes = append(indexes, raw)
	}
	return &Collection{Database: "shop", Name: "orders", Documents: d, Count: 1_200_000, Indexes: indexes,
		Used: map[string]int64{"customer_1_at_-1": 17, "at_1": 0}}
}

func encode(t *testing.T, f own.File) string {
	t.Helper()
	var b bytes.Buffer
	if err := own.Encode(&b, f); err != nil {
		t.Fatal(err)
	}
	again, err := own.Read(bytes.NewReader(b.Bytes()))
	if err != nil {
		t.Fatalf("the file cannot be read: %v\n%s", err, b.String())
	}
	plan, err := own.Compile(again, workload.Spec{Seed: 1})
	if err != nil {
		t.Fatalf("the file cannot be compiled: %v\n%s", err, b.String())
	}
	var op workload.Op
	plan.Loader().Load(0, 10, &op)
	stream := plan.Stream(0, 1)
	for range 200 {
		stream.Next(&op)
		for _, r := range op.Requests {
			if raw, err := bson.Marshal(own.Command(&r)); err != nil || bson.Raw(raw).Validate() != nil {
				t.Fatalf("an operation is no document: %v", err)
			}
		}
		stream.Done(&op, true)
	}
	return b.String()
}

func fileOf(t testing.TB, m *Model, src Source) own.File {
	t.Helper()
	f, _, err := m.File(src)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// TestFile writes the workload files of a profile with a sample, and of captured commands alone.
func TestFile(t *testing.T) {
	m := modelOf(t, Options{}, Read(bytes.NewReader(testFile(t, "profile-4.4.jsonl"))))
	f := fileOf(t, m, Source{Name: "shop", From: "mongodb://db1", Sources: []string{"profiler", "sample"}, Database: "shop",
		Collections: []*Collection{sampled(m.Options)}, Unseen: []string{"Operations faster than 20ms were not recorded."}})
	golden(t, "profile.yaml", encode(t, f))
	m = modelOf(t, Options{}, Read(bytes.NewReader(testFile(t, "commands.jsonl"))))
	f = fileOf(t, m, Source{Name: "shop", From: "commands.jsonl", Sources: []string{"commands"}, Database: "shop"})
	golden(t, "commands.yaml", encode(t, f))
	m = modelOf(t, Options{Typed: true}, queryStats(t, testFile(t, "querystats.json")))
	f = fileOf(t, m, Source{Name: "shop", From: "mongodb://db1", Sources: []string{"queryStats"}, Database: "shop", Period: 10 * time.Minute})
	golden(t, "querystats.yaml", encode(t, f))
}

// TestFileHidesNames writes a file with hashed names, and one with values.
func TestFileHidesNames(t *testing.T) {
	o := Options{Names: HashedNames([]byte("key"))}
	m := modelOf(t, o, Read(bytes.NewReader(testFile(t, "profile-4.4.jsonl"))))
	f := fileOf(t, m, Source{Name: "shop", Database: "shop", Collections: []*Collection{sampled(o)}})
	text := encode(t, f)
	for _, secret := range []string{"customer", "state", "sent", "paid", "Rome", "city", "anna", "sku"} {
		if strings.Contains(text, secret) {
			t.Errorf("%q is in the file", secret)
		}
	}
	o = Options{Values: true}
	m = modelOf(t, o, Read(bytes.NewReader(testFile(t, "profile-4.4.jsonl"))))
	f = fileOf(t, m, Source{Name: "shop", Database: "shop", Collections: []*Collection{sampled(o)}})
	for _, value := range []string{"sent", "Rome"} {
		if !strings.Contains(encode(t, f), value) {
			t.Errorf("the value %q is not in the file", value)
		}
	}
}
