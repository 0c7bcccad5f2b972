package own

import (
	"fmt"
	"strings"
	"testing"

	"github.com/plimsoll-bench/plimsoll/workload"
)

// A template of some hundred bytes must not make a document of gigabytes: sizes multiply in arrays, double in fields
// that repeat others, and add up.
func TestTooLargeDocuments(t *testing.T) {
	doubled := "a0: {x: {$string: 1000}}"
	fixed := "a0: {x: 0123456789}"
	for i := range 30 {
		field := fmt.Sprintf("\n      a%d: {x: {$field: a%d.x}, y: {p: {$field: a%[2]d.x}, q: {$field: a%[2]d.x}}}", i+1, i)
		doubled += strings.ReplaceAll(field, "a"+fmt.Sprint(i)+".x", pick(i, "a0.x", fmt.Sprintf("a%d.y", i)))
		fixed += fmt.Sprintf("\n      a%d: {p: {$field: a%d}, q: {$field: a%[2]d}}", i+1, i)
	}
	nested := func(counts ...int) string {
		text := "{$string: 10}"
		for _, n := range counts {
			text = fmt.Sprintf("{$array: {of: %s, count: %d}}", text, n)
		}
		return text
	}
	for name, x := range map[string]struct{ doc, operation, want string }{
		"nested arrays": {"a: {b: " + nested(1000, 1000, 1000) + "}", "find: c",
			"line 6: the $array at a.b can have 2"},
		"arrays in choices": {"a: {$array: {of: {$choose: [1, " + nested(5000) + "]}, count: 5000}}", "find: c",
			"line 6: the $array at a can have"},
		"a sum of texts":  {"a: {$string: 10000000}\n      b: {$string: 10000000}", "find: c", "the document can have 19"},
		"an array of few": {"a: [{$string: 10000000}, {$binary: 10000000}]", "find: c", "the array at a can have 19"},
		"words":           {"a: {$words: {count: 10000000}}", "find: c", "the document can have"},
		"repeated fields": {doubled, "find: c", "can have"},
		"repeated fixed":  {fixed, "find: c", "can have"},
		"a filter":        {"a: 1", "find: c, filter: {a: " + nested(10000, 10000) + "}", "the $array at a can have"},
		"a batch":         {"a: {$string: 1000000}", "insert: c, batch: 100000", "are too large for one insert"},
		"a batch of its own": {"a: 1", "insert: c, batch: 100000, document: {a: {$string: 1000000}}",
			"are too large for one insert"},
		"a bulk": {"a: 1", "bulkWrite: c, writes: [{filter: {}, update: {$set: {a: 2}}, times: 9000000000000000}]",
			"more than 100000 writes"},
	} {
		text := "name: x\ncollections:\n  - name: c\n    count: 10\n    document:\n      " + x.doc +
			"\noperations:\n  - {" + x.operation + ", weight: 1}\n"
		_, err := Open(workload.Spec{Text: text, Seed: 1})
		if err == nil || !strings.Contains(err.Error(), x.want) {
			t.Errorf("%s:\n%v\nwant %s", name, err, x.want)
		}
	}
}

func pick(i int, first, other string) string {
	if i == 0 {
		return first
	}
	return other
}

// Documents near the limit are made, and no value is larger than it says.
func TestSizesHold(t *testing.T) {
	const text = `
name: x
collections:
  - name: c
    count: 3
    document:
      _id: {$sequence: {prefix: number-, digits: 12}}
      int: {$int: 5}
      long: {$long: 5}
      double: {$double: 2}
      decimal: {$decimal: 5}
      bool: {$bool: 50%}
      text: {$string: {size: {min: 1, max: 20}}}
      few: {$string: {size: 7, values: 3}}
      words: {$words: {count: {min: 1, max: 9}}}
      date: {$date: {min: 2020-01-01}}
      id: {$objectId: {}}
      uuid: {$uuid: {}}
      binary: {$binary: 30}
      choice: {$choose: [1, long text, {a: {$string: 40}}]}
      array: {$array: {of: {a: {$string: 5}, b: [1, {$int: 2}]}, count: {min: 0, max: 12}}}
      maybe: {$optional: {value: {$string: 5}}}
      again: {$field: words}
      sum: {$calc: int * 2}
      line: {$format: "{text} and {int}, {double}, {date}, {id}, {binary} {n}"}
      other: {$ref: d}
  - name: d
    count: 5
    document: {large: {$string: 16000000}}
operations:
  - {insert: c, batch: 2, weight: 1}
`
	w, err := Open(workload.Spec{Text: text, Seed: 7, Clients: 1})
	if err != nil {
		t.Fatal(err)
	}
	p := w.(*Plan)
	for _, k := range p.collections {
		e, largest := p.newEnv(0, 1), 0
		for n := range int64(2000) {
			if k.name == "d" && n > 0 {
				break
			}
			largest = max(largest, len(k.append(nil, e, n)))
		}
		if most := k.doc.most(); int64(largest) > most || int64(largest) < most/2 {
			t.Errorf("the largest document of %s has %d bytes, and its template says at most %d", k.name, largest, most)
		}
	}
}
