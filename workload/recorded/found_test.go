package recorded

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// profiled makes the entry of a profile for a read or a statement of a write.
func profiled(op, command, more string) string {
	return fmt.Sprintf(`{"op": %q, "ns": "shop.items", "command": %s, "ts": {"$date": "2026-03-01T10:00:00Z"}, "millis": 1%s}`+"\n",
		op, command, more)
}

// itemsOf are documents of the collection items, of which each has another number and one of ten names.
func itemsOf(t *testing.T, n int, more string) *Collection {
	d := &Documents{}
	at := time.Date(2026, 3, 1, 10, 0, 0, 0, time.UTC)
	for i := range n {
		d.Add(document(t, fmt.Sprintf(`{"_id": %d, "amt": %d, "name": "c%02d%04d", "state": "%c", "tags": ["a"]%s}`, i, i, i%10, i, 'a'+i%4, more)), at)
	}
	return &Collection{Database: "shop", Name: "items", Documents: d, Count: int64(n)}
}

// TestRecordedShapes holds what is made of single operations against what was recorded: each needle is a part of the
// file, and none of the others is.
func TestRecordedShapes(t *testing.T) {
	ten := `, "nreturned": 10, "docsExamined": 10, "planSummary": "IXSCAN { amt: 1 }"`
	for _, c := range []struct {
		name, entries string
		documents     string // further fields of the sample; "-" for no sample
		want, not     []string
	}{
		{"a range keeps its length", profiled("query", `{"find": "items", "filter": {"amt": {"$gte": 20, "$lt": 30}}, "$db": "shop"}`, ten) +
			profiled("query", `{"find": "items", "filter": {"amt": {"$gte": 90, "$lt": 100}}, "$db": "shop"}`, ten), "",
			[]string{"$gte: {$var: low} $lt: {$calc: low + 10}", "low: {$long: {min: 20, max: 90, even: true}}", "amt: {$sequence: {start: 0}}"}, nil},
		{"an anchor stays", profiled("query", `{"find": "items", "filter": {"name": {"$regularExpression": {"pattern": "^c01", "options": ""}}}, "$db": "shop"}`,
			strings.ReplaceAll(ten, "10", "20")), "", []string{"name: {$pattern: {begins: 10, begin: 3}}", "begins: 10"}, []string{"anywhere"}},
		{"no anchor stays none", profiled("query", `{"find": "items", "filter": {"name": {"$regex": "C01", "$options": "i"}}, "$db": "shop"}`,
			strings.ReplaceAll(ten, "10", "20")), "", []string{"anywhere: true, options: i"}, nil},
		{"a list keeps its length", profiled("query", `{"find": "items", "filter": {"_id": {"$in": [1, 2, 3]}}, "skip": 1, "batchSize": 2, "$db": "shop"}`, ten), "",
			[]string{"count: 3, distinct: true", "skip: 1", "1 batchSize"}, nil},
		{"a count keeps skip and limit", profiled("command", `{"count": "items", "query": {"amt": {"$gt": 5}}, "skip": 2, "limit": 9, "$db": "shop"}`, ""), "",
			[]string{"skip: 2", "limit: 9"}, nil},
		{"a replacement has its own fields", profiled("update", `{"q": {"_id": 1}, "u": {"amt": 7}, "multi": false, "upsert": false}`, `, "nMatched": 1`), "",
			[]string{"with: amt: {$int: {min: 0, max: 199}} recorded"}, nil},
		{"a pushed document is an element", profiled("update", `{"q": {"_id": 1}, "u": {"$push": {"addr": {"street": "x"}}}, "multi": false}`, `, "nMatched": 1`),
			`, "addr": [{"street": "y"}]`, []string{"{$push: {addr: {street: v1"}, nil},
		{"operators imply arrays", profiled("update", `{"q": {"_id": 1}, "u": {"$push": {"a": 1}, "$addToSet": {"b.c": "x"}, "$pop": {"e": 1}}}`, `, "nMatched": 1`) +
			profiled("update", `{"q": {"_id": 1}, "u": {"$push": {"f": {"$each": ["x"], "$slice": -5}}, "$pull": {"g": "x"}}}`, `, "nMatched": 1`), "-",
			[]string{"a: {$array", "c: {$array", "e: {$array", "f: {$array", "g: {$array", "$slice: -5"}, nil},
		{"DBRefs", profiled("query", `{"find": "items", "filter": {"owner": {"$ref": "items", "$id": 3}}, "limit": 1, "singleBatch": true, "$db": "shop"}`, ten),
			`, "owner": {"$ref": "items", "$id": 3}`, []string{"owner: $ref: items $id: {$zipf: items}", "owner: {$ref: {to: items, field: owner}}"}, nil},
		{"places", profiled("query", `{"find": "items", "filter": {"loc": {"$near": {"$geometry": {"type": "Point", "coordinates": [13.5, 52.5]}, "$maxDistance": 900}}}, "limit": 5, "$db": "shop"}`,
			`, "nreturned": 5, "planSummary": "GEO_NEAR_2DSPHERE { loc: \"2dsphere\" }"`), `, "loc": {"type": "Point", "coordinates": [13.5, 52.5]}`,
			[]string{"loc: {$geo: {type: Point", "$near: {$geometry: {$geo: {type: Point", "$maxDistance: 900", "loc: 2dsphere"}, nil},
		{"fields of change events are no data", profiled("getmore", `{"getMore": 77, "collection": "items", "$db": "shop"}`,
			`, "originatingCommand": {"aggregate": "items", "pipeline": [{"$changeStream": {"fullDocument": "updateLookup"}}, {"$match": {"operationType": "update", "fullDocument.amt": 5}}], "cursor": {}, "$db": "shop"}`) +
			profiled("query", `{"find": "items", "filter": {"_id": 1}, "$db": "shop"}`, ten), "",
			[]string{"operationType: update", "full_document: updateLookup", "1 were read", "readers: 1"}, nil},
		{"computed fields are not stored", profiled("command", `{"aggregate": "items", "pipeline": [{"$addFields": {"twice": {"$multiply": ["$amt", 2]}}}, {"$match": {"twice": {"$gt": 100}, "amt": {"$gt": 50}}}], "cursor": {}, "$db": "shop"}`, ten), "-",
			[]string{"amt: {$int"}, []string{"twice: {$int", "twice: 100 ", "twice: {$sequence"}},
		{"collections that are looked up exist", profiled("command", `{"aggregate": "items", "pipeline": [{"$lookup": {"from": "others", "localField": "amt", "foreignField": "k", "as": "o"}}], "cursor": {}, "$db": "shop"}`, ten), "",
			[]string{"name: others"}, nil},
		{"a hint has its index", profiled("query", `{"find": "items", "filter": {"amt": 5}, "hint": "by_amount", "$db": "shop"}`, ten), "",
			[]string{"hint: by_amount", "name: by_amount keys: amt: 1"}, nil},
		{"tags and tailable cursors are listed", profiled("query", `{"find": "items", "filter": {}, "tailable": true, "$readPreference": {"mode": "secondary", "tags": [{"dc": "a"}]}, "$db": "shop"}`, ten), "",
			[]string{"1 tags of the read preference, 1 tailable", "read_preference: secondary"}, nil},
		{"a view", strings.ReplaceAll(profiled("query", `{"find": "cheap", "filter": {"amt": 5}, "$db": "shop"}`, ten+
			`, "resolvedViews": [{"viewNamespace": "shop.cheap", "dependencyChain": ["cheap", "items"], "resolvedPipeline": [{"$match": {"state": "a"}}]}]`), "shop.items", "shop.cheap"), "",
			[]string{"find: cheap", "view: 'on': items", "name: items"}, nil},
		{"more deletes than inserts", profiled("remove", `{"q": {"_id": 1}, "limit": 1}`, `, "ndeleted": 1`) +
			strings.ReplaceAll(profiled("remove", `{"q": {"_id": 1}, "limit": 1}`, `, "ndeleted": 1`), "10:00:00", "10:00:10"), "",
			[]string{"$sequential: items", "last for about"}, nil},
		{"a third finds nothing", strings.Repeat(profiled("query", `{"find": "items", "filter": {"_id": 1}, "limit": 1, "singleBatch": true, "$db": "shop"}`, `, "nreturned": 1`), 20) +
			strings.Repeat(profiled("query", `{"find": "items", "filter": {"_id": 1000}, "limit": 1, "singleBatch": true, "$db": "shop"}`, `, "nreturned": 0`), 10), "",
			[]string{"_id: {$choose: {of: [{$ref: items}", "weights: [0.667, 0.333]"}, nil},
		{"transactions are counted", profiled("query", `{"find": "items", "filter": {"_id": 1}, "lsid": {"id": 1}, "txnNumber": {"$numberLong": "2"}, "autocommit": false, "startTransaction": true, "$db": "shop"}`, ten) +
			profiled("query", `{"find": "items", "filter": {"_id": 1}, "lsid": {"id": 1}, "txnNumber": {"$numberLong": "2"}, "autocommit": false, "$db": "shop"}`, ten) +
			profiled("query", `{"find": "items", "filter": {"_id": 1}, "lsid": {"id": 1}, "txnNumber": {"$numberLong": "3"}, "autocommit": false, "$db": "shop"}`, ten), "",
			[]string{"(3 operations, 0 commits or aborts, of at least 2 transactions)"}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := modelOf(t, Options{}, Read(strings.NewReader(c.entries)))
			src := Source{Name: "shop", From: "test", Database: "shop"}
			if c.documents != "-" {
				src.Collections = []*Collection{itemsOf(t, 200, c.documents)}
			}
			text := encode(t, fileOf(t, m, src))
			line := strings.Join(strings.Fields(text), " ")
			for _, want := range c.want {
				if !strings.Contains(line, want) {
					t.Errorf("the file does not have %q", want)
				}
			}
			for _, not := range c.not {
				if strings.Contains(line, not) {
					t.Errorf("the file has %q", not)
				}
			}
			if t.Failed() {
				t.Log(text)
			}
		})
	}
}

