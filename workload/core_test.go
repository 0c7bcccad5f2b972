package workload

import (
	"fmt"
	"maps"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.mongodb.org/mongo-driver/v2/bson"
)

// open makes a workload or ends the test.
func open(t testing.TB, name string, params map[string]string) Workload {
	t.Helper()
	return openSpec(t, Spec{Name: name, Params: params, Seed: testSeed})
}

func openSpec(t testing.TB, spec Spec) Workload {
	t.Helper()
	w, err := Open(spec)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// fieldsOf returns the keys of a document in their order.
func fieldsOf(t testing.TB, doc []byte) []string {
	t.Helper()
	elements, err := bson.Raw(doc).Elements()
	if err != nil {
		t.Fatalf("not a document: %v", err)
	}
	var names []string
	for _, e := range elements {
		names = append(names, e.Key())
	}
	return names
}

// typedNumber is how extended JSON writes numbers.
var typedNumber = regexp.MustCompile(`\{"\$number\w+":"([^"]*)"\}`)

// text shows a document as JSON, numbers without their types.
func text(doc []byte) string {
	return typedNumber.ReplaceAllString(bson.Raw(doc).String(), "$1")
}

func loadOne(w Workload, seq int64) []byte {
	var op Op
	w.Loader().Load(seq, 1, &op)
	return op.Requests[0].Docs[0]
}

func TestYCSBDocument(t *testing.T) {
	w := open(t, "ycsb-a", nil)
	doc := loadOne(w, 0)
	const want = "_id field1 field0 field7 field6 field9 field8 field3 field2 field5 field4"
	if got := strings.Join(fieldsOf(t, doc), " "); got != want {
		t.Errorf("fields are %s, want %s", got, want)
	}
	if id := bson.Raw(doc).Lookup("_id").StringValue(); id != goldenKeys[0] {
		t.Errorf("_id is %s, want %s", id, goldenKeys[0])
	}
	subtype, value := bson.Raw(doc).Lookup("field3").Binary()
	if subtype != 0 || len(value) != 100 {
		t.Errorf("field3 is binary of subtype %d with %d bytes, want 0 and 100", subtype, len(value))
	}
	sizes := map[int]int{}
	for seq := range int64(1000) {
		key := bson.Raw(loadOne(w, seq)).Lookup("_id").StringValue()
		sizes[len(loadOne(w, seq))-len(key)]++
	}
	if diff := cmp.Diff(map[int]int{1168 - 23: 1000}, sizes); diff != "" {
		t.Errorf("sizes without the key (19 digits make 1168 bytes, 18 make 1167):\n%s", diff)
	}
	if len(doc) != 1168 {
		t.Errorf("the document of key 0 has %d bytes, want 1168", len(doc))
	}
}

func TestCoreDocument(t *testing.T) {
	w := open(t, "a", map[string]string{"fieldcount": "3", "fieldlength": "10", "compressibility": "0.5"})
	doc := loadOne(w, 1)
	if diff := cmp.Diff([]string{"_id", "field0", "field1", "field2"}, fieldsOf(t, doc)); diff != "" {
		t.Errorf("fields (-want +got):\n%s", diff)
	}
	if id := bson.Raw(doc).Lookup("_id").StringValue(); id != goldenKeys[1] {
		t.Errorf("_id is %s: both modes must use the same keys, %s here", id, goldenKeys[1])
	}
	if _, v := bson.Raw(doc).Lookup("field2").Binary(); string(v[5:]) != "\x00\x00\x00\x00\x00" {
		t.Errorf("the second half of %x should be compressible", v)
	}
}

func TestRequestsOfYCSB(t *testing.T) {
	w := open(t, "ycsb", map[string]string{
		"recordcount": "1", "fieldcount": "2", "fieldlength": "3", "dataintegrity": "true", "minscanlength": "7",
		"maxscanlength": "7", "insertorder": "ordered", "insertproportion": "0.2", "scanproportion": "0.5",
		"readmodifywriteproportion": "0.5", "updateproportion": "0.5",
	})
	// dataintegrity makes values known: "use", dXNl in base 64, is the beginning of every key.
	seen := map[string]string{}
	s := w.Stream(0, 1)
	var op Op
	for range 200 {
		s.Next(&op)
		seen[w.Classes()[op.Class].Name] = describeOp(w, &op)
		s.Done(&op, true)
		if len(seen) == 5 {
			break
		}
	}
	for name, check := range map[string][]string{
		"read":              {`find filter={"_id": "user0"} projection={"field1": 1,"field0": 1} limit=1`},
		"update":            {`update {"_id": "user0"} {"$set": {"field`, `"dXNl"`},
		"scan":              {`find filter={"_id": {"$gte": "user0"}} sort={"_id": 1} limit=7`},
		"insert":            {`insert [{"_id": "user`, `"field1": {"$binary"`},
		"read-modify-write": {`rmw-read: find filter={"_id": "user0"} limit=1; rmw-update: update {"_id": "user0"} {"$set"`},
	} {
		for _, part := range check {
			if !strings.Contains(seen[name], part) {
				t.Errorf("%s is %s, without %s", name, seen[name], part)
			}
		}
	}
}

// describeOp shows an operation in one line.
func describeOp(w Workload, op *Op) string {
	var out []string
	for i := range op.Requests {
		req := &op.Requests[i]
		line := ""
		if req.Class != NoClass {
			line = w.Classes()[req.Class].Name + ": "
		}
		out = append(out, line+describeRequest(req))
	}
	return strings.Join(out, "; ")
}

func describeRequest(req *Request) string {
	line := req.Verb.String()
	switch req.Verb {
	case Find:
		line += " filter=" + text(req.Filter)
		if req.Projection != nil {
			line += " projection=" + text(req.Projection)
		}
		if req.Sort != nil {
			line += " sort=" + text(req.Sort)
		}
		if req.Skip > 0 {
			line += fmt.Sprint(" skip=", req.Skip)
		}
		line += fmt.Sprint(" limit=", req.Limit)
	case Insert:
		for _, d := range req.Docs {
			line += " [" + text(d) + "]"
		}
	case Update:
		for _, u := range req.Updates {
			line += " " + text(u.Filter) + " " + text(u.Update)
			if u.Upsert {
				line += " upsert"
			}
		}
	case Aggregate:
		line += " " + typedNumber.ReplaceAllString(bson.RawArray(req.Pipeline).String(), "$1")
	}
	if req.Unordered {
		line += " unordered"
	}
	if req.MayBeEmpty {
		line += " may-be-empty"
	}
	return line
}

func TestProjectionOfOneField(t *testing.T) {
	for _, name := range []string{"ycsb", "core"} {
		w := open(t, name, map[string]string{
			"recordcount": "10", "readallfields": "false", "scanproportion": "1", "readmodifywriteproportion": "1",
		})
		s := w.Stream(0, 1)
		fields := map[string]bool{}
		var op Op
		for range 2000 {
			s.Next(&op)
			if req := &op.Requests[0]; req.Verb == Find {
				names := fieldsOf(t, req.Projection)
				if len(names) != 1 {
					t.Fatalf("%s reads %v, want one field", name, names)
				}
				fields[names[0]] = true
			}
		}
		if len(fields) != 10 {
			t.Errorf("%s: only %d of 10 fields are ever read", name, len(fields))
		}
	}
}

func TestReadAllFieldsByName(t *testing.T) {
	w := open(t, "ycsb-c", map[string]string{"readallfieldsbyname": "TRUE", "fieldcount": "12"})
	var op Op
	w.Stream(0, 1).Next(&op)
	names := fieldNames("field", 12)
	if got, want := strings.Join(fieldsOf(t, op.Requests[0].Projection), " "),
		ordered(names, javaSetOrder(names)); got != want {
		t.Errorf("projection is %s, want %s", got, want)
	}
}

func TestWriteAllFields(t *testing.T) {
	w := open(t, "ycsb-a", map[string]string{"writeallfields": "true", "readproportion": "0"})
	var op Op
	w.Stream(0, 1).Next(&op)
	set := bson.Raw(op.Requests[0].Updates[0].Update).Lookup("$set").Document()
	names := fieldNames("field", 10)
	if got, want := strings.Join(fieldsOf(t, set), " "), ordered(names, javaMapOrder(names, 16)); got != want {
		t.Errorf("fields are %s, want %s", got, want)
	}
}

// Proportions are normalised by their sum, and those that are left out have YCSB's defaults.
func TestProportions(t *testing.T) {
	for _, c := range []struct {
		name   string
		params map[string]string
		want   map[string]float64
	}{
		{"ycsb-a", nil, map[string]float64{"read": .5, "update": .5}},
		{"ycsb-e", nil, map[string]float64{"scan": .95, "insert": .05}},
		{"f", nil, map[string]float64{"read": .5, "read-modify-write": .5}},
		{"ycsb", map[string]string{"insertproportion": "1", "recordcount": "1000"},
			map[string]float64{"read": .475, "update": .025, "insert": .5}},
		{"ycsb", map[string]string{"readproportion": "-1", "recordcount": "9"}, map[string]float64{"update": 1}},
	} {
		w := open(t, c.name, c.params)
		const n = 40_000
		got := map[string]float64{}
		s := w.Stream(0, 1)
		var op Op
		for range n {
			s.Next(&op)
			got[w.Classes()[op.Class].Name] += 1.0 / n
			s.Done(&op, true)
		}
		for name := range maps.Keys(c.want) {
			if d := got[name] - c.want[name]; d > .01 || d < -.01 {
				t.Errorf("%s %v: share of %s is %.3f, want %.3f", c.name, c.params, name, got[name], c.want[name])
			}
		}
		if len(got) != len(c.want) {
			t.Errorf("%s: operations are %v, want %v", c.name, got, c.want)
		}
	}
}

func TestFieldLengths(t *testing.T) {
	for _, name := range []string{"ycsb", "core"} {
		for _, dist := range []string{"uniform", "zipfian"} {
			w := open(t, name, map[string]string{
				"recordcount": "100", "fieldlengthdistribution": dist, "minfieldlength": "5", "fieldlength": "9",
			})
			seen := map[int]int{}
			for seq := range int64(200) {
				_, v := bson.Raw(loadOne(w, seq)).Lookup("field4").Binary()
				seen[len(v)]++
			}
			for n := range seen {
				if n < 5 || n > 9 {
					t.Errorf("%s, %s: length %d", name, dist, n)
				}
			}
			if len(seen) != 5 {
				t.Errorf("%s, %s: lengths are %v, want 5 to 9", name, dist, seen)
			}
			if dist == "zipfian" && seen[5] < 2*seen[9] {
				t.Errorf("%s: zipfian lengths should favour short ones: %v", name, seen)
			}
		}
	}
}

func TestScanLengths(t *testing.T) {
	for _, name := range []string{"ycsb-e", "e"} {
		for _, dist := range []string{"uniform", "zipfian"} {
			w := open(t, name, map[string]string{"scanlengthdistribution": dist, "maxscanlength": "10", "insertproportion": "0"})
			s := w.Stream(0, 1)
			seen := map[int64]int{}
			var op Op
			for range 5000 {
				s.Next(&op)
				seen[op.Requests[0].Limit]++
			}
			if len(seen) != 10 || seen[0] != 0 || seen[11] != 0 {
				t.Errorf("%s, %s: lengths are %v, want 1 to 10", name, dist, seen)
			}
			if dist == "zipfian" && seen[1] < 5*seen[10] {
				t.Errorf("%s: zipfian lengths should favour short scans: %v", name, seen)
			}
		}
	}
}
