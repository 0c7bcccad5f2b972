//go:build !race

package e2e

import (
	"fmt"
	"strconv"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/google/go-cmp/cmp"

	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/record"
)

// clients are the MongoDB clients.
var clients = []string{"wire", "driver"}

// For all workloads in this file.
const (
	records    = 500
	operations = 300
	batch      = 100 // documents per insert of the location workload
)

// workloadCase is a workload with the expected data in the database.
type workloadCase struct {
	name       string
	set        []string // parameters
	collection string
	shape      shape
	indexes    map[string]string // by name, the keys as extended JSON
	perInsert  int64             // documents
	classes    []string          // expected operations
}

// coreShape is the record of YCSB with a given order of fields.
func coreShape(value string, order ...int) shape {
	s := shape{fields: "_id:string", text: map[string]string{"_id": `^user[0-9]{1,19}$`}, bytes: [2]int{1100, 1200}}
	for _, i := range order {
		name := "field" + strconv.Itoa(i)
		s.fields += " " + name + ":binData(0)100"
		s.text[name] = value
	}
	return s
}

// The fields of the original are in the order of Java's HashMap, and their values in YCSB's alphabet.
func originalShape() shape  { return coreShape(`^[ -\x7f]{100}$`, 1, 0, 7, 6, 9, 8, 3, 2, 5, 4) }
func correctedShape() shape { return coreShape(`(?s)^.*$`, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9) }

func personShape() shape {
	return shape{
		fields: "_id:objectId firstName:string lastName:string _class:string",
		text:   map[string]string{"firstName": `^\pL+$`, "lastName": `^\pL+$`, "_class": `^hello\.Person$`},
		bytes:  [2]int{70, 140},
	}
}

func locationShape() shape {
	return shape{
		fields: "_id:objectId name:string kind:string " +
			"address:{street:string city:string zip:string country:string} geo:{type:string coordinates:[double]} " +
			"tags:[string] phone:string opened:date rating:double reviews:int active:bool description:string",
		text: map[string]string{"address.street": `^[0-9]+ \S+ \S+$`, "address.city": `^\pL`, "address.zip": `^[0-9]{5}$`,
			"geo.type": `^Point$`, "phone": `^\+[0-9]{2}-[0-9]{9}$`},
		lengths: map[string][2]int{"geo.coordinates": {2, 2}, "tags": {3, 3}},
		bytes:   [2]int{350, 650},
	}
}

func catalogShape() shape {
	return shape{
		fields: "_id:string name:string brand:string category:string price:double description:string tags:[string] " +
			"attributes:{color:string material:string weight:int} variants:[{sku:string size:string price:double stock:int}] " +
			"stock:{available:int reserved:int warehouse:string} reviews:{count:int rating:double}",
		text:    map[string]string{"_id": `^product-[0-9]{12,}$`},
		lengths: map[string][2]int{"tags": {3, 5}, "variants": {2, 4}},
		bytes:   [2]int{500, 1200},
	}
}

func workloadCases() []workloadCase {
	classes := map[string][]string{
		"a": {"read", "update"}, "d": {"insert", "read"}, "e": {"insert", "scan"},
		"f": {"read", "read-modify-write", "rmw-read", "rmw-update"},
	}
	var cases []workloadCase
	for _, letter := range []string{"a", "d", "e", "f"} { // b and c are a with other shares
		for _, prefix := range []string{"", "ycsb-"} {
			c := workloadCase{name: prefix + letter, collection: "usertable", perInsert: 1, classes: classes[letter],
				shape: correctedShape()}
			if prefix != "" {
				c.shape = originalShape()
			}
			cases = append(cases, c)
		}
	}
	return append(cases,
		workloadCase{name: "core", collection: "usertable", perInsert: 1, shape: correctedShape(),
			set:     []string{"readproportion=0.4", "updateproportion=0.2", "insertproportion=0.2", "scanproportion=0.1", "readmodifywriteproportion=0.1"},
			classes: []string{"insert", "read", "read-modify-write", "rmw-read", "rmw-update", "scan", "update"}},
		workloadCase{name: "person", collection: "person", perInsert: 1, shape: personShape(), set: []string{"insertproportion=4"},
			classes: []string{"insert", "list", "list-count", "list-find"}},
		workloadCase{name: "location", collection: "location", perInsert: batch, shape: locationShape(),
			set:     []string{fmt.Sprintf("batchsize=%d", batch)},
			indexes: map[string]string{"address.city_1": `{"address.city":1}`},
			classes: []string{"find-by-city", "insert"}},
		workloadCase{name: "catalog", collection: "product", perInsert: 1, shape: catalogShape(), set: []string{"aggregateproportion=0.1"},
			indexes: map[string]string{"tags_1": `{"tags":1}`, "category_1_price_1": `{"category":1,"price":1}`},
			classes: []string{"aggregate", "find-by-price", "find-by-tag", "insert", "read", "update-stock"}},
	)
}

