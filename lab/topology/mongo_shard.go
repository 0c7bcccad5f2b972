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

	"github.com/plimsoll-bench/plimsoll/internal/wait"
	"github.com/plimsoll-bench/plimsoll/lab/engine"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/server"
	"github.com/plimsoll-bench/plimsoll/spec"
)

const (
	// hardTries bounds the tries of a change that fails with an error which is not transient.
	hardTries     = 10
	tryAgainAfter = 300 * time.Millisecond
	// commonNamespace is the collection of 'plimsoll run'.
	commonNamespace = "plimsoll.usertable"
)

// setUpSharding adds the shards and shards the collection through one router, as far as an earlier start has not done
// it.
func (c *mongoCluster) setUpSharding(ctx context.Context, router *engine.MongoNode) error {
	if err := c.defaultConcern(ctx, router); err != nil {
		return err
	}
	if err := c.addShards(ctx, router); err != nil {
		return err
	}
	// The balancer would move chunks during a measurement, and while chunks are moved here.
	if err := router.Command(ctx, engine.AsUser, "admin", bson.D{{Key: "balancerStop", Value: 1}}, nil); err != nil {
		return fmt.Errorf("cannot stop the balancer: %w", err)
	}
	if err := c.shardCollection(ctx, router); err != nil {
		return fmt.Errorf("cannot shard the collection %s: %w", c.collection().Namespace, err)
	}
	return c.checkChunks(ctx, router)
}

// collection returns the collection to shard, with defaults.
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

// shards returns the names of the shards, which are also the names of their replica sets.
func (c *mongoCluster) shards() []string {
	return slices.DeleteFunc(c.sets(), func(s string) bool { return s == mongoConfig })
}

// defaultConcern sets the cluster's default write concern if the implicit default of its shards is w: 1, because of an
// arbiter. Since 5.0 such a shard is refused until the cluster has an explicit default (manual: "Write Concern",
// implicit default; "setDefaultRWConcern").
func (c *mongoCluster) defaultConcern(ctx context.Context, router *engine.MongoNode) error {
	t := c.site.Spec.Topology
	data := t.DataVotes()
	if !t.Arbiter || !c.programs.Version.AtLeast(5, 0) || data > (data+1)/2+1 {
		return nil
	}
	return until(ctx, "the change of the cluster's default write concern", func(ctx context.Context) (bool, error) {
		return ended(router), router.Command(ctx, engine.AsUser, "admin", bson.D{{Key: "setDefaultRWConcern", Value: 1},
			{Key: "defaultWriteConcern", Value: bson.D{{Key: "w", Value: int32(1)}}},
			{Key: "writeConcern", Value: majority()}}, nil)
	})
}

