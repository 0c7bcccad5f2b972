// Package shards knows how the collections of a sharded cluster are spread: it reads the chunks from the cluster's own
// data, says on which shard a document is, and spreads collections that do not exist yet.
//
// The shard of a document follows from its shard key by the rule that servers have: the chunk that holds the value, or
// its hash. [Map.Check] holds that against what a router says, so that nobody has to believe it. Chunks that the
// balancer moves later are found by reading them again ([Map.Same]).
package shards

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"sort"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/x/bsonx/bsoncore"

	"github.com/plimsoll-bench/plimsoll/server"
)

// Map is how some collections of one database are spread. It travels as JSON, and may be used by several goroutines.
type Map struct {
	Shards      []string              `json:"shards"` // sorted
	Collections map[string]Collection `json:"collections"`
}

// Collection is how one collection is spread.
type Collection struct {
	// Sharded says whether the cluster knows it as sharded. If not, all of it is on the shard of its only chunk.
	Sharded bool `json:"sharded,omitempty"`
	// Field is the shard key, and Hashed whether chunks are ranges of its hash.
	Field  string  `json:"field,omitempty"`
	Hashed bool    `json:"hashed,omitempty"`
	Chunks []Chunk `json:"chunks"`
	// Problem is why documents cannot be placed.
	Problem string `json:"problem,omitempty"`
}

// Chunk is a range of keys, up to the next chunk.
type Chunk struct {
	Low   []byte `json:"low"` // in the order of bytes
	Shard int    `json:"shard"`
}

// mostChunks is how many chunks one answer has.
const mostChunks = 10_000

// Read asks a router how collections of a database are spread. One that does not exist yet is where the database would
// make it.
func Read(ctx context.Context, c server.Commander, database string, collections []string) (*Map, error) {
	m := &Map{Collections: map[string]Collection{}}
	list, err := find(ctx, c, "shards", bson.D{}, nil, 0)
	if err != nil {
		return nil, fmt.Errorf("the shards cannot be read from the database config (a user needs the right to read it): %w", err)
	}
	for _, d := range list {
		m.Shards = append(m.Shards, server.Text(d, "_id"))
	}
	slices.Sort(m.Shards)
	for _, name := range collections {
		col, err := m.read(ctx, c, database, name)
		if err != nil {
			return nil, fmt.Errorf("how %s.%s is spread cannot be read: %w", database, name, err)
		}
		m.Collections[name] = col
	}
	return m, nil
}

// read reads how one collection is spread.
func (m *Map) read(ctx context.Context, c server.Commander, database, name string) (Collection, error) {
	ns := database + "." + name
	entries, err := find(ctx, c, "collections", bson.D{{Key: "_id", Value: ns}}, nil, 1)
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
	var after *bson.RawValue
	for {
		filter := bson.D{{Key: "$or", Value: of}}
		if after != nil {
			filter = append(filter, bson.E{Key: "min", Value: bson.D{{Key: "$gt", Value: *after}}})
		}
		list, err := find(ctx, c, "chunks", filter, bson.D{{Key: "min", Value: 1}}, mostChunks)
		if err != nil {
			return col, err
		}
		for _, d := range list {
			col.add(m, d)
			low := d.Lookup("min")
			after = &low
		}
		if len(list) < mostChunks {
			break
		}
	}
	if len(col.Chunks) == 0 && col.Problem == "" {
		return col, errors.New("the cluster's data have no chunk of it")
	}
	sort.SliceStable(col.Chunks, func(i, k int) bool { return bytes.Compare(col.Chunks[i].Low, col.Chunks[k].Low) < 0 })
	return col, nil
}

// unsharded is a collection that the cluster does not know: it is on the primary shard of its database.
func (m *Map) unsharded(ctx context.Context, c server.Commander, database string) (Collection, error) {
	list, err := find(ctx, c, "databases", bson.D{{Key: "_id", Value: database}}, nil, 1)
	if err != nil {
		return Collection{}, err
	}
	if len(list) == 0 {
		return Collection{Problem: "the database does not exist yet"}, nil
	}
	return Collection{Chunks: []Chunk{{Shard: m.index(server.Text(list[0], "primary"))}}}, nil
}

// add takes a chunk in.
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
		col.Problem = "a chunk begins at " + d.Lookup("min").String() + ", of a type that cannot be compared here"
		return
	}
	col.Chunks = append(col.Chunks, Chunk{Low: bound, Shard: m.index(server.Text(d, "shard"))})
}

// index is the number of a shard, -1 of one that is not known.
func (m *Map) index(name string) int {
	if i, ok := slices.BinarySearch(m.Shards, name); ok {
		return i
	}
	return -1
}

// Of is the number of the shard, in Shards, on which a document is, or which a filter by equality asks; -1 if that is
// not known.
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

// OfID is [Map.Of] of a document of which the element _id is known.
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

