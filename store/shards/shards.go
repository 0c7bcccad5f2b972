// Package shards reads the distribution of collections from the metadata of a sharded cluster, computes the shard of a
// document, and shards collections that do not exist yet.
//
// The shard of a document follows from its shard key by the rule of the servers: the chunk that holds the value, or its
// hash. [Map.Check] compares this with a router. Read the map again to find chunks that the balancer has moved
// ([Map.Same]).
package shards

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sort"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/x/bsonx/bsoncore"

	"github.com/plimsoll-bench/plimsoll/server"
)

// Map is the distribution of collections of one database. It is immutable and can be stored as JSON.
type Map struct {
	Shards      []string              `json:"shards"` // sorted
	Collections map[string]Collection `json:"collections"`
}

// Collection is the distribution of one collection.
type Collection struct {
	// Sharded is false for a collection on one shard, which has one chunk.
	Sharded bool `json:"sharded,omitempty"`
	// Field is the shard key. If Hashed, chunks are ranges of its hash.
	Field  string  `json:"field,omitempty"`
	Hashed bool    `json:"hashed,omitempty"`
	Chunks []Chunk `json:"chunks"`
	// Problem is why the shard of documents is not known.
	Problem string `json:"problem,omitempty"`
}

// Chunk is a range of keys, up to the next chunk.
type Chunk struct {
	Low   []byte `json:"low"`   // a [sortKey]
	Shard int    `json:"shard"` // index into Map.Shards, -1 for an unknown shard
}

// mostRanges is the number of chunks or zones per query.
const mostRanges = 10_000

// Read reads the distribution of collections from a router. A collection that does not exist is on the shard where the
// database would create it.
func Read(ctx context.Context, c server.Commander, database string, collections []string) (*Map, error) {
	m := &Map{Collections: map[string]Collection{}}
	list, err := Find(ctx, c, "shards", bson.D{}, nil, 0)
	if err != nil {
		return nil, fmt.Errorf("cannot read the shards from the database config (the user needs the right to read it): %w", err)
	}
	for _, d := range list {
		m.Shards = append(m.Shards, server.Text(d, "_id"))
	}
	slices.Sort(m.Shards)
	for _, name := range collections {
		col, err := m.read(ctx, c, database, name)
		if err != nil {
			return nil, fmt.Errorf("cannot read the distribution of %s.%s: %w", database, name, err)
		}
		m.Collections[name] = col
	}
	return m, nil
}

func (m *Map) read(ctx context.Context, c server.Commander, database, name string) (Collection, error) {
	ns := database + "." + name
	entries, err := Find(ctx, c, "collections", bson.D{{Key: "_id", Value: ns}}, nil, 1)
	if err != nil {
		return Collection{}, err
	}
	if len(entries) == 0 || dropped(entries[0]) {
		return m.unsharded(ctx, c, database)
	}
	entry := entries[0]
	col := Collection{Sharded: !flag(entry, "unsplittable")}
	if key, ok := entry.Lookup("key").DocumentOK(); ok {
		elements, err := key.Elements()
		if err != nil || len(elements) != 1 {
			col.Problem = "its shard key has several fields"
			return col, nil
		}
		col.Field = elements[0].Key()
		kind, hashed := elements[0].Value().StringValueOK()
		col.Hashed = hashed && kind == "hashed"
	}
	// Chunks name their collection by namespace before 5.0, and by UUID since (manual: "Config Database").
	of := bson.A{bson.D{{Key: "ns", Value: ns}}}
	if uuid := entry.Lookup("uuid"); uuid.Type != 0 {
		of = append(of, bson.D{{Key: "uuid", Value: uuid}})
	}
	list, err := Ranges(ctx, c, "chunks", bson.D{{Key: "$or", Value: of}})
	if err != nil {
		return col, err
	}
	for _, d := range list {
		col.add(m, d)
	}
	if len(col.Chunks) == 0 && col.Problem == "" {
		return col, errors.New("the cluster's metadata have no chunk of it")
	}
	slices.SortStableFunc(col.Chunks, func(a, b Chunk) int { return bytes.Compare(a.Low, b.Low) })
	return col, nil
}