// TestKindsOfCollections describes what listCollections says of collections that are no plain ones.
func TestKindsOfCollections(t *testing.T) {
	var collections []*Collection
	entries := ""
	for name, options := range map[string]string{"ring": `{"capped": true, "size": 9999872, "max": 50}`,
		"series": `{"timeseries": {"timeField": "t", "metaField": "m", "granularity": "seconds"}, "expireAfterSeconds": 60}`,
		"german": `{"collation": {"locale": "de", "strength": 1, "version": "57.1"}}`} {
		entries += strings.ReplaceAll(profiled("query", fmt.Sprintf(`{"find": %q, "filter": {}, "$db": "shop"}`, name), ""), "shop.items", "shop."+name)
		c := itemsOf(t, 20, `, "t": {"$date": "2026-01-01T00:00:00Z"}, "m": 1`)
		c.Name, c.Options = name, document(t, options)
		collections = append(collections, c)
	}
	m := modelOf(t, Options{}, Read(strings.NewReader(entries)))
	f := fileOf(t, m, Source{Name: "s", Database: "shop", Collections: collections})
	line := strings.Join(strings.Fields(encode(t, f)), " ")
	for _, want := range []string{"capped: size: 9999872B max: 50", "time_series: time: t meta: m granularity: seconds expire_after: 1m",
		"collation: locale: de strength: 1"} {
		if !strings.Contains(line, want) {
			t.Errorf("the file does not have %q:\n%s", want, line)
		}
	}
}

