package shards

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/plimsoll-bench/plimsoll/internal/wait"
	"github.com/plimsoll-bench/plimsoll/server"
)

// ErrHasData refuses to shard a collection that has documents.
var ErrHasData = errors.New("it has documents on one shard")

// Spread shards an empty collection by the hash of its _id, with chunks on every shard. It does not change a sharded
// collection or the balancer.
func Spread(ctx context.Context, c server.Commander, database, collection string) error {
	ctx, cancel := context.WithTimeout(ctx, arrangeAtMost)
	defer cancel()
	m, err := Read(ctx, c, database, []string{collection})
	if err != nil {
		return err
	}
	if m.Collections[collection].Sharded || len(m.Shards) < 2 {
		return nil
	}
	if some, err := holdsAny(ctx, c, database, collection); err != nil {
		return err
	} else if some {
		return fmt.Errorf("%s.%s: %w", database, collection, ErrHasData)
	}
	// Not needed since 6.0, and without effect there (manual: "enableSharding").
	if err := WhenFree(ctx, c, bson.D{{Key: "enableSharding", Value: database}}); err != nil && !unknownCommand(err) {
		return fmt.Errorf("enable sharding of the database %s: %w", database, err)
	}
	command := bson.D{
		{Key: "shardCollection", Value: database + "." + collection}, {Key: "key", Value: bson.D{{Key: "_id", Value: "hashed"}}},
	}
	chunks := bson.E{Key: "numInitialChunks", Value: int32(2 * len(m.Shards))}
	err = WhenFree(ctx, c, append(slices.Clone(command), chunks))
	// 7.2 and later make one chunk for each shard (manual: "shardCollection").
	if err != nil && strings.Contains(err.Error(), "numInitialChunks") {
		err = WhenFree(ctx, c, command)
	}
	if err != nil {
		return fmt.Errorf("shard %s.%s: %w", database, collection, err)
	}
	if m, err = Read(ctx, c, database, []string{collection}); err != nil {
		return err
	}
	if on := m.On(collection); len(on) < len(m.Shards) {
		return fmt.Errorf("%s.%s is sharded but has chunks on %s only, of %s; a load would not use the others",
			database, collection, strings.Join(on, ", "), strings.Join(m.Shards, ", "))
	}
	return nil
}

func holdsAny(ctx context.Context, c server.Commander, database, collection string) (bool, error) {
	reply, err := server.QueryDB(ctx, c, database, bson.D{{Key: "find", Value: collection}, {Key: "filter", Value: bson.D{}},
		{Key: "limit", Value: int32(1)}, {Key: "singleBatch", Value: true}})
	if err != nil {
		return false, err
	}
	list, _ := reply.Lookup("cursor", "firstBatch").ArrayOK()
	values, err := list.Values()
	return len(values) > 0, err
}

// patience is the longest time for which [WhenFree] retries.
const patience = 30 * time.Second

// WhenFree runs an administrative command and retries it while the cluster is busy: just after an election, or during
// another change of the same kind. Only ctx limits the command itself: a chunk may take minutes to move.
func WhenFree(ctx context.Context, c server.Commander, command bson.D) error {
	retries, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		_, err := server.Query(ctx, c, command)
		if err == nil || !busy(err) {
			return err
		}
		if wait.Sleep(retries, 300*time.Millisecond) != nil {
			return err
		}
	}
}

// busyErrors are the names of temporary errors (the server's list of error codes).
var busyErrors = []string{
	"ConflictingOperationInProgress", "FailedToSatisfyReadPreference", "LockBusy", "LockTimeout", "NotWritablePrimary",
	"NotMaster", "NotPrimaryNoSecondaryOk", "InterruptedDueToReplStateChange", "PrimarySteppedDown",
	"NamespaceNotSharded", "StaleConfig", "StaleDbVersion",
}

func busy(err error) bool {
	return slices.ContainsFunc(busyErrors, func(name string) bool { return strings.Contains(err.Error(), name) })
}

func unknownCommand(err error) bool { return strings.Contains(err.Error(), "CommandNotFound") }