// unsharded is a collection without metadata: it is on the primary shard of its database.
func (m *Map) unsharded(ctx context.Context, c server.Commander, database string) (Collection, error) {
	list, err := Find(ctx, c, "databases", bson.D{{Key: "_id", Value: database}}, nil, 1)
	if err != nil {
		return Collection{}, err
	}
	if len(list) == 0 {
		return Collection{Problem: "the database does not exist yet"}, nil
	}
	return Collection{Chunks: []Chunk{{Shard: m.index(server.Text(list[0], "primary"))}}}, nil
}

func (col *Collection) add(m *Map, d bson.Raw) {
	low, ok := d.Lookup("min").DocumentOK()
	var bound []byte
	if ok {
		var e bsoncore.Element
		if e, ok = first(low); ok {
			bound, ok = sortKey(nil, e)
		}
	}
	if !ok {
		col.Problem = "a chunk begins at " + d.Lookup("min").String() + ", whose type is not supported"
		return
	}
	col.Chunks = append(col.Chunks, Chunk{Low: bound, Shard: m.index(server.Text(d, "shard"))})
}

// index is the index of a shard, -1 for an unknown one.
func (m *Map) index(name string) int {
	if i, ok := slices.BinarySearch(m.Shards, name); ok {
		return i
	}
	return -1
}

// Of is the index in Shards of the shard of a document or of a filter by equality; -1 if it is not known.
func (m *Map) Of(collection string, document []byte) int {
	col, known := m.Collections[collection]
	switch {
	case !known || col.Problem != "":
		return -1
	case !col.Sharded && len(col.Chunks) == 1:
		return col.Chunks[0].Shard
	}
	e, ok := element(document, col.Field)
	if !ok {
		return -1
	}
	return col.of(e)
}

// OfID is [Map.Of] for the element _id of a document.
func (m *Map) OfID(collection string, id []byte) int {
	col, known := m.Collections[collection]
	switch {
	case !known || col.Problem != "":
		return -1
	case !col.Sharded && len(col.Chunks) == 1:
		return col.Chunks[0].Shard
	case col.Field != "_id":
		return -1
	}
	return col.of(id)
}

// of returns the shard of an element.
func (col *Collection) of(e bsoncore.Element) int {
	var room [64]byte
	key, ok := room[:0], true
	if col.Hashed {
		var h int64
		if h, ok = hash(e); ok {
			key = appendNumber(key, h)
		}
	} else {
		key, ok = sortKey(key, e)
	}
	if !ok {
		return -1
	}
	after := sort.Search(len(col.Chunks), func(i int) bool { return bytes.Compare(col.Chunks[i].Low, key) > 0 })
	if after == 0 {
		return -1
	}
	return col.Chunks[after-1].Shard
}

// On returns the names of the shards that have a part of a collection.
func (m *Map) On(collection string) (names []string) {
	for _, c := range m.Collections[collection].Chunks {
		if c.Shard >= 0 && !slices.Contains(names, m.Shards[c.Shard]) {
			names = append(names, m.Shards[c.Shard])
		}
	}
	slices.Sort(names)
	return names
}

// Problem is why the shard of documents of a collection is not known, "" if all are known.
func (m *Map) Problem() string {
	for _, name := range slices.Sorted(maps.Keys(m.Collections)) {
		if p := m.Collections[name].Problem; p != "" {
			return name + ": " + p
		}
	}
	return ""
}

// Same reports whether two maps have the same shard for every document.
func (m *Map) Same(o *Map) bool {
	return slices.Equal(m.Shards, o.Shards) && maps.EqualFunc(m.Collections, o.Collections, func(a, b Collection) bool {
		return a.Field == b.Field && a.Hashed == b.Hashed && slices.EqualFunc(a.ranges(), b.ranges(), func(x, y Chunk) bool {
			return x.Shard == y.Shard && bytes.Equal(x.Low, y.Low)
		})
	})
}

