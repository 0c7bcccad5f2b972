package store

import (
	"context"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/plimsoll-bench/plimsoll/server"
)

// Observer is implemented by stores whose servers say how they are. Its calls share a connection with the
// other administrative commands of the store, so who watches while others load opens a store of its own.
type Observer interface {
	// ServerStatus asks the primary or a router for its statistics (the command serverStatus).
	ServerStatus(ctx context.Context) (bson.Raw, error)
	// ReplicaStatus asks for the members of the replica set as the primary sees them (replSetGetStatus). A
	// server that is not a member refuses it with a [*ServerError].
	ReplicaStatus(ctx context.Context) (bson.Raw, error)
}

// statusCommand leaves out the sections of serverStatus that are large or costly and that nobody here reads.
var statusCommand = bson.D{
	{Key: "serverStatus", Value: 1}, {Key: "locks", Value: 0}, {Key: "mirroredReads", Value: 0}, {Key: "sharding", Value: 0}, {Key: "shardingStatistics", Value: 0}, {Key: "storageEngine", Value: 0},
	{Key: "transactions", Value: 0}, {Key: "hedgingMetrics", Value: 0}, {Key: "latchAnalysis", Value: 0}, {Key: "security", Value: 0}, {Key: "defaultRWConcern", Value: 0},
	{Key: "oplogTruncation", Value: 0}, {Key: "transportSecurity", Value: 0}, {Key: "freeMonitoring", Value: 0}, {Key: "readConcernCounters", Value: 0},
}

// ServerStatus asks a server for its statistics.
func ServerStatus(ctx context.Context, c Commander) (bson.Raw, error) {
	return server.Ask(ctx, c, statusCommand)
}

// ReplicaStatus asks a server for the members of its replica set.
func ReplicaStatus(ctx context.Context, c Commander) (bson.Raw, error) {
	return server.Ask(ctx, c, bson.D{{Key: "replSetGetStatus", Value: 1}})
}
