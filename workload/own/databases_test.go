package own

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plimsoll-bench/plimsoll/workload"
)

// aggregating is a file with one aggregate of a pipeline in flow style.
func aggregating(pipeline string) string {
	return "name: x\ncollections:\n  - {name: c, count: 3, document: {a: {$int: 5}}}\n" +
		"operations:\n  - {name: o, weight: 1, let: {v: 1}, aggregate: c, pipeline: " + pipeline + "}\n"
}

// The databases that a pipeline names are known, wherever it names them. Pipelines of the own database name none.
func TestDatabasesOfPipelines(t *testing.T) {
	for pipeline, want := range map[string]string{
		"[{$merge: {into: {db: production, coll: users}}}]":                                "$merge production",
		"[{$match: {a: 1}}, {$out: {db: production, coll: users}}]":                        "$out production",
		"[{$out: {db: 12, coll: users}}]":                                                  "$out 12",
		"[{$lookup: {from: {db: production, coll: users}, as: x, pipeline: []}}]":          "$lookup production",
		"[{$graphLookup: {from: {db: p, coll: u}, as: x}}]":                                "$graphLookup p",
		"[{$unionWith: {db: p, coll: u}}]":                                                 "$unionWith p",
		"[{$unionWith: {coll: u, pipeline: [{$unionWith: {coll: v, db: p}}]}}]":            "$unionWith p",
		"[{$facet: {one: [{$lookup: {from: {db: p, coll: u}, as: x}}]}}]":                  "$lookup p",
		"[{$facet: {$choose: [{one: [{$lookup: {from: {db: p, coll: u}, as: x}}]}]}}]":     "$lookup p",
		"[{$lookup: {from: u, as: x, pipeline: [{$unionWith: {coll: v, db: p}}]}}]":        "$unionWith p",
		"[{$choose: [{$match: {}}, {$out: {db: p, coll: u}}]}]":                            "$out p",
		"[{$optional: {value: {$merge: {into: {db: p, coll: u}}}}}]":                       "$merge p",
		"{$choose: [[{$match: {}}], [{$merge: {into: {db: p, coll: u}}}]]}":                "$merge p",
		"[{$lookup: {from: {db: p, coll: u}, as: x}}, {$merge: {into: {db: q, coll: u}}}]": "$lookup p, $merge q",
		"[{$group: {_id: $a}}, {$merge: {into: sums, on: _id, whenMatched: replace}}]":     "",
		"[{$merge: sums}]":                 "",
		"[{$merge: {into: {coll: sums}}}]": "",
		"[{$out: production.users}]":       "", // the whole text is the name of a collection
		"[{$match: {db: production, a: {$var: v}}}, {$limit: {$int: {min: 1, max: 3}}}]":     "",
		"[{$lookup: {from: d, as: db, let: {db: {$var: v}}, pipeline: [{$match: {b: 1}}]}}]": "",
		"[{$facet: {db: [{$match: {a: 1}}], pipeline: [{$count: db}]}}]":                     "",
		"[{$choose: [{$sort: {a: 1}}, {$sort: {a: -1}}]}]":                                   "",
	} {
		w, err := Open(workload.Spec{Text: aggregating(pipeline), Seed: 1})
		if err != nil {
			t.Errorf("%s: %v", pipeline, err)
			continue
		}
		var got []string
		for _, n := range w.(workload.Naming).Databases() {
			if n.Class != "o" {
				t.Errorf("%s: %+v", pipeline, n)
			}
			got = append(got, n.Stage+" "+n.Database)
		}
		if diff := cmp.Diff(want, strings.Join(got, ", ")); diff != "" {
			t.Errorf("%s: %s", pipeline, diff)
		}
	}
}

// A stage, and a name of a collection or database, that only an answer or a draw knows is refused, because no check can
// say where it leads.
func TestUnknownPlaces(t *testing.T) {
	for _, pipeline := range []string{
		"[{$var: v}]", "{$var: v}", "[{$choose: [{$match: {}}, {$var: v}]}]", "[{$facet: {a: {$var: v}}}]", "[{$facet: {$var: v}}]",
		"[{$unionWith: {coll: u, pipeline: {$var: v}}}]", "[{$lookup: {from: {$var: v}, as: x, pipeline: []}}]",
		"[{$lookup: {$var: v}}]", "[{$unionWith: {$var: v}}]", "[{$merge: {into: {db: {$choose: [a, b]}, coll: u}}}]",
		"[{$merge: {into: {$var: v}}}]", "[{$merge: {$var: v}}]", "[{$out: {$var: v}}]", "[{$out: {s3: {bucket: x}}}]",
		"[{$merge: {into: {atlas: {db: p, coll: u}}}}]", "[{$out: {db: {$numberLong: '1'}, coll: u}}]",
	} {
		_, err := Open(workload.Spec{Text: aggregating(pipeline), Seed: 1})
		if err == nil || !strings.Contains(err.Error(), "line 5") {
			t.Errorf("%s: %v", pipeline, err)
		}
	}
}

// A file has no command that renames or copies collections into another database.
func TestNoOtherCommands(t *testing.T) {
	for _, command := range []string{"renameCollection", "cloneCollection", "copydb", "runCommand", "mapReduce"} {
		text := strings.Replace(aggregating("[]"), "aggregate: c, pipeline: []", command+": c, to: production.c", 1)
		if _, err := Open(workload.Spec{Text: text, Seed: 1}); err == nil {
			t.Errorf("%s is a command of workload files", command)
		}
	}
}
