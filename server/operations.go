package server

import (
	"context"
	"fmt"
	"strings"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// Operation is what a server performs for a client, as $currentOp shows it (manual: "$currentOp (aggregation)").
type Operation struct {
	Command   string // the name of the command, or the kind of operation
	Namespace string
	Shard     string // if a router tells of it
	Lasts     time.Duration
	// Waits is what it waits for, as far as the server tells: "a lock", "flow control", or the message of the server.
	Waits string
}

// mostOperations bounds the answer of [QueryOperations].
const mostOperations = 50

// QueryOperations returns the operations that a server performs for clients with a name (appName). Of a router, these
// are its own, or those of the shards for it. The query needs no privilege, because it asks for operations of the own
// user only.
func QueryOperations(ctx context.Context, c Commander, app string, ofShards bool) ([]Operation, error) {
	about := bson.D{}
	if !ofShards {
		about = bson.D{{Key: "localOps", Value: true}}
	}
	reply, err := Query(ctx, c, bson.D{{Key: "aggregate", Value: 1}, {Key: "pipeline", Value: bson.A{
		bson.D{{Key: "$currentOp", Value: about}},
		bson.D{{Key: "$match", Value: bson.D{{Key: "active", Value: true}, {Key: "$or", Value: bson.A{
			bson.D{{Key: "appName", Value: app}},
			bson.D{{Key: "clientMetadata.application.name", Value: app}}}}}}},
		bson.D{{Key: "$limit", Value: mostOperations}},
	}}, {Key: "cursor", Value: bson.D{}}})
	if err != nil {
		return nil, err
	}
	var all []Operation
	for _, v := range list(reply, "cursor", "firstBatch") {
		if d, ok := v.DocumentOK(); ok {
			all = append(all, readOperation(d))
		}
	}
	return all, nil
}

func readOperation(d bson.Raw) Operation {
	o := Operation{Command: Text(d, "op"), Namespace: Text(d, "ns"), Shard: Text(d, "shard"), Waits: Text(d, "msg")}
	if command, ok := lookup(d, "command").DocumentOK(); ok {
		if first, err := command.IndexErr(0); err == nil {
			o.Command = first.Key()
		}
	}
	if us, ok := Number(d, "microsecs_running"); ok {
		o.Lasts = time.Duration(us) * time.Microsecond
	}
	switch {
	case isTrue(Flag(d, "waitingForLock")):
		o.Waits = "a lock"
	case isTrue(Flag(d, "waitingForFlowControl")):
		o.Waits = "flow control"
	}
	return o
}

// String is "find plimsoll.usertable on shard1 for 38 s, waiting for a lock".
func (o Operation) String() string {
	text := strings.TrimSpace(o.Command + " " + o.Namespace)
	if o.Shard != "" {
		text += " on " + o.Shard
	}
	text += fmt.Sprintf(" for %.0f s", o.Lasts.Seconds())
	if o.Waits != "" {
		text += ", waiting for " + o.Waits
	}
	return text
}
