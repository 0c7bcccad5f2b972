package recorded

import (
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// ReadQueryStats reads one entry of $queryStats (MongoDB 8.0, Atlas from 7.0). Its command has types instead of values
// already, and its Count is the number of executions since the entry was created. Time is when the shape was first
// seen.
func ReadQueryStats(entry bson.Raw) (Operation, error) {
	var op Operation
	if entry.Validate() != nil {
		return op, Damaged
	}
	shape, ok := entry.Lookup("key", "queryShape").DocumentOK()
	metrics, counted := entry.Lookup("metrics").DocumentOK()
	name, named := shape.Lookup("command").StringValueOK()
	if !ok || !counted || !named {
		return op, Foreign
	}
	op.Database, _ = shape.Lookup("cmdNs", "db").StringValueOK()
	op.Collection, _ = shape.Lookup("cmdNs", "coll").StringValueOK()
	op.Verb, op.Count = canonical(name), number(metrics, "execCount")
	if _, ok := verbs[op.Verb]; !ok {
		return op, OtherCommand
	}
	if err := op.internal(); err != nil {
		return op, err
	}
	if op.Count > 0 {
		op.Duration = time.Duration(number(metrics, "totalExecMicros", "sum")/op.Count) * time.Microsecond
		op.Docs = number(metrics, "docsReturned", "sum") / op.Count
	}
	if op.Time, _ = metrics.Lookup("firstSeenTimestamp").TimeOK(); !op.datable() {
		return op, Damaged
	}
	cmd := bson.D{{Key: op.Verb, Value: op.Collection}}
	elements, err := shape.Elements()
	if err != nil {
		return op, Damaged
	}
	for _, e := range elements {
		if key := e.Key(); key != "cmdNs" && key != "command" {
			cmd = append(cmd, bson.E{Key: key, Value: e.Value()})
		}
	}
	for _, key := range []string{"readConcern", "$readPreference", "hint"} {
		if v, err := entry.LookupErr("key", key); err == nil {
			cmd = append(cmd, bson.E{Key: key, Value: v})
		}
	}
	if op.Command, err = bson.Marshal(cmd); err != nil {
		return op, err
	}
	return op, op.stay()
}
