package own

import (
	"math"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/plimsoll-bench/plimsoll/workload"
)

const evenFile = `
name: even
collections:
  - name: items
    count: 400
    document:
      a: {$choose: {of: [x, y], even: true}}
      b: {$choose: {of: [x, y], even: true}}
      n: {$int: {min: 0, max: 9, even: true}}
      d: {$double: {min: 10, max: 20, even: true}}
      t: {$date: {min: 2026-01-01, max: 2026-01-02, even: true}}
      tags: {$array: {of: {$choose: {of: [p, q, r], even: true}}, count: 3}}
      at: {$geo: {lon: {min: 0, max: 1}, lat: {min: 0, max: 1}, even: true}}
      name: {$string: {size: 6, begins: 20, begin: 2}}
operations:
  - find: items
    filter:
      a: {$choose: {of: [x, none], weights: [2, 1], even: true}}
      n: {$gte: {$int: {min: 0, max: 9, even: true}}}
      name: {$pattern: {begins: 20, begin: 2}}
`

// TestEven counts values that are spread evenly: each has its share, two fields are independent, and so are the
// elements of an array.
func TestEven(t *testing.T) {
	p := plan(t, evenFile)
	counts := map[string]int{}
	var sum, quarter float64
	for i := range int64(400) {
		doc := p.Document("items", i)
		text := func(key ...string) string { return doc.Lookup(key...).StringValue() }
		counts["a "+text("a")]++
		counts["ab "+text("a")+text("b")]++
		counts["tags "+text("tags", "0")+text("tags", "1")]++
		counts["begin "+text("name")[:2]]++
		counts["n "+doc.Lookup("n").String()]++
		sum += doc.Lookup("d").Double()
		if at := doc.Lookup("at", "coordinates").Array(); at.Index(0).Double() < 0.5 && at.Index(1).Double() < 0.5 {
			quarter++
		}
	}
	for what, want := range map[string]int{"a x": 200, "ab xx": 100, "ab xy": 100, "ab yx": 100, "begin aa": 20, "begin at": 20,
		"tags pp": 44, "tags pq": 44, "tags rp": 44} {
		if math.Abs(float64(counts[what]-want)) > 0.12*float64(want)+2 {
			t.Errorf("%s: %d, want %d", what, counts[what], want)
		}
	}
	if math.Abs(sum/400-15) > 0.05 || math.Abs(quarter-100) > 5 {
		t.Errorf("mean %v, %v places in a quarter", sum/400, quarter)
	}
}

// TestEvenOperations has in 30 operations of each worker the shares of thousands, and other values in each worker.
func TestEvenOperations(t *testing.T) {
	p := plan(t, evenFile)
	firsts := map[string]bool{}
	for worker := range 8 {
		stream := p.Stream(worker, 8)
		var op workload.Op
		missed, bounds := 0, 0
		for range 30 {
			stream.Next(&op)
			filter := bson.Raw(op.Requests[0].Filter)
			if filter.Lookup("a").StringValue() == "none" {
				missed++
			}
			bounds += int(filter.Lookup("n", "$gte").Int32())
			stream.Done(&op, true)
		}
		stream.Next(&op)
		firsts[bson.Raw(op.Requests[0].Filter).String()] = true
		if missed < 9 || missed > 11 || bounds < 120 || bounds > 150 {
			t.Errorf("worker %d: %d of 30 find nothing, the sum of the bounds is %d", worker, missed, bounds)
		}
	}
	if len(firsts) < 6 {
		t.Errorf("only %d of 8 workers differ", len(firsts))
	}
}
