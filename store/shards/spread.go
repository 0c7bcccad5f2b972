package shards

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/plimsoll-bench/plimsoll/server"
)

// ErrHasData says that a collection is not sharded and holds documents, so that it cannot be spread any more.
var ErrHasData = errors.New("it holds documents and lies on one shard")

// Spread shards a collection by the hash of its _id, with chunks on every shard, before there is anything in it. One
// that is sharded already is left as it is. The balancer is left alone.
func Spread(ctx context.Context, c server.Commander, database, collection string) error {
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
	// Not needed since 6.0, where it does no harm (manual: "enableSharding").
	if err := whenFree(ctx, c, bson.D{{Key: "enableSharding", Value: database}}); err != nil && !unknownCommand(err) {
		return fmt.Errorf("the database %s cannot be sharded: %w", database, err)
	}
	command := bson.D{{Key: "shardCollection", Value: database + "." + collection}, {Key: "key", Value: bson.D{{Key: "_id", Value: "hashed"}}}}
	err = whenFree(ctx, c, append(slices.Clone(command), bson.E{Key: "numInitialChunks", Value: int32(2 * len(m.Shards))}))
	// 7.2 and later make one chunk for each shard (manual: "shardCollection")
	if err != nil && strings.Contains(err.Error(), "numInitialChunks") {
		err = whenFree(ctx, c, command)
	}
	if err != nil {
		return fmt.Errorf("%s.%s cannot be sharded: %w", database, collection, err)
	}
	if m, err = Read(ctx, c, database, []string{collection}); err != nil {
		return err
	}
	if on := m.On(collection); len(on) < len(m.Shards) {
		return fmt.Errorf("%s.%s is sharded and has chunks on %s only, of %s; a load would miss the others",
			database, collection, strings.Join(on, ", "), strings.Join(m.Shards, ", "))
	}
	return nil
}

// holdsAny says whether a collection has a document.
func holdsAny(ctx context.Context, c server.Commander, database, collection string) (bool, error) {
	reply, err := server.AskOf(ctx, c, database, bson.D{{Key: "find", Value: collection}, {Key: "filter", Value: bson.D{}},
		{Key: "limit", Value: int32(1)}, {Key: "singleBatch", Value: true}})
	if err != nil {
		return false, err
	}
	list, _ := reply.Lookup("cursor", "firstBatch").ArrayOK()
	values, err := list.Values()
	return len(values) > 0, err
}

// whenFree runs an administrative command, again for as long as the cluster says that it is busy with something else:
// just after an election, or beside another change of the same kind.
func whenFree(ctx context.Context, c server.Commander, command bson.D) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		_, err := server.Ask(ctx, c, command)
		if err == nil || !busy(err) {
			return err
		}
		select {
		case <-time.After(300 * time.Millisecond):
		case <-ctx.Done():
			return err
		}
	}
}

// busy are the names of errors that pass (the server's list of error codes).
func busy(err error) bool {
	for _, name := range []string{"ConflictingOperationInProgress", "FailedToSatisfyReadPreference", "LockBusy", "LockTimeout", "NotWritablePrimary", "NotMaster",
		"NotPrimaryNoSecondaryOk", "InterruptedDueToReplStateChange", "PrimarySteppedDown", "NamespaceNotSharded", "StaleConfig", "StaleDbVersion"} {
		if strings.Contains(err.Error(), name) {
			return true
		}
	}
	return false
}

func unknownCommand(err error) bool { return strings.Contains(err.Error(), "CommandNotFound") }