// ranges joins neighbouring chunks of one shard, because a split of a chunk moves nothing.
func (col Collection) ranges() []Chunk {
	return slices.CompactFunc(slices.Clone(col.Chunks), func(a, b Chunk) bool { return a.Shard == b.Shard })
}

// Check compares the shards of some values of _id with those that a router names. The documents need not exist.
func (m *Map) Check(ctx context.Context, c server.Commander, database, collection string, ids []bson.ObjectID) error {
	for _, id := range ids {
		filter, err := bson.Marshal(bson.D{{Key: "_id", Value: id}})
		if err != nil {
			return err
		}
		want := m.Of(collection, filter)
		if want < 0 {
			return fmt.Errorf("the shard of documents of %s.%s does not follow from their _id", database, collection)
		}
		reply, err := server.QueryDB(ctx, c, database, bson.D{{Key: "explain", Value: bson.D{{Key: "find", Value: collection},
			{Key: "filter", Value: bson.Raw(filter)}}}, {Key: "verbosity", Value: "queryPlanner"}})
		if err != nil {
			return fmt.Errorf("the router does not return the shard of a document of %s.%s: %w", database, collection, err)
		}
		var plan struct {
			Planner struct {
				Winning struct {
					Shards []struct {
						Name string `bson:"shardName"`
					} `bson:"shards"`
				} `bson:"winningPlan"`
			} `bson:"queryPlanner"`
		}
		if err := bson.Unmarshal(reply, &plan); err != nil {
			return err
		}
		if list := plan.Planner.Winning.Shards; len(list) != 1 || list[0].Name != m.Shards[want] {
			return fmt.Errorf("the router sends the _id %s of %s.%s to %v, but it is in a chunk of %s",
				id.Hex(), database, collection, list, m.Shards[want])
		}
	}
	return nil
}

// Ranges reads the chunks or zones of a collection from the database config, in the order of the key. It uses no
// cursor, because a client may send its next command to another router.
func Ranges(ctx context.Context, c server.Commander, collection string, filter bson.D) ([]bson.Raw, error) {
	var all []bson.Raw
	for next := filter; ; {
		list, err := Find(ctx, c, collection, next, bson.D{{Key: "min", Value: 1}}, mostRanges)
		all = append(all, list...)
		if err != nil || len(list) < mostRanges {
			return all, err
		}
		next = append(slices.Clone(filter), bson.E{Key: "min", Value: bson.D{{Key: "$gt", Value: all[len(all)-1].Lookup("min")}}})
	}
}

// Find reads documents of the database config in one reply.
func Find(ctx context.Context, c server.Commander, collection string, filter, sort bson.D,
	limit int32) ([]bson.Raw, error) {
	cmd := bson.D{{Key: "find", Value: collection}, {Key: "filter", Value: filter}}
	if sort != nil {
		cmd = append(cmd, bson.E{Key: "sort", Value: sort})
	}
	if limit > 0 {
		cmd = append(cmd, bson.E{Key: "limit", Value: limit}, bson.E{Key: "batchSize", Value: limit})
	}
	reply, err := server.QueryDB(ctx, c, "config", append(cmd, bson.E{Key: "singleBatch", Value: true}))
	if err != nil {
		return nil, err
	}
	var answer struct {
		Cursor struct {
			First []bson.Raw `bson:"firstBatch"`
		} `bson:"cursor"`
	}
	if err := bson.Unmarshal(reply, &answer); err != nil {
		return nil, fmt.Errorf("parse the reply of config.%s: %w", collection, err)
	}
	return answer.Cursor.First, nil
}

// dropped reports whether an entry is of a dropped collection, which 4.4 keeps (manual: "Config Database").
func dropped(d bson.Raw) bool { return flag(d, "dropped") }

func flag(d bson.Raw, name string) bool {
	b := server.Flag(d, name)
	return b != nil && *b
}