// of finds the chunk of an element.
func (col *Collection) of(e bsoncore.Element) int {
	var room [64]byte
	key, ok := room[:0], true
	if col.Hashed {
		var h int64
		if h, ok = Hash(e); ok {
			key = appendNumber(key, h)
		}
	} else {
		key, ok = sortKey(key, e)
	}
	if !ok {
		return -1
	}
	low, high := 0, len(col.Chunks)
	for low < high { // the first chunk that begins after it
		if at := (low + high) / 2; bytes.Compare(col.Chunks[at].Low, key) <= 0 {
			low = at + 1
		} else {
			high = at
		}
	}
	if low == 0 {
		return -1
	}
	return col.Chunks[low-1].Shard
}

// On are the names of the shards that have a part of a collection.
func (m *Map) On(collection string) (names []string) {
	for _, c := range m.Collections[collection].Chunks {
		if c.Shard >= 0 && !slices.Contains(names, m.Shards[c.Shard]) {
			names = append(names, m.Shards[c.Shard])
		}
	}
	slices.Sort(names)
	return names
}

// Problem is why documents of one of the collections cannot be placed, "" if all can.
func (m *Map) Problem() string {
	for _, name := range slices.Sorted(keys(m.Collections)) {
		if p := m.Collections[name].Problem; p != "" {
			return name + ": " + p
		}
	}
	return ""
}

// Same says whether two maps place every document alike.
func (m *Map) Same(o *Map) bool {
	if !slices.Equal(m.Shards, o.Shards) || len(m.Collections) != len(o.Collections) {
		return false
	}
	for name, a := range m.Collections {
		b := o.Collections[name]
		if a.Field != b.Field || a.Hashed != b.Hashed || !slices.EqualFunc(a.ranges(), b.ranges(), func(x, y Chunk) bool {
			return x.Shard == y.Shard && bytes.Equal(x.Low, y.Low)
		}) {
			return false
		}
	}
	return true
}

// ranges are the chunks, neighbours on one shard put together: splits move nothing.
func (col Collection) ranges() (list []Chunk) {
	for _, c := range col.Chunks {
		if n := len(list); n == 0 || list[n-1].Shard != c.Shard {
			list = append(list, c)
		}
	}
	return list
}

// Check asks a router where documents with some values of _id are, and returns an error if that is not where the map
// has them. A router answers without looking at documents, so there need not be any.
func (m *Map) Check(ctx context.Context, c server.Commander, database, collection string, ids []bson.ObjectID) error {
	for _, id := range ids {
		filter, err := bson.Marshal(bson.D{{Key: "_id", Value: id}})
		if err != nil {
			return err
		}
		want := m.Of(collection, filter)
		if want < 0 {
			return fmt.Errorf("on which shard documents of %s.%s are does not follow from their _id", database, collection)
		}
		reply, err := server.AskOf(ctx, c, database, bson.D{{Key: "explain", Value: bson.D{{Key: "find", Value: collection},
			{Key: "filter", Value: bson.Raw(filter)}}}, {Key: "verbosity", Value: "queryPlanner"}})
		if err != nil {
			return fmt.Errorf("the router does not say on which shard a document of %s.%s is: %w", database, collection, err)
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
			return fmt.Errorf("the router sends the _id %s of %s.%s to %v, and its chunks say %s", id.Hex(), database, collection, list, m.Shards[want])
		}
	}
	return nil
}

// find reads documents of the database config in one answer.
func find(ctx context.Context, c server.Commander, collection string, filter, sort bson.D,
	limit int32) ([]bson.Raw, error) {
	cmd := bson.D{{Key: "find", Value: collection}, {Key: "filter", Value: filter}}
	if sort != nil {
		cmd = append(cmd, bson.E{Key: "sort", Value: sort})
	}
	if limit > 0 {
		cmd = append(cmd, bson.E{Key: "limit", Value: limit}, bson.E{Key: "batchSize", Value: limit})
	}
	reply, err := server.AskOf(ctx, c, "config", append(cmd, bson.E{Key: "singleBatch", Value: true}))
	if err != nil {
		return nil, err
	}
	var answer struct {
		Cursor struct {
			First []bson.Raw `bson:"firstBatch"`
		} `bson:"cursor"`
	}
	if err := bson.Unmarshal(reply, &answer); err != nil {
		return nil, fmt.Errorf("the answer about config.%s is not understood: %w", collection, err)
	}
	return answer.Cursor.First, nil
}

// dropped says whether an entry is of a collection that is gone: 4.4 keeps it (manual: "Config Database").
func dropped(d bson.Raw) bool { return flag(d, "dropped") }

func flag(d bson.Raw, name string) bool {
	b := server.Flag(d, name)
	return b != nil && *b
}

// patience bounds how long a cluster may be busy with something else before a collection is spread.
const patience = 30 * time.Second