// TestWorkloads loads and runs workloads with both clients.
func TestWorkloads(t *testing.T) {
	inTurn(t, 35)
	forEachServer(t, func(t *testing.T, s *server) {
		for _, c := range workloadCases() {
			t.Run(c.name, func(t *testing.T) {
				loaded := map[string][]bson.Raw{}
				for _, client := range clients {
					t.Run(client, func(t *testing.T) { loaded[client] = c.test(t, s, client) })
				}
				sameDocuments(t, loaded["wire"], loaded["driver"], "loaded through wire and driver")
			})
		}
	})
}

// test loads and runs a workload and returns the loaded documents.
func (c workloadCase) test(t *testing.T, s *server, client string) []bson.Raw {
	db := newDatabase(c.name, client)
	args := []string{"run", s.uri, "--database", db, "--client", client, "--workload", c.name, "--records", strconv.Itoa(records),
		"--threads", "4", "--seed", "7", "--batch", "60", "--quiet"}
	for _, param := range c.set {
		args = append(args, "--set", param)
	}
	plimsoll(t, append(args, "--load", "only")...).must(t, 0)
	loaded := s.dump(t, db, c.collection)
	if len(loaded) != records {
		t.Fatalf("%d documents are loaded, not %d", len(loaded), records)
	}
	c.shape.check(t, loaded)
	c.checkIndexes(t, s, db)

	r := plimsoll(t, append(args, "--operations", strconv.Itoa(operations), "--format", "json")...).measured(t)
	if f := r.Fill; f == nil || f.Records != records || f.Present != records || f.Counted != records || f.Inserted != 0 {
		t.Errorf("the second call found the data as %+v", f)
	}
	inserted := c.checkResult(t, r)
	docs := s.dump(t, db, c.collection)
	if want := records + inserted*int(c.perInsert); len(docs) != want {
		t.Errorf("%d documents after %d inserts of %d, not %d", len(docs), inserted, c.perInsert, want)
	}
	distinctIDs(t, docs)
	c.shape.check(t, docs)
	return loaded
}

// checkResult checks the sums of a result and returns the number of inserts.
func (c workloadCase) checkResult(t *testing.T, r *record.Run) (inserts int) {
	t.Helper()
	p := r.Phase("measure")
	if p == nil || r.Status != record.Complete {
		t.Fatalf("status %s, phases %+v", r.Status, r.Phases)
	}
	all := measure.Tally{Attempted: operations, Succeeded: operations}
	if diff := cmp.Diff(all, p.Counts); diff != "" || len(p.Failures) != 0 {
		t.Errorf("counts (-want +got):\n%sfailures: %v", diff, p.Failures)
	}
	var sum int64
	var classes []string
	for _, k := range p.Classes {
		classes = append(classes, k.Name)
		if want := map[string]int64{"ok": k.Counts.Succeeded}; !cmp.Equal(k.Outcomes, want) {
			t.Errorf("%s has outcomes %v", k.Name, k.Outcomes)
		}
		if !k.Part {
			sum += k.Counts.Succeeded
		}
	}
	if sum != operations {
		t.Errorf("the classes have %d operations together, not %d", sum, operations)
	}
	if diff := cmp.Diff(c.classes, sorted(classes)); diff != "" {
		t.Errorf("operation classes (-want +got):\n%s", diff)
	}
	for _, name := range []string{"read", "update", "insert"} {
		if k := p.Class(name); k != nil && k.Attempts != k.Counts.Succeeded {
			t.Errorf("%d commands were sent for %d times %s", k.Attempts, k.Counts.Succeeded, name)
		}
	}
	for _, name := range []string{"read", "rmw-read"} {
		if k := p.Class(name); k != nil && k.Documents != k.Counts.Succeeded {
			t.Errorf("%d documents came back from %d times %s", k.Documents, k.Counts.Succeeded, name)
		}
	}
	if k := p.Class("insert"); k != nil {
		if k.Documents != k.Counts.Succeeded*c.perInsert {
			t.Errorf("%d inserts have %d documents, not %d each", k.Counts.Succeeded, k.Documents, c.perInsert)
		}
		inserts = int(k.Counts.Succeeded)
	}
	return inserts
}

func (c workloadCase) checkIndexes(t *testing.T, s *server, db string) {
	t.Helper()
	specs, err := s.client.Database(db).Collection(c.collection).Indexes().ListSpecifications(deadline(t))
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"_id_": `{"_id":1}`}
	for name, keys := range c.indexes {
		want[name] = keys
	}
	got := map[string]string{}
	for _, spec := range specs {
		var keys bson.D
		if err := bson.Unmarshal(spec.KeysDocument, &keys); err != nil {
			t.Fatal(err)
		}
		b, err := bson.MarshalExtJSON(keys, false, false)
		if err != nil {
			t.Fatal(err)
		}
		got[spec.Name] = string(b)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("indexes (-want +got):\n%s", diff)
	}
}
