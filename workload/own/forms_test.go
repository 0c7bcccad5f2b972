package own

import (
	"strings"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/plimsoll-bench/plimsoll/workload"
)

// forms has DBRefs, places, patterns, ranges, and collections that are no plain ones.
const forms = `
name: forms
collections:
  - name: users
    count: 40
    document: {_id: {$sequence: {prefix: u}}, group: {$sequence: {start: 5, modulo: 4}}}
  - name: items
    count: 200
    document:
      owner: {$ref: users, $id: {$ref: users}}
      elsewhere: {$array: {of: {$ref: users, $id: 7, $db: other}, count: 1}}
      name: {$string: {size: 8, begins: 20, begin: 2}}
      loc: {$geo: {lon: {min: 10, max: 11}, lat: {min: 50, max: 51}}}
      area: {$geo: {type: Polygon, lon: 10, lat: 89.9, radius: 1, points: 5}}
      way: {$geo: {type: LineString, points: 3}}
      at: {$date: {min: 2026-01-01, max: 2026-01-02}}
    capped: {size: 1MiB, max: 1000}
    collation: {locale: de}
  - {name: readings, document: {t: {$date: now}, m: a}, time_series: {time: t, meta: m, granularity: seconds, expire_after: 1h}}
  - {name: shown, view: {on: items, pipeline: [{$match: {name: x}}]}}
operations:
  - {name: range, weight: 1, let: {low: {$date: {min: 2026-01-01, max: 2026-01-02}}}, find: items,
     filter: {at: {$gte: {$var: low}, $lt: {$calc: low + 3600000}}}}
  - {name: pattern, weight: 1, find: items, filter: {name: {$pattern: {begins: 20, begin: 2, options: i}}}}
  - {name: several, weight: 1, find: users, filter: {_id: {$in: {$array: {of: {$ref: users}, count: 30, distinct: true}}}}}
  - {name: same, weight: 1, findOne: users, filter: {_id: {$ref: users}, group: {$ref: {to: users, field: group, same: true}}}}
  - {name: view, weight: 1, find: shown}
  - {name: feed, watch: items, pipeline: [{$match: {operationType: {$choose: [update, insert]}}}], full_document: updateLookup}
`

func TestForms(t *testing.T) {
	p := plan(t, forms)
	doc := func(collection string, n int64) bson.Raw { return p.Document(collection, n) }
	for n := range int64(200) {
		item := doc("items", n)
		id := item.Lookup("owner", "$id").StringValue()
		if item.Lookup("owner", "$ref").StringValue() != "users" || !strings.HasPrefix(id, "u") {
			t.Fatalf("the DBRef of %v", item)
		}
		if db := item.Lookup("elsewhere", "0", "$db"); db.StringValue() != "other" {
			t.Fatalf("the DBRef of %v", item)
		}
		ring, _ := item.Lookup("area", "coordinates", "0").Array().Values()
		if len(ring) != 6 || !ring[0].Equal(ring[5]) {
			t.Fatalf("the ring of %v is not closed", item)
		}
		for _, at := range ring {
			if lat, _ := at.Array().IndexErr(1); lat.Double() > 90 {
				t.Fatalf("a latitude of %v", ring)
			}
		}
		if lon, _ := item.Lookup("loc", "coordinates").Array().IndexErr(0); lon.Double() < 10 || lon.Double() > 11 {
			t.Fatalf("the place %v", item)
		}
		if group := doc("users", n%40).Lookup("group").Int64(); group != 5+n%4 {
			t.Fatalf("group %d of user %d", group, n)
		}
	}
}

// TestCreations compiles what a server must be told to make.
func TestCreations(t *testing.T) {
	p := plan(t, forms)
	made := map[string]string{}
	for _, c := range p.Creations() {
		b, err := bson.MarshalExtJSON(bson.Raw(rawDocument(c.Options)), false, false)
		if err != nil {
			t.Fatal(err)
		}
		made[c.Collection] = string(b)
	}
	for name, want := range map[string]string{"items": `{"capped":true,"size":1048576,"max":1000,"collation":{"locale":"de"}}`,
		"readings": `{"timeseries":{"timeField":"t","metaField":"m","granularity":"seconds"},"expireAfterSeconds":3600}`,
		"shown":    `{"viewOn":"items","pipeline":[{"$match":{"name":"x"}}]}`} {
		if made[name] != want {
			t.Errorf("%s is created with %s, want %s", name, made[name], want)
		}
	}
	if strings.Contains(strings.Join(p.Collections(), " "), "shown") {
		t.Error("a view is among the collections")
	}
}

