package capture

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/plimsoll-bench/plimsoll/workload/recorded"
)

// listed is an entry of listCollections.
type listed struct {
	Name, Type string
	Options    bson.Raw
}

// Collections describes the collections and views of the database: the number and the shapes of their documents, from a
// sample of so many, their indexes and options. What cannot be read is noted with the collection.
func (d *Database) Collections(ctx context.Context, sample int, o recorded.Options) ([]*recorded.Collection, error) {
	cursor, err := d.db().ListCollections(ctx, bson.D{})
	var found []listed
	if err == nil {
		err = cursor.All(ctx, &found)
	}
	if err != nil {
		return nil, fmt.Errorf("cannot list the collections of %s: %w", d.Name, err)
	}
	slices.SortFunc(found, func(a, b listed) int { return cmp.Compare(a.Name, b.Name) })
	if d.routed, err = d.Router(ctx); err != nil {
		return nil, err
	}
	var list []*recorded.Collection
	for _, f := range found {
		if strings.HasPrefix(f.Name, "system.") {
			continue
		}
		c := &recorded.Collection{Database: d.Name, Name: f.Name, Documents: &recorded.Documents{Options: o},
			Options: f.Options}
		if f.Type != "view" {
			d.describe(ctx, c, sample, f.Type == "timeseries")
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		list = append(list, c)
	}
	return list, nil
}

// Newest describes the documents of a collection that were inserted last, so many at most, and leaves them out of its
// sample. They must be fewer than all.
func (d *Database) Newest(ctx context.Context, c *recorded.Collection, most, sample int) error {
	o := recorded.Documents{Options: c.Documents.Options}
	cursor, err := d.db().Collection(c.Name).Find(ctx, bson.D{}, options.Find().SetSort(bson.D{{Key: "$natural", Value: -1}}).
		SetLimit(int64(most)))
	if err != nil {
		return err
	}
	newest := map[string]bool{}
	now := time.Now()
	for cursor.Next(ctx) {
		o.Add(cursor.Current, now)
		newest[cursor.Current.Lookup("_id").String()] = true
	}
	if err := cursor.Err(); err != nil {
		return err
	}
	c.New = &o
	others := &recorded.Documents{Options: o.Options}
	err = d.sample(ctx, c.Name, sample, func(doc bson.Raw) {
		if !newest[doc.Lookup("_id").String()] {
			others.Add(doc, now)
		}
	})
	if err == nil && others.N > 0 {
		c.Documents = others
	}
	return err
}

func (d *Database) sample(ctx context.Context, name string, size int, each func(bson.Raw)) error {
	cursor, err := d.db().Collection(name).Aggregate(ctx, bson.A{bson.D{{Key: "$sample", Value: bson.D{{Key: "size", Value: size}}}}})
	if err != nil {
		return err
	}
	for cursor.Next(ctx) {
		each(cursor.Current)
	}
	return cursor.Err()
}

// Drop drops the database.
func (d *Database) Drop(ctx context.Context) error { return d.db().Drop(ctx) }

func (d *Database) describe(ctx context.Context, c *recorded.Collection, sample int, series bool) {
	note := func(what string, err error) {
		if err != nil && ctx.Err() == nil {
			c.Unseen = append(c.Unseen, fmt.Sprintf("%s of %s could not be read: %v.", what, c.Name, err))
		}
	}
	coll := d.db().Collection(c.Name)
	var err error
	c.Count, err = coll.EstimatedDocumentCount(ctx)
	note("The number of documents", err)
	now := time.Now()
	note("A sample", d.sample(ctx, c.Name, sample, func(doc bson.Raw) { c.Documents.Add(doc, now) }))
	cursor, err := coll.Indexes().List(ctx)
	if err == nil {
		err = cursor.All(ctx, &c.Indexes)
	}
	note("The indexes", err)
	if series { // its statistics are those of buckets
		return
	}
	if cursor, err = coll.Aggregate(ctx, bson.A{bson.D{{Key: "$indexStats", Value: bson.D{}}}}); err == nil {
		var stats []struct {
			Name     string
			Accesses struct{ Ops int64 }
		}
		if err = cursor.All(ctx, &stats); err == nil {
			c.Used = map[string]int64{}
			for _, s := range stats {
				c.Used[s.Name] += s.Accesses.Ops // one entry for each shard
			}
		}
	}
	note("The use of indexes ($indexStats)", err)
	if d.routed {
		c.ShardKey, err = d.shardKey(ctx, c.Name)
		note("The shard key", err)
	}
}

// shardKey returns the shard key of a collection, nil if it is not sharded. Only a mongos has it.
func (d *Database) shardKey(ctx context.Context, name string) (bson.Raw, error) {
	filter := bson.D{{Key: "_id", Value: d.Name + "." + name}, {Key: "dropped", Value: bson.D{{Key: "$ne", Value: true}}}}
	doc, err := d.client.Database("config").Collection("collections").FindOne(ctx, filter).Raw()
	if errors.Is(err, mongo.ErrNoDocuments) {
		return nil, nil
	}
	key, _ := doc.Lookup("key").DocumentOK()
	return key, err
}

// Operations is the number of operations of collections, as the server counts them.
type Operations map[string]int64

// CountOperations returns the operations of all collections since the server started, by $collStats.
func (d *Database) CountOperations(ctx context.Context) (Operations, error) {
	names, err := d.db().ListCollectionNames(ctx, bson.D{{Key: "type", Value: "collection"}})
	if err != nil {
		return nil, err
	}
	out := Operations{}
	for _, name := range names {
		if strings.HasPrefix(name, "system.") {
			continue
		}
		stage := bson.D{{Key: "$collStats", Value: bson.D{{Key: "latencyStats", Value: bson.D{}}}}}
		cursor, err := d.db().Collection(name).Aggregate(ctx, bson.A{stage})
		if err != nil {
			return nil, err
		}
		var stats []bson.Raw
		if err := cursor.All(ctx, &stats); err != nil {
			return nil, err
		}
		for _, s := range stats {
			for _, kind := range []string{"reads", "writes"} {
				if n, ok := s.Lookup("latencyStats", kind, "ops").AsInt64OK(); ok {
					out[name] += n
				}
			}
		}
	}
	return out, nil
}

// Since returns the operations after an earlier count.
func (o Operations) Since(before Operations) int64 {
	var n int64
	for name, now := range o {
		n += max(now-before[name], 0)
	}
	return n
}
