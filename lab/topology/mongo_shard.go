package topology

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/plimsoll-bench/plimsoll/lab/engine"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/server"
	"github.com/plimsoll-bench/plimsoll/spec"
)

const (
	// hardTries bounds how often a change of the cluster is tried that is refused for a reason which does not end by itself.
	hardTries = 10
	// tryAgainAfter is how long is waited in between.
	tryAgainAfter = 300 * time.Millisecond
	// commonNamespace is what 'plimsoll run' loads.
	commonNamespace = "plimsoll.usertable"
)

// shard adds the shards and shards the collection, all through one router. What is done already is left as it is.
func (c *mongoCluster) setUpSharding(ctx context.Context, router *engine.MongoNode) error {
	if err := c.defaultConcern(ctx, router); err != nil {
		return err
	}
	if err := c.addShards(ctx, router); err != nil {
		return err
	}
	// The balancer would move chunks while something is measured, and while chunks are moved here.
	if err := router.Command(ctx, engine.AsUser, "admin", bson.D{{Key: "balancerStop", Value: 1}}, nil); err != nil {
		return fmt.Errorf("the balancer does not stop: %w", err)
	}
	if err := c.shardCollection(ctx, router); err != nil {
		return fmt.Errorf("the collection %s is not sharded: %w", c.collection().Namespace, err)
	}
	return c.checkChunks(ctx, router)
}

// collection is the collection to shard, with what was not said.
func (c *mongoCluster) collection() spec.Collection {
	s := spec.Collection{}
	if c.site.Spec.Topology.Collection != nil {
		s = *c.site.Spec.Topology.Collection
	}
	if s.Namespace == "" {
		s.Namespace = commonNamespace
	}
	if s.Key == "" {
		s.Key = "_id"
	}
	if s.Sharding == "" {
		s.Sharding = "hashed"
	}
	if s.Chunks == 0 {
		s.Chunks = 2 * c.site.Spec.Topology.Shards
	}
	return s
}

// shards are the names of the shards, which are those of their replica sets.
func (c *mongoCluster) shards() []string {
	return slices.DeleteFunc(c.sets(), func(s string) bool { return s == mongoConfig })
}

// defaultConcern sets the write concern that each shard has by itself where an arbiter takes part. Since 5.0 a shard
// whose implicit default is w: 1 is refused until the cluster has a default of its own (manual: "Write Concern",
// implicit default; "setDefaultRWConcern").
func (c *mongoCluster) defaultConcern(ctx context.Context, router *engine.MongoNode) error {
	t := c.site.Spec.Topology
	data := dataVotes(t)
	if !t.Arbiter || !c.programs.Version.AtLeast(5, 0) || data > (data+1)/2+1 {
		return nil
	}
	return until(ctx, "setting the cluster's default write concern", func(ctx context.Context) (bool, error) {
		return ended(router), router.Command(ctx, engine.AsUser, "admin", bson.D{{Key: "setDefaultRWConcern", Value: 1},
			{Key: "defaultWriteConcern", Value: bson.D{{Key: "w", Value: int32(1)}}},
			{Key: "writeConcern", Value: majority()}}, nil)
	})
}

// addShards adds the shards that the cluster does not have yet.
func (c *mongoCluster) addShards(ctx context.Context, router *engine.MongoNode) error {
	var have []server.Shard
	if err := until(ctx, "asking "+router.Name()+" for the shards", func(ctx context.Context) (done bool, err error) {
		have, err = server.AskShards(ctx, router.Commander(engine.AsUser))
		return ended(router), err
	}); err != nil {
		return err
	}
	known := map[string]bool{}
	for _, s := range have {
		known[s.Name] = true
	}
	for _, set := range c.shards() {
		if known[set] {
			continue
		}
		if err := retryChange(ctx, "adding "+set, func(ctx context.Context) error {
			return router.Command(ctx, engine.AsUser, "admin", bson.D{{Key: "addShard", Value: c.seeds(set)}, {Key: "name", Value: set}}, nil)
		}); err != nil {
			return err
		}
	}
	c.event("progress", nil, "the cluster has the shards %s", strings.Join(c.shards(), ", "))
	return nil
}

// persist tries a change of the cluster until it works: until the lab's deadline if what is said is a state that ends by
// itself, as config servers and shards have just after an election, and a bounded number of times otherwise.
func retryChange(ctx context.Context, what string, try func(context.Context) error) error {
	for hard := 0; ; {
		one, cancel := context.WithTimeout(ctx, changeLimit)
		err := try(one)
		cancel()
		if err == nil {
			return nil
		}
		if !server.Transient(code(err)) && !mongo.IsNetworkError(err) {
			hard++
		}
		if hard == hardTries {
			return fmt.Errorf("%s failed %d times: %w", what, hard, err)
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s did not happen in time (%w); the last status: %w", what, context.Cause(ctx), err)
		case <-time.After(tryAgainAfter):
		}
	}
}

// shardCollection shards the collection before there is anything in it.
func (c *mongoCluster) shardCollection(ctx context.Context, router *engine.MongoNode) error {
	spec := c.collection()
	if _, err := c.chunks(ctx, router); err == nil {
		return nil // by an earlier start
	} else if !errors.Is(err, errNotSharded) {
		return err
	}
	db, _, _ := strings.Cut(spec.Namespace, ".")
	if !c.programs.Version.AtLeast(6, 0) { // later releases do that by themselves (manual: "enableSharding")
		if err := router.Command(ctx, engine.AsUser, "admin", bson.D{{Key: "enableSharding", Value: db}}, nil); err != nil {
			return err
		}
	}
	var by any = int32(1)
	if spec.Sharding == "hashed" {
		by = "hashed"
	}
	command := bson.D{{Key: "shardCollection", Value: spec.Namespace}, {Key: "key", Value: bson.D{{Key: spec.Key, Value: by}}}}
	// Releases from 7.2 on make one chunk for each shard and have no such option (manual: "shardCollection").
	if spec.Sharding == "hashed" && !c.programs.Version.AtLeast(7, 2) {
		command = append(command, bson.E{Key: "numInitialChunks", Value: int32(spec.Chunks)})
	}
	if err := retryChange(ctx, "sharding "+spec.Namespace, func(ctx context.Context) error {
		return router.Command(ctx, engine.AsUser, "admin", command, nil)
	}); err != nil {
		return err
	}
	if spec.Sharding == "ranged" {
		return c.splitAndMove(ctx, router, spec, db)
	}
	return nil
}

