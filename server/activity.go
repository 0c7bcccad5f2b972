package server

import (
	"context"
	"errors"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// Activity is what a server has done since it started, as it counts it.
type Activity struct {
	Host string // as the server names itself
	Up   time.Duration
	// Counts are the operations of clients by kind: documents for insert, statements for update and delete, commands for
	// the others. Reads that another member mirrored are among them.
	Counts map[string]float64
	// Reads and Writes are commands of clients with their time, which includes the wait for the write concern. Reads
	// includes getMore. It is unknown if it cannot be told from the reads of replication.
	Reads, Writes Timed
	ReadsUnknown  bool
	// Mirrored are reads that the server sent to other members of its set, to warm their caches. Received are those that
	// it performed for another member, negative if the release does not count them.
	Mirrored, Received float64
	// Replicating are getMores of other members, Continuing those of clients. Replicated are operations that it applied
	// for another member. Commands are all further commands: heartbeats, handshakes, monitoring.
	Replicating, Continuing, Replicated, Commands float64
}

// Timed is a number of commands, and the time of all of them in microseconds.
type Timed struct{ Count, Micros float64 }

// Mean is the mean time of a command, 0 if there was none.
func (t Timed) Mean() time.Duration {
	if t.Count < 1 {
		return 0
	}
	return time.Duration(t.Micros / t.Count * float64(time.Microsecond))
}

// countedAs are the kinds of operations of clients, with the counter of serverStatus. Statements are counted one by one
// in opcounters, commands in metrics.commands.
var countedAs = []struct {
	kind string
	path []string
}{
	{"find", []string{"metrics", "commands", "find", "total"}},
	{"insert", []string{"opcounters", "insert"}},
	{"update", []string{"opcounters", "update"}},
	{"delete", []string{"opcounters", "delete"}},
	{"aggregate", []string{"metrics", "commands", "aggregate", "total"}},
	{"count", []string{"metrics", "commands", "count", "total"}},
	{"distinct", []string{"metrics", "commands", "distinct", "total"}},
	{"findAndModify", []string{"metrics", "commands", "findAndModify", "total"}},
	{"mapReduce", []string{"metrics", "commands", "mapReduce", "total"}},
}

// QueryActivity queries the counters of a mongod or a mongos (serverStatus). From a member that feeds others, the time
// of reads needs top as well, for which the role clusterMonitor is enough.
func QueryActivity(ctx context.Context, c Commander) (Activity, error) {
	cmd := bson.D{{Key: "serverStatus", Value: 1}}
	for _, section := range append([]string{"wiredTiger", "tcmalloc", "flowControl", "locks"}, unread[:]...) {
		if section != "mirroredReads" {
			cmd = append(cmd, bson.E{Key: section, Value: 0})
		}
	}
	status, err := Query(ctx, c, append(cmd, bson.E{Key: "mirroredReads", Value: 1}))
	if err != nil {
		return Activity{}, named("counters of the server (serverStatus)", err)
	}
	if _, ok := Number(status, "opcounters", "query"); !ok {
		return Activity{}, errors.New("the server does not count its operations (opcounters of serverStatus)")
	}
	var top bson.Raw
	if n, _ := Number(status, "metrics", "repl", "network", "oplogGetMoresProcessed", "num"); n > 0 {
		top, _ = query(ctx, c, "top") // without authorization the time of reads is unknown
	}
	return ReadActivity(status, top), nil
}

// ReadActivity reads the answers to serverStatus and, if it was queried, top.
func ReadActivity(status, top bson.Raw) Activity {
	at := func(path ...string) float64 { x, _ := Number(status, path...); return x }
	a := Activity{Host: Text(status, "host"), Up: time.Duration(at("uptimeMillis")) * time.Millisecond,
		Counts: map[string]float64{}, Mirrored: at("mirroredReads", "sent"), Received: -1,
		Commands:    at("opcounters", "command"),
		Replicating: at("metrics", "repl", "network", "oplogGetMoresProcessed", "num"),
		Replicated:  at("opcountersRepl", "insert") + at("opcountersRepl", "update") + at("opcountersRepl", "delete"),
	}
	for _, k := range countedAs {
		a.Counts[k.kind] = at(k.path...)
	}
	for _, kind := range []string{"aggregate", "count", "distinct", "findAndModify", "mapReduce"} {
		a.Commands = max(0, a.Commands-a.Counts[kind])
	}
	if n, ok := Number(status, "mirroredReads", "processedAsSecondary"); ok { // since 6.2
		a.Received = n
	}
	a.Continuing = max(0, at("opcounters", "getmore")-a.Replicating)
	timed := func(class string) Timed {
		return Timed{at("opLatencies", class, "ops"), at("opLatencies", class, "latency")}
	}
	a.Reads, a.Writes = timed("reads"), timed("writes")
	if a.Replicating > 0 {
		a.withoutOplog(top)
	}
	return a
}

// withoutOplog takes the reads of the oplog from the reads, which other members make as clients do.
func (a *Activity) withoutOplog(top bson.Raw) {
	const oplog = "local.oplog.rs"
	if _, ok := Number(top, "totals", oplog, "getmore", "count"); !ok {
		a.ReadsUnknown = true
		return
	}
	for _, class := range []string{"queries", "getmore"} {
		n, _ := Number(top, "totals", oplog, class, "count")
		us, _ := Number(top, "totals", oplog, class, "time")
		a.Reads.Count -= n
		a.Reads.Micros -= us
	}
}

// growing are the counters besides those of kinds.
func (a *Activity) growing() []*float64 {
	return []*float64{&a.Mirrored, &a.Replicating, &a.Continuing, &a.Replicated, &a.Commands, &a.Reads.Count,
		&a.Reads.Micros, &a.Writes.Count, &a.Writes.Micros, &a.Received}
}

// Since returns the activity after an earlier reading of the same server. restarted says that the server was restarted
// in between; then it is the activity since the start.
func (a Activity) Since(before Activity) (grown Activity, restarted bool) {
	if restarted = a.Up < before.Up || a.Host != before.Host; restarted {
		before = Activity{Received: min(0, a.Received)}
	}
	grown = a
	grown.Counts = map[string]float64{}
	for kind, n := range a.Counts {
		grown.Counts[kind] = max(0, n-before.Counts[kind])
	}
	then := before.growing()
	for i, x := range grown.growing() {
		*x = max(0, *x-*then[i])
	}
	if a.Received < 0 {
		grown.Received = -1
	}
	grown.ReadsUnknown = a.ReadsUnknown || before.ReadsUnknown
	return grown, restarted
}

// Add adds what the server did later.
func (a *Activity) Add(later Activity) {
	counts := map[string]float64{}
	for kind, n := range later.Counts {
		counts[kind] = a.Counts[kind] + n
	}
	a.Counts = counts
	then := later.growing()
	for i, x := range a.growing() {
		*x += *then[i]
	}
	if later.Received < 0 {
		a.Received = -1
	}
	a.ReadsUnknown = a.ReadsUnknown || later.ReadsUnknown
}

// Operations is the number of operations of all kinds.
func (a Activity) Operations() (sum float64) {
	for _, k := range countedAs {
		sum += a.Counts[k.kind]
	}
	return sum
}
