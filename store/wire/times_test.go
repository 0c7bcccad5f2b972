package wire

import (
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/plimsoll-bench/plimsoll/store"
	"github.com/plimsoll-bench/plimsoll/workload"
)

// TestServerTimes finds the time of an operation and that of a snapshot in the replies, in the order of numbers.
func TestServerTimes(t *testing.T) {
	n := newNetwork(t)
	n.add("a:1", &fake{hello: standalone, answer: func(c *call) any {
		at := bson.E{Key: "operationTime", Value: bson.Timestamp{T: 9, I: 3}}
		if c.name != "find" {
			return bson.D{{Key: "n", Value: 1}, {Key: "ok", Value: 1.0}, at}
		}
		return bson.D{{Key: "cursor", Value: bson.D{{Key: "firstBatch", Value: bson.A{bson.D{{Key: "_id", Value: 1}}}},
			{Key: "id", Value: int64(0)}, {Key: "ns", Value: "d.c"}, {Key: "atClusterTime", Value: bson.Timestamp{T: 8, I: 4}}}},
			{Key: "ok", Value: 1.0}, at}
	}})
	s, end := n.session(store.Config{Target: "mongodb://a:1/"})
	defer end()
	var res store.Result
	for verb, snapshot := range map[workload.Verb]uint64{workload.Find: 8<<32 | 4, workload.Insert: 0} {
		s.Do(time.Now().Add(10*time.Second), &workload.Request{Verb: verb, Collection: "c", Filter: emptyDocument,
			Docs: [][]byte{emptyDocument}}, &res)
		if res.Outcome != store.OK || res.OperationTime != 9<<32|3 || res.SnapshotTime != snapshot {
			t.Errorf("%v: %+v", verb, res)
		}
	}
}
