// Package capture queries a deployment about the operations and the data of one database: its profiler, $queryStats,
// collections, indexes and a sample of documents. Package workload/recorded makes a workload of the answers.
//
// It changes only the profiler, and only on request. [Profiling] describes how that is undone.
package capture

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/plimsoll-bench/plimsoll/internal/dial"
	"github.com/plimsoll-bench/plimsoll/internal/permit"
	"github.com/plimsoll-bench/plimsoll/server"
	"github.com/plimsoll-bench/plimsoll/workload/recorded"
)

// patience is how long a server may take to answer.
const patience = 10 * time.Second

// Database is one database of a deployment.
type Database struct {
	Name   string
	client *mongo.Client
	routed bool // the address is that of a mongos
}

// Open connects to the deployment at an address. Errors may have credentials.
func Open(ctx context.Context, uri, database string) (*Database, error) {
	if err := permit.Check(ctx, permit.Dial, "the deployment"); err != nil {
		return nil, err
	}
	o, _, err := dial.Options(uri)
	if err != nil {
		return nil, err
	}
	if o.ServerSelectionTimeout == nil {
		o.SetServerSelectionTimeout(patience)
	}
	o.SetAppName(recorded.AppName)
	client, err := mongo.Connect(o)
	if err != nil {
		return nil, err
	}
	d := &Database{Name: database, client: client}
	pinging, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if err := client.Ping(pinging, nil); err != nil {
		d.Close()
		return nil, err
	}
	return d, nil
}

// Close closes the connections.
func (d *Database) Close() {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	_ = d.client.Disconnect(ctx)
}

func (d *Database) db() *mongo.Database { return d.client.Database(d.Name) }

// run runs a command on the database.
func (d *Database) run(ctx context.Context, cmd bson.D) (bson.Raw, error) {
	return d.db().RunCommand(ctx, cmd).Raw()
}

// Router reports whether the address is that of a mongos, which has no profiler.
func (d *Database) Router(ctx context.Context) (bool, error) {
	hello, err := server.QueryHello(ctx, server.Driver(d.client), server.Version{})
	return hello.Router(), err
}

// QueryStats returns the entries of $queryStats.
func (d *Database) QueryStats(ctx context.Context) ([]bson.Raw, error) {
	cursor, err := d.client.Database("admin").Aggregate(ctx, bson.A{bson.D{{Key: "$queryStats", Value: bson.D{}}}})
	var refused mongo.CommandError
	const unknownStage = 40324
	if errors.As(err, &refused) && (refused.Code == unknownStage || refused.Code == 13 || refused.Code == 72) {
		return nil, fmt.Errorf("the server does not answer $queryStats: %s. MongoDB 8.0 has it, and Atlas from 7.0 (M10 and "+
			"larger); the user needs the role clusterMonitor. Otherwise use --from profiler or --from log:FILE", refused.Message)
	}
	if err != nil {
		return nil, err
	}
	var entries []bson.Raw
	err = cursor.All(ctx, &entries)
	return entries, err
}
