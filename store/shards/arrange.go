package shards

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/plimsoll-bench/plimsoll/server"
	"github.com/plimsoll-bench/plimsoll/workload"
)

// arrangeAtMost bounds the commands for one collection; moving an empty chunk can take seconds on a busy cluster.
const arrangeAtMost = 10 * time.Minute

// Arrange shards a collection as a workload describes it: zones first, then the shard key, then the split points. The
// balancer moves the chunks of a ranged key and of zones. A collection that is sharded already stays as it is.
func Arrange(ctx context.Context, c server.Commander, database string, s workload.Sharding) error {
	ctx, cancel := context.WithTimeout(ctx, arrangeAtMost)
	defer cancel()
	ns := database + "." + s.Collection
	entries, err := Find(ctx, c, "collections", bson.D{{Key: "_id", Value: ns}}, nil, 1)
	if err != nil {
		return err
	}
	if len(entries) > 0 && !dropped(entries[0]) && !flag(entries[0], "unsplittable") {
		return nil
	}
	m, err := Read(ctx, c, database, nil)
	if err != nil {
		return err
	}
	admin := func(cmd bson.D) error { return WhenFree(ctx, c, cmd) }
	if err := admin(bson.D{{Key: "enableSharding", Value: database}}); err != nil && !unknownCommand(err) {
		return fmt.Errorf("enable sharding for %s: %w", database, err)
	}
	for _, z := range s.Zones {
		for _, name := range z.Shards {
			if n, err := strconv.Atoi(name); err == nil && n >= 0 && n < len(m.Shards) {
				name = m.Shards[n]
			}
			if err := admin(bson.D{{Key: "addShardToZone", Value: name}, {Key: "zone", Value: z.Name}}); err != nil {
				return fmt.Errorf("add shard %s to zone %s: %w", name, z.Name, err)
			}
		}
		err := admin(bson.D{{Key: "updateZoneKeyRange", Value: ns}, {Key: "min", Value: bson.Raw(z.From)},
			{Key: "max", Value: bson.Raw(z.To)}, {Key: "zone", Value: z.Name}})
		if err != nil {
			return fmt.Errorf("set the range of zone %s of %s: %w", z.Name, ns, err)
		}
	}
	cmd := bson.D{{Key: "shardCollection", Value: ns}, {Key: "key", Value: bson.Raw(s.Key)}}
	if s.Unique {
		cmd = append(cmd, bson.E{Key: "unique", Value: true})
	}
	err = nil
	if s.Hashed && len(s.Zones) == 0 {
		chunks := cmp.Or(s.Chunks, 2*len(m.Shards))
		err = admin(append(slices.Clone(cmd), bson.E{Key: "numInitialChunks", Value: int32(chunks)}))
	}
	// 7.2 and later make one chunk for each shard (manual: "shardCollection").
	if !s.Hashed || len(s.Zones) > 0 || err != nil && strings.Contains(err.Error(), "numInitialChunks") {
		err = admin(cmd)
	}
	if err != nil {
		return fmt.Errorf("shard %s: %w", ns, err)
	}
	for _, p := range s.Points {
		if err := admin(bson.D{{Key: "split", Value: ns}, {Key: "middle", Value: bson.Raw(p)}}); err != nil {
			return fmt.Errorf("split %s at %s: %w", ns, bson.Raw(p), err)
		}
	}
	return nil
}
