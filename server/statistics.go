package server

import (
	"context"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// unread are the sections of serverStatus that are large or costly and that nobody here reads.
var unread = [...]string{
	"locks", "mirroredReads", "sharding", "shardingStatistics", "storageEngine", "transactions", "hedgingMetrics",
	"latchAnalysis", "security", "defaultRWConcern", "oplogTruncation", "transportSecurity", "freeMonitoring",
	"readConcernCounters",
}

// AskStatistics asks a server for its statistics (serverStatus), with what can change from second to second. Package
// run/observe reads them.
func AskStatistics(ctx context.Context, c Commander) (bson.Raw, error) {
	cmd := bson.D{{Key: "serverStatus", Value: 1}}
	for _, section := range unread {
		cmd = append(cmd, bson.E{Key: section, Value: 0})
	}
	return Ask(ctx, c, cmd)
}

// AskDiagnostics asks a server for what it keeps of itself and of its machine (getDiagnosticData). Few users may.
func AskDiagnostics(ctx context.Context, c Commander) (bson.Raw, error) {
	return ask(ctx, c, "getDiagnosticData")
}