func (c *mongoCluster) addShards(ctx context.Context, router *engine.MongoNode) error {
	var have []server.Shard
	if err := until(ctx, "the list of shards from "+router.Name(), func(ctx context.Context) (done bool, err error) {
		have, err = server.QueryShards(ctx, router.Commander(engine.AsUser))
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
		add := bson.D{{Key: "addShard", Value: c.seeds(set)}, {Key: "name", Value: set}}
		if err := retryChange(ctx, "the addition of "+set, func(ctx context.Context) error {
			return router.Command(ctx, engine.AsUser, "admin", add, nil)
		}); err != nil {
			return err
		}
	}
	c.event("progress", nil, "the cluster has the shards %s", strings.Join(c.shards(), ", "))
	return nil
}

// retryChange retries a change of the cluster: until the lab's deadline after transient errors, which config servers
// and shards return just after an election, and hardTries times after other errors.
func retryChange(ctx context.Context, what string, try func(context.Context) error) error {
	var before error
	for hard := 0; ; {
		one, cancel := context.WithTimeout(ctx, changeLimit)
		err := try(one)
		cancel()
		if err == nil {
			return nil
		}
		if before != nil && cutShort(ctx, err) {
			err = before // an error for lack of time says nothing about the server
		}
		before = err
		if !server.Transient(code(err)) && !mongo.IsNetworkError(err) {
			hard++
		}
		if hard == hardTries {
			return fmt.Errorf("%s failed %d times: %w", what, hard, err)
		}
		if wait.Sleep(ctx, tryAgainAfter) != nil {
			return timeoutError(ctx, what, err)
		}
	}
}

// shardCollection shards the empty collection.
func (c *mongoCluster) shardCollection(ctx context.Context, router *engine.MongoNode) error {
	spec := c.collection()
	if _, err := c.chunks(ctx, router); err == nil {
		return nil // an earlier start has sharded it
	} else if !errors.Is(err, errNotSharded) {
		return err
	}
	db, _, _ := strings.Cut(spec.Namespace, ".")
	if !c.programs.Version.AtLeast(6, 0) { // not needed in later releases (manual: "enableSharding")
		if err := router.Command(ctx, engine.AsUser, "admin", bson.D{{Key: "enableSharding", Value: db}}, nil); err != nil {
			return err
		}
	}
	var by any = int32(1)
	if spec.Sharding == "hashed" {
		by = "hashed"
	}
	command := bson.D{{Key: "shardCollection", Value: spec.Namespace}, {Key: "key", Value: bson.D{{Key: spec.Key, Value: by}}}}
	// Since 7.2 there is one chunk for each shard and no such option (manual: "shardCollection").
	if spec.Sharding == "hashed" && !c.programs.Version.AtLeast(7, 2) {
		command = append(command, bson.E{Key: "numInitialChunks", Value: int32(spec.Chunks)})
	}
	if err := retryChange(ctx, "the sharding of "+spec.Namespace, func(ctx context.Context) error {
		return router.Command(ctx, engine.AsUser, "admin", command, nil)
	}); err != nil {
		return err
	}
	if spec.Sharding == "ranged" {
		return c.splitAndMove(ctx, router, spec, db)
	}
	return nil
}

var errNotSharded = errors.New("it is not sharded")

// cursorReply is the answer to find and aggregate.
type cursorReply struct {
	Cursor struct {
		First []bson.Raw `bson:"firstBatch"`
	} `bson:"cursor"`
}

// findOne reads one document of the config database (manual: "Config Database").
func findOne(ctx context.Context, router *engine.MongoNode, collection, id string) (bson.Raw, error) {
	var f cursorReply
	err := router.Command(ctx, engine.AsUser, "config", bson.D{{Key: "find", Value: collection},
		{Key: "filter", Value: bson.D{{Key: "_id", Value: id}}}, {Key: "limit", Value: int32(1)},
		{Key: "singleBatch", Value: true}}, &f)
	if err != nil || len(f.Cursor.First) == 0 {
		return nil, err
	}
	return f.Cursor.First[0], nil
}

// chunks counts the chunks of the collection by shard. Since 5.0 chunks refer to their collection by its UUID.
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
	}}, {Key: "cursor", Value: bson.D{{Key: "batchSize", Value: int32(2 * spec.MaxShards)}}}}, &f)
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
			return nil, fmt.Errorf("cannot count the chunks of %s: %w", ns, err)
		}
		counts[of.Shard] = of.N
	}
	return counts, nil
}

// checkChunks makes sure that each shard has chunks, and records an event with their numbers.
func (c *mongoCluster) checkChunks(ctx context.Context, router *engine.MongoNode) error {
	counts, err := c.chunks(ctx, router)
	if err != nil {
		return err
	}
	spec := c.collection()
	for _, shard := range c.shards() {
		if counts[shard] == 0 {
			return fmt.Errorf("%s has no chunk of %s (%s), so it would get no load", shard, spec.Namespace, countWords(counts))
		}
	}
	made := int64(0)
	for _, n := range counts {
		made += n
	}
	if made != int64(spec.Chunks) {
		c.event("progress", nil, "%s has %d chunks instead of %d, because mongod %s chooses the number itself",
			spec.Namespace, made, spec.Chunks, c.programs.Version)
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

func (c *mongoCluster) Sharding(ctx context.Context) (*record.LabSharding, error) {
	routers := c.routers()
	if len(routers) == 0 {
		return nil, nil
	}
	ctx, cancel := wait.Bounded(ctx, commandTimeout)
	defer cancel()
	spec := c.collection()
	var all error
	for _, n := range routers {
		if !n.Status().Running || n.Paused() {
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
	return nil, fmt.Errorf("cannot read the distribution of %s from any router: %w", spec.Namespace, all)
}
