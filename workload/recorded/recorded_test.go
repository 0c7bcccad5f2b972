package recorded

import (
	"bytes"
	"flag"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.mongodb.org/mongo-driver/v2/bson"
)

var update = flag.Bool("update", false, "write the golden files")

// golden compares text with a file of testdata.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", name, diff)
	}
}

func testFile(t testing.TB, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func queryStats(t testing.TB, data []byte) iter.Seq2[Operation, error] {
	var doc struct{ V []bson.Raw }
	if err := bson.UnmarshalExtJSON(append(append([]byte(`{"v":`), data...), '}'), false, &doc); err != nil {
		t.Fatal(err)
	}
	return func(yield func(Operation, error) bool) {
		for _, entry := range doc.V {
			if !yield(ReadQueryStats(entry)) {
				return
			}
		}
	}
}

func modelOf(t testing.TB, o Options, operations iter.Seq2[Operation, error]) *Model {
	t.Helper()
	m := NewModel(o)
	for op, err := range operations {
		if err != nil {
			if err := m.Skip(&op, err); err != nil {
				t.Fatal(err)
			}
			continue
		}
		m.Add(&op)
	}
	return m
}

// describe writes all that a model knows.
func describe(m *Model) string {
	var b strings.Builder
	for _, s := range m.Shapes() {
		fmt.Fprintf(&b, "%d × %s.%s: %s\n", s.Count, s.Database, s.Collection, s.Text)
		for i, h := range s.Holes {
			v := &s.Values[i].Values
			fmt.Fprintf(&b, "    %s %s: %d values, %d different", h.Field, h, v.Count(), v.Distinct())
			if v.Length.N > 0 {
				fmt.Fprintf(&b, ", %g to %g bytes", v.Length.Min, v.Length.Max)
			}
			if v.Elements.N > 0 {
				fmt.Fprintf(&b, ", %g to %g elements", v.Elements.Min, v.Elements.Max)
			}
			if v.Digits.N > 0 {
				fmt.Fprintf(&b, ", %g to %g digits", v.Digits.Min, v.Digits.Max)
			}
			fmt.Fprintln(&b)
		}
	}
	var skipped []string
	n := m.Total()
	for why, n := range n.Skipped {
		skipped = append(skipped, fmt.Sprintf("skipped %d: %s\n", n, why))
	}
	slices.Sort(skipped)
	fmt.Fprintf(&b, "%soperations %d, cut %v, without documents %d, in transactions %d, failed %d\n", strings.Join(skipped, ""),
		m.Operations, n.Cut, n.NoDocs, n.InTxn, n.Failed)
	return b.String()
}

// TestSources reads what a mongod 4.4 wrote into its profile and its log during the same operations, an answer of
// $queryStats as the documentation shows it, and captured commands.
func TestSources(t *testing.T) {
	golden(t, "profile.golden", describe(modelOf(t, Options{}, Read(bytes.NewReader(testFile(t, "profile-4.4.jsonl"))))))
	golden(t, "log.golden", describe(modelOf(t, Options{}, Read(bytes.NewReader(testFile(t, "mongod-4.4.log"))))))
	golden(t, "querystats.golden", describe(modelOf(t, Options{Typed: true}, queryStats(t, testFile(t, "querystats.json")))))
	golden(t, "commands.golden", describe(modelOf(t, Options{}, Read(bytes.NewReader(testFile(t, "commands.jsonl"))))))
}

// TestLogAndProfileAgree checks that both sources of one server give the same shapes.
func TestLogAndProfileAgree(t *testing.T) {
	shapes := func(m *Model) []string {
		var out []string
		for _, s := range m.Shapes() {
			out = append(out, fmt.Sprint(s.Count, s.Text))
		}
		return out
	}
	a := modelOf(t, Options{}, Read(bytes.NewReader(testFile(t, "profile-4.4.jsonl"))))
	b := modelOf(t, Options{}, Read(bytes.NewReader(testFile(t, "mongod-4.4.log"))))
	if diff := cmp.Diff(shapes(a), shapes(b)); diff != "" {
		t.Errorf("profile and log (-profile +log):\n%s", diff)
	}
}

// TestNoValueStays checks that neither values nor hidden names are in the shapes of all sources.
func TestNoValueStays(t *testing.T) {
	o := Options{Names: HashedNames([]byte("key"))}
	text := describe(modelOf(t, o, Read(bytes.NewReader(testFile(t, "profile-4.4.jsonl"))))) +
		describe(modelOf(t, o, Read(bytes.NewReader(testFile(t, "mongod-4.4.log"))))) +
		describe(modelOf(t, o, Read(bytes.NewReader(testFile(t, "commands.jsonl")))))
	for _, secret := range []string{"anna", "bert", "c20", "vvvv", "zzzz", "customer", "items", "total", "paid", "65f0c0"} {
		if strings.Contains(text, secret) {
			t.Errorf("%q is in the shapes", secret)
		}
	}
}

// TestSharded reads the log lines of a mongos and of a shard behind it, in the form of MongoDB's documentation. Both
// have the same shapes, and the file says what such logs lack.
func TestSharded(t *testing.T) {
	m := modelOf(t, Options{}, Read(bytes.NewReader(testFile(t, "sharded.log"))))
	golden(t, "sharded.golden", describe(m))
	f := fileOf(t, m, Source{Name: "stocks", From: "sharded.log", Sources: []string{"slow-query log"}, Database: "stocks",
		Collections: []*Collection{{Database: "stocks", Name: "trades", Count: 10, ShardKey: document(t, `{"ticker": 1, "day": "hashed"}`)}}})
	text := encode(t, f)
	for _, want := range []string{"(1 operations, 1 commits or aborts)", "update and delete commands without their statements (1)",
		"A mongos sent operations to this shard (2)", "ticker: 1", "day: hashed"} {
		if !strings.Contains(strings.Join(strings.Fields(text), " "), want) {
			t.Errorf("the file does not have %q:\n%s", want, text)
		}
	}
}

func document(t testing.TB, text string) (doc bson.Raw) {
	t.Helper()
	if err := bson.UnmarshalExtJSON([]byte(text), false, &doc); err != nil {
		t.Fatal(err)
	}
	return doc
}
