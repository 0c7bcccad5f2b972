package server

import (
	"context"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// unread are large or expensive sections of serverStatus that Plimsoll does not use.
var unread = [...]string{
	"mirroredReads", "sharding", "shardingStatistics", "storageEngine", "transactions", "hedgingMetrics",
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

// Diagnostics is the last sample of a server's diagnostic data. The server collects one in each full second of its
// clock anyway, so reading them costs it less than [QueryStatistics].
type Diagnostics struct {
	Taken  time.Time // clock of the server
	Status bson.Raw  // serverStatus; nil if the server collects no diagnostic data
	Set    bson.Raw  // replSetGetStatus; nil if it is not a member of a set
	Host   bson.Raw  // systemMetrics: processors, memory, disks and network of its machine; nil if it is not Linux
}

// QueryDiagnostics queries a server's diagnostic data (getDiagnosticData), for which few users are authorized.
func QueryDiagnostics(ctx context.Context, c Commander) (Diagnostics, error) {
	reply, err := query(ctx, c, "getDiagnosticData")
	return ReadDiagnostics(reply), err
}

// ReadDiagnostics reads the answer to getDiagnosticData. 8.0 and later may have parts below the role that they belong
// to.
func ReadDiagnostics(reply bson.Raw) Diagnostics {
	part := func(name string) bson.Raw {
		for _, role := range []string{"common", "shard", "router"} {
			if d, ok := lookup(reply, "data", role, name).DocumentOK(); ok {
				return d
			}
		}
		d, _ := lookup(reply, "data", name).DocumentOK()
		return d
	}
	d := Diagnostics{Taken: date(reply, "data", "start"), Status: part("serverStatus"), Set: part("replSetGetStatus"),
		Host: part("systemMetrics")}
	if d.Taken.IsZero() {
		d.Taken = date(d.Status, "localTime")
	}
	return d
}