// errNotSharded says that a collection is not known to the cluster.
var errNotSharded = errors.New("the cluster does not know it as sharded")

// found is the answer to find and aggregate.
type cursorReply struct {
	Cursor struct {
		First []bson.Raw `bson:"firstBatch"`
	} `bson:"cursor"`
}

// one reads one document of the cluster's own data (manual: "Config Database").
func findOne(ctx context.Context, router *engine.MongoNode, collection, id string) (bson.Raw, error) {
	var f cursorReply
	err := router.Command(ctx, engine.AsUser, "config", bson.D{{Key: "find", Value: collection},
		{Key: "filter", Value: bson.D{{Key: "_id", Value: id}}}, {Key: "limit", Value: int32(1)}, {Key: "singleBatch", Value: true}}, &f)
	if err != nil || len(f.Cursor.First) == 0 {
		return nil, err
	}
	return f.Cursor.First[0], nil
}

// chunks counts the chunks of the collection by shard. Chunks name their collection by its UUID since 5.0.
func (c *mongoCluster) chunks(ctx context.Context, router *engine.MongoNode) (map[string]int64, error) {
	ns := c.collection().Namespace
	entry, err := findOne(ctx, router, "collections", ns)
	if err != nil {
		return nil, err
	}
	if entry == nil {
		return nil, fmt.Errorf("%s: %w", ns, errNotSharded)
	}
	match := bson.D{{Key: "ns", Value: ns}}
	if c.programs.Version.AtLeast(5, 0) {
		match = bson.D{{Key: "uuid", Value: entry.Lookup("uuid")}}
	}
	var f cursorReply
	err = router.Command(ctx, engine.AsUser, "config", bson.D{{Key: "aggregate", Value: "chunks"}, {Key: "pipeline", Value: bson.A{
		bson.D{{Key: "$match", Value: match}},
		bson.D{{Key: "$group", Value: bson.D{{Key: "_id", Value: "$shard"}, {Key: "n", Value: bson.D{{Key: "$sum", Value: 1}}}}}},
	}}, {Key: "cursor", Value: bson.D{{Key: "batchSize", Value: int32(2 * maxShards)}}}}, &f)
	if err != nil {
		return nil, err
	}
	counts := map[string]int64{}
	for _, d := range f.Cursor.First {
		var of struct {
			Shard string `bson:"_id"`
			N     int64  `bson:"n"`
		}
		if err := bson.Unmarshal(d, &of); err != nil {
			return nil, fmt.Errorf("the chunks of %s cannot be counted: %w", ns, err)
		}
		counts[of.Shard] = of.N
	}
	return counts, nil
}

// checkChunks makes sure that each shard has its part, and says it.
func (c *mongoCluster) checkChunks(ctx context.Context, router *engine.MongoNode) error {
	counts, err := c.chunks(ctx, router)
	if err != nil {
		return err
	}
	spec := c.collection()
	for _, shard := range c.shards() {
		if counts[shard] == 0 {
			return fmt.Errorf("%s has no chunk of %s: %s; a load would miss it", shard, spec.Namespace, countWords(counts))
		}
	}
	made := int64(0)
	for _, n := range counts {
		made += n
	}
	if made != int64(spec.Chunks) {
		c.event("progress", nil, "%s has %d chunks and not %d: mongod %s decides that itself", spec.Namespace, made, spec.Chunks, c.programs.Version)
	}
	c.event("progress", map[string]string{"namespace": spec.Namespace}, "%s is sharded by %s (%s): %s",
		spec.Namespace, spec.Key, spec.Sharding, countWords(counts))
	return nil
}

// countWords is "shard1 has 2 chunks, shard2 has 2".
func countWords(counts map[string]int64) string {
	var words []string
	for i, shard := range slices.Sorted(maps.Keys(counts)) {
		unit := ""
		if i == 0 {
			unit = " chunks"
		}
		words = append(words, fmt.Sprintf("%s has %d%s", shard, counts[shard], unit))
	}
	return strings.Join(words, ", ")
}

// Sharding is how the collection is spread.
func (c *mongoCluster) Sharding(ctx context.Context) (*record.LabSharding, error) {
	routers := c.routers()
	if len(routers) == 0 {
		return nil, nil
	}
	ctx, cancel := bounded(ctx, commandTimeout)
	defer cancel()
	spec := c.collection()
	var all error
	for _, n := range routers {
		if !n.Status().Running || n.IsPaused() {
			all = errors.Join(all, fmt.Errorf("%s does not run", n.Name()))
			continue
		}
		one, cancel := context.WithTimeout(ctx, commandTimeout)
		counts, err := c.chunks(one, n)
		cancel()
		if err == nil {
			return &record.LabSharding{Namespace: spec.Namespace, Key: spec.Key, Chunks: counts}, nil
		}
		all = errors.Join(all, err)
	}
	return nil, fmt.Errorf("no router says how %s is spread: %w", spec.Namespace, all)
}
