package server

import (
	"context"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// unread are large or expensive sections of serverStatus that Plimsoll does not use.
var unread = [...]string{
	"locks", "mirroredReads", "sharding", "shardingStatistics", "storageEngine", "transactions", "hedgingMetrics",
	"latchAnalysis", "security", "defaultRWConcern", "oplogTruncation", "transportSecurity", "freeMonitoring",
	"readConcernCounters",
}

// QueryStatistics queries the statistics of a server (serverStatus) that change from second to second.
func QueryStatistics(ctx context.Context, c Commander) (bson.Raw, error) {
	cmd := bson.D{{Key: "serverStatus", Value: 1}}
	for _, section := range unread {
		cmd = append(cmd, bson.E{Key: section, Value: 0})
	}
	return Query(ctx, c, cmd)
}

// QueryDiagnostics queries a server's diagnostic data about itself and its machine (getDiagnosticData), for which few
// users are authorized.
func QueryDiagnostics(ctx context.Context, c Commander) (bson.Raw, error) {
	return query(ctx, c, "getDiagnosticData")
}
