package own

import (
	"strings"
	"testing"

	"github.com/plimsoll-bench/plimsoll/workload"
)

// Each error names its line, what is wrong, and where there is one the nearest right word.
func TestErrors(t *testing.T) {
	const head = "name: x\ncollections:\n  - name: c\n    count: 10\n    document:\n"
	const tail = "\noperations:\n  - {find: c, weight: 1}\n"
	doc := func(field string) string { return head + "      " + field + tail }
	op := func(text string) string {
		return head + "      a: {$int: 5}\noperations:\n  - " + text + "\n"
	}
	for text, want := range map[string]string{
		doc("a: {$itn: 5}"):                                              "line 6: there is no generator $itn, did you mean $int?",
		doc("a: {$int: {maximum: 5}}"):                                   `line 6: unknown key "maximum" in $int`,
		doc("a: {$int: {min: 5, max: 1}}"):                               "line 6: $int: max (1) is less than min (5)",
		doc("a: {$int: x}"):                                              `line 6: max of $int: "x" is not a whole number`,
		doc("a: {$zipf: d}"):                                             `line 6: $zipf refers to the collection "d", which the file does not have`,
		doc("a: {$calc: b + 1}"):                                         "line 6: $calc \"b + 1\": there is no field or variable b before it",
		doc("a: {$calc: (1 + 2}"):                                        "a ) is missing",
		doc("a: {$format: \"{b}\"}"):                                     `line 6: there is no field "b" before this one`,
		doc("a: {$var: b}"):                                              "line 6: there is no variable b here",
		doc("a: {$int: 5, b: 1}"):                                        "line 6: b is next to the generator $int",
		doc("a: {b: 1, $int: 5}"):                                        "line 6: $int is next to other fields",
		doc("a: {$date: yesterday}"):                                     `"yesterday" is not a date`,
		doc("a: {$choose: []}"):                                          "$choose needs a list of values",
		doc("a: {$bool: 150%}"):                                          "share of $bool is 1.5: it must be from 0 to 100%",
		doc("a: {$ref: {to: c, keys: ziff}}"):                            `unknown keys "ziff", did you mean zipf?`,
		doc("a: {$ref: {to: c, field: b}}"):                              `a reference needs the field "b" of collection c`,
		doc("a: 1\n      a: 2"):                                          "a",
		op("{find: d, weight: 1}"):                                       `line 8: find-d: there is no collection "d" in the file, did you mean c?`,
		op("{find: c, aggregate: c, weight: 1}"):                         "line 8: operation  has the commands find and aggregate",
		op("{find: c, with: {a: 1}, weight: 1}"):                         "line 8: find-c has the key with, which find does not take here",
		op("{update: c, weight: 1}"):                                     "an update needs with",
		op("{update: c, with: {a: 1}, weight: 1}"):                       "with has no operator such as $set. Use replace",
		op("{find: c, weight: 0}\n  - {insert: c}"):                      "no operation has a weight above 0",
		op("{transaction: [{watch: c}], weight: 1}"):                     "watch cannot be a step here",
		op("{transaction: [{find: c, read_concern: local}], weight: 1}"): "read_concern belongs to the transaction",
		op("{aggregate: c, pipeline: [{$merge: {into: d}}], read_preference: nearest, weight: 1}"): "line 8: an aggregate with $out or $merge goes to the primary",
		op("{aggregate: c, pipeline: [{$out: {db: x, coll: {$var: d}}}], weight: 1}"):              "variable d",
		op("{aggregate: c, pipeline: [{$limit: 1}], write_concern: {w: 1}, weight: 1}"):            "write_concern is for an aggregate that ends with $out or $merge",
		op("{transaction: [{aggregate: c, pipeline: [{$out: d}]}], weight: 1}"):                    "a transaction cannot have an aggregate with $out or $merge",
		op("{transaction: [{insert: c}], write_concern: {w: 0}, weight: 1}"):                       "w: 0 is not possible",
		op("{update: c, with: {$inc: {a: 1}}, write_concern: {w: 0, journal: true}, weight: 1}"):   "exclude each other",
	} {
		_, err := Open(workload.Spec{Text: text, Seed: 1})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s\n%v\nwant %s", text, err, want)
		}
	}
}