// TestFormsOfOperations makes ranges, patterns, lists and change streams.
func TestFormsOfOperations(t *testing.T) {
	p := plan(t, forms)
	doc := func(collection string, n int64) bson.Raw { return p.Document(collection, n) }
	s, choose := p.Chosen(1, 2)
	var op workload.Op
	next := func(n int) bson.Raw {
		choose(n)
		s.Next(&op)
		return op.Requests[0].Filter
	}
	finds := 0.0
	for range 50 {
		at := next(0)
		if width := at.Lookup("at", "$lt").DateTime() - at.Lookup("at", "$gte").DateTime(); width != 3600000 {
			t.Fatalf("the range %v has %d ms", at, width)
		}
		pattern, options := next(1).Lookup("name").Regex()
		if !strings.HasPrefix(pattern, "^") || options != "i" {
			t.Fatalf("the pattern %s/%s", pattern, options)
		}
		for n := range int64(200) {
			if strings.HasPrefix(doc("items", n).Lookup("name").StringValue(), pattern[1:]) {
				finds += 1.0 / 50
			}
		}
		list, _ := next(2).Lookup("_id", "$in").Array().Values()
		seen := map[string]bool{}
		for _, v := range list {
			seen[v.StringValue()] = true
		}
		if len(seen) != 30 {
			t.Fatalf("%d of 30 values differ", len(seen))
		}
		same := next(3)
		id := same.Lookup("_id").StringValue()
		for n := range int64(40) {
			if u := doc("users", n); u.Lookup("_id").StringValue() == id && !u.Lookup("group").Equal(same.Lookup("group")) {
				t.Fatalf("%v has values of two documents", same)
			}
		}
	}
	if finds < 6 || finds > 14 {
		t.Errorf("a pattern with one of 20 begins finds %.1f of 200 texts", finds)
	}
	reader := p.Stream(0, 2)
	reader.Next(&op)
	first := string(op.Requests[0].Pipeline)
	for range 20 {
		if reader.Next(&op); string(op.Requests[0].Pipeline) != first || op.Requests[0].FullDocument != "updateLookup" {
			t.Fatal("a reader opens another stream")
		}
	}
}

// TestFormErrors has what no server would take.
func TestFormErrors(t *testing.T) {
	const tail = "\noperations:\n  - {find: c, weight: 1}\n"
	for text, want := range map[string]string{
		"{name: c, capped: {size: 0}}":                                           "capped needs a size",
		"{name: c, capped: {size: 1MiB}, view: {on: c}}":                         "exclude each other",
		"{name: c, view: {on: d}}":                                               `the view is on "d", which the file does not have`,
		"{name: c, count: 1, document: {a: 1}, view: {on: c}}":                   "a view has no count",
		"{name: c, time_series: {time: a.b}}":                                    "time_series needs time",
		"{name: c, view: {on: c, pipeline: [{$match: {a: {$int: 5}}}]}}":         "without generators",
		"{name: c, count: 1, document: {a: {$geo: {lat: 95}}}}":                  "not a range from -90 to 90",
		"{name: c, count: 1, document: {a: {$geo: {type: Polygone}}}}":           "did you mean Polygon?",
		"{name: c, count: 1, document: {a: {$geo: {type: Polygon, points: 2}}}}": "has from 3 to 10000 points",
		"{name: c, count: 1, document: {a: {$pattern: {begins: 30, begin: 1}}}}": "there are no 30 different begins of 1 letters",
		"{name: c, count: 1, document: {a: {$pattern: {options: I}}}}":           "options of $pattern",
		"{name: c, count: 1, document: {a: {$ref: c, b: 1}}}":                    "b is next to the generator $ref",
		"{name: c, count: 1, document: {a: {$ref: c, $id: 1, $int: 5}}}":         "next to the generator $ref",
		"{name: c, count: 1, document: {a: {$sequence: {modulo: -1}}}}":          "modulo of $sequence is -1",
	} {
		_, err := Open(workload.Spec{Text: "name: x\ncollections:\n  - " + text + tail, Seed: 1})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s\ngave %v, want %s", text, err, want)
		}
	}
	_, err := Open(workload.Spec{Text: strings.Replace(forms, "find: shown", "delete: shown", 1), Seed: 1})
	if err == nil || !strings.Contains(err.Error(), "shown is a view, and a view takes no delete") {
		t.Errorf("a delete in a view gave %v", err)
	}
}
