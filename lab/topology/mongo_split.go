package topology

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/plimsoll-bench/plimsoll/lab/engine"
	"github.com/plimsoll-bench/plimsoll/spec"
)

// splitAndMove splits an empty ranged collection at its borders, and moves an equal number of adjacent chunks to each
// shard (manual: "Create Ranges in a Sharded Cluster", "split", "moveChunk").
func (c *mongoCluster) splitAndMove(ctx context.Context, router *engine.MongoNode, asked spec.Collection,
	db string) error {
	borders := asked.SplitAt
	if len(borders) == 0 {
		borders = ycsbBorders(int(asked.Chunks))
	}
	for _, b := range borders {
		command := bson.D{{Key: "split", Value: asked.Namespace}, {Key: "middle", Value: bson.D{{Key: asked.Key, Value: b}}}}
		if err := retryChange(ctx, "the split at "+b, func(ctx context.Context) error {
			err := router.Command(ctx, engine.AsUser, "admin", command, nil)
			if err != nil && strings.Contains(err.Error(), "is a boundary key") {
				return nil // an earlier try has split it, and its answer was lost
			}
			return err
		}); err != nil {
			return err
		}
	}
	home, err := primaryShard(ctx, router, db)
	if err != nil {
		return err
	}
	shards := c.shards()
	for i := range len(borders) + 1 {
		to := shards[i*len(shards)/(len(borders)+1)]
		if to == home {
			continue // the initial shard of all chunks
		}
		low, high := any(bson.MinKey{}), any(bson.MaxKey{})
		if i > 0 {
			low = borders[i-1]
		}
		if i < len(borders) {
			high = borders[i]
		}
		command := bson.D{{Key: "moveChunk", Value: asked.Namespace}, {Key: "bounds", Value: bson.A{
			bson.D{{Key: asked.Key, Value: low}}, bson.D{{Key: asked.Key, Value: high}}}}, {Key: "to", Value: to}}
		if err := retryChange(ctx, fmt.Sprintf("the move of chunk %d to %s", i+1, to), func(ctx context.Context) error {
			return router.Command(ctx, engine.AsUser, "admin", command, nil)
		}); err != nil {
			return err
		}
	}
	return nil
}

// primaryShard returns the shard that has the chunks of a new collection.
func primaryShard(ctx context.Context, router *engine.MongoNode, db string) (string, error) {
	entry, err := findOne(ctx, router, "databases", db)
	if err != nil {
		return "", err
	}
	if entry == nil {
		return "", errors.New("the cluster has no database " + db)
	}
	name, ok := entry.Lookup("primary").StringValueOK()
	if !ok {
		return "", errors.New("the database " + db + " has no primary shard")
	}
	return name, nil
}

// ycsbBorders returns the n-1 keys that divide YCSB's data set into n equal parts. A key is "user" and a hash below
// 2^63, in decimal without leading zeros. Keys are sorted as text, so the first digits decide, and short numbers are
// between long ones. Of the numbers with L digits, (x-1)·10^(L-1) have a mantissa (their digits read as d.ddd) below x;
// the longest have 19 digits and end at the mantissa 9.22. The share of keys below x is therefore
//
//	F(x) = ((min(x, m)-1)·10^18 + (x-1)·(10^18-1)/9) / (2^63-1),   m = (2^63-1)/10^18, 1 ≤ x ≤ 10
//
// These are two straight lines; ycsbBorders computes their inverse.
func ycsbBorders(n int) []string {
	const (
		all   = float64(math.MaxInt64)
		long  = 1e18
		short = (1e18 - 1) / 9
		most  = all / long
	)
	knee := ((most-1)*long + (most-1)*short) / all // F(m)
	var borders []string
	for i := 1; i < n; i++ {
		f := float64(i) / float64(n)
		x := 1 + f*all/(long+short)
		if f > knee {
			x = most + (f-knee)*all/short
		}
		borders = append(borders, "user"+strconv.FormatInt(int64(x*1e9), 10))
	}
	return borders
}