// TestVerify compares what operations found: equal figures are not told, others are, with both.
func TestVerify(t *testing.T) {
	found := func(n int, docs int64, plan string) *Model {
		m := NewModel(Options{})
		cmd, _ := bson.Marshal(bson.D{{Key: "find", Value: "c"}, {Key: "filter", Value: bson.D{{Key: "a", Value: 1}}}})
		for range n {
			m.Add(&Operation{Time: time.Unix(1, 0), Database: "d", Collection: "c", Verb: "find", Command: cmd, Count: 1,
				Docs: docs, Examined: docs, Plan: plan, Results: true})
		}
		return m
	}
	same := Verify(found(10, 10, "IXSCAN { a: 1 }"), "d", found(40, 10, "IXSCAN { a: 1 }"), "d", false)
	if len(same) != 1 || len(same[0].Differs) > 0 {
		t.Errorf("the same operations: %+v", same)
	}
	for name, other := range map[string]*Model{"12, recorded 10": found(10, 12, "IXSCAN { a: 1 }"), "100 % found nothing": found(10, 0, "IXSCAN { a: 1 }"),
		"plan COLLSCAN, recorded IXSCAN { a: 1 }": found(10, 10, "COLLSCAN"), "it was not replayed": NewModel(Options{})} {
		got := Verify(found(10, 10, "IXSCAN { a: 1 }"), "d", other, "d", false)
		if len(got) != 1 || !strings.Contains(strings.Join(got[0].Differs, "; "), name) {
			t.Errorf("want %q: %+v", name, got)
		}
	}
	smaller := Verify(found(10, 10, "IXSCAN { a: 1 }"), "d", found(10, 3, "IXSCAN { a: 1 }"), "d", true)
	if len(smaller[0].Differs) > 0 {
		t.Errorf("fewer documents of fewer are told: %+v", smaller)
	}
}
