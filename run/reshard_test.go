package run

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/store"
)

const testNamespace = "plimsoll.usertable"

// clusterOf is a router of a cluster with one sharded collection, as far as sharding it again needs one.
type clusterOf struct {
	release int // the major release
	shards  []string
	entry   bson.D // of config.collections, nil for none
	options bson.D
	chunks  []chunk
	zones   []bson.D
	rights  []string // nil: no access control
	blind   bool     // its data are read by administrators only
	busy    int      // how often a change is refused that is possible a moment later
	got     []string
}

func raw(d bson.D) bson.Raw {
	b, err := bson.Marshal(d)
	if err != nil {
		panic(err)
	}
	return b
}

func (c *clusterOf) RunCommand(_ context.Context, _ string, cmd []byte) ([]byte, error) {
	d := bson.Raw(cmd)
	first, err := d.IndexErr(0)
	if err != nil {
		return nil, err
	}
	name := first.Key()
	if !slices.Contains([]string{"find", "listCollections", "connectionStatus", "collStats"}, name) {
		if c.busy > 0 {
			c.busy--
			return nil, &store.ServerError{Code: 117, Message: "another change is under way"}
		}
		c.got = append(c.got, name)
	}
	switch name {
	case "collStats":
		return raw(bson.D{{Key: "ok", Value: 1}, {Key: "sharded", Value: c.entry != nil}}), nil
	case "find":
		if c.blind {
			return nil, &store.ServerError{Code: 13, Message: "not authorized on config"}
		}
		return c.find(d.Lookup("find").StringValue(), d), nil
	case "listCollections":
		return cursor(bson.A{bson.D{{Key: "name", Value: "usertable"}, {Key: "options", Value: c.options}}}), nil
	case "connectionStatus":
		return c.status(), nil
	case "shardCollection":
		return c.shard(d)
	case "split":
		at := d.Lookup("middle").Document()
		for i, ch := range c.chunks {
			if bytes.Compare(ch.Min, at) < 0 && (i+1 == len(c.chunks) || bytes.Compare(at, c.chunks[i+1].Min) < 0) {
				c.chunks = slices.Insert(c.chunks, i+1, chunk{Min: at, Max: ch.Max, Shard: ch.Shard})
				c.chunks[i].Max = at
				break
			}
		}
	case "moveChunk":
		for i := range c.chunks {
			if bytes.Equal(c.chunks[i].Min, d.Lookup("bounds", "0").Document()) &&
				bytes.Equal(c.chunks[i].Max, d.Lookup("bounds", "1").Document()) {
				c.chunks[i].Shard = d.Lookup("to").StringValue()
				return raw(bson.D{{Key: "ok", Value: 1}}), nil
			}
		}
		return nil, &store.ServerError{Code: 2, Message: "no chunk has these bounds"}
	case "updateZoneKeyRange":
		c.zones = append(c.zones, bson.D{{Key: "min", Value: d.Lookup("min")}, {Key: "max", Value: d.Lookup("max")},
			{Key: "tag", Value: d.Lookup("zone")}})
	case "create":
		c.options = bson.D{{Key: "collation", Value: d.Lookup("collation")}}
	case "enableSharding", "update":
	default:
		return nil, &store.ServerError{Code: 59, Message: "no such command " + name}
	}
	return raw(bson.D{{Key: "ok", Value: 1}}), nil
}

func cursor(batch bson.A) bson.Raw {
	return raw(bson.D{{Key: "ok", Value: 1}, {Key: "cursor", Value: bson.D{{Key: "id", Value: int64(0)}, {Key: "firstBatch", Value: batch}}}})
}

func (c *clusterOf) find(of string, d bson.Raw) bson.Raw {
	batch := bson.A{}
	switch of {
	case "collections":
		if c.entry != nil {
			batch = append(batch, c.entry)
		}
	case "chunks":
		if _, err := d.LookupErr("filter", "ns"); (err == nil) != (c.release < 5) { // their names are UUIDs since 5.0
			break
		}
		for _, ch := range c.chunks {
			batch = append(batch, bson.D{{Key: "min", Value: ch.Min}, {Key: "max", Value: ch.Max}, {Key: "shard", Value: ch.Shard}})
		}
	case "tags":
		for _, z := range c.zones {
			batch = append(batch, z)
		}
	}
	return cursor(batch)
}

func (c *clusterOf) status() bson.Raw {
	users, privileges := bson.A{}, bson.A{}
	if c.rights != nil {
		users = append(users, bson.D{{Key: "user", Value: "app"}})
		privileges = append(privileges, bson.D{{Key: "resource", Value: bson.D{{Key: "db", Value: "plimsoll"}, {Key: "collection", Value: ""}}},
			{Key: "actions", Value: c.rights}}, bson.D{{Key: "resource", Value: bson.D{{Key: "cluster", Value: true}}}, {Key: "actions", Value: bson.A{"moveChunk"}}})
	}
	return raw(bson.D{{Key: "ok", Value: 1}, {Key: "authInfo", Value: bson.D{{Key: "authenticatedUsers", Value: users},
		{Key: "authenticatedUserPrivileges", Value: privileges}}}})
}

// shard makes one chunk, or so many of a hashed key as are asked for, which lie in turn on the shards.
func (c *clusterOf) shard(d bson.Raw) ([]byte, error) {
	n := int32(1)
	if v, err := d.LookupErr("numInitialChunks"); err == nil {
		if c.release >= 8 {
			return nil, &store.ServerError{Code: 40415, Message: "BSON field 'shardCollection.numInitialChunks' is an unknown field."}
		}
		n = v.Int32()
	}
	c.entry = bson.D{{Key: "_id", Value: testNamespace}, {Key: "key", Value: d.Lookup("key")}, {Key: "unique", Value: d.Lookup("unique")}}
	if c.release >= 5 {
		c.entry = append(c.entry, bson.E{Key: "timestamp", Value: bson.Timestamp{T: 7}}, bson.E{Key: "uuid", Value: "a UUID"})
	}
	c.chunks = chunksAt(c.shards, borders(int(n))...)
	return raw(bson.D{{Key: "ok", Value: 1}}), nil
}

// borders are the keys between n chunks.
func borders(n int) (list []string) {
	for i := 1; i < n; i++ {
		list = append(list, fmt.Sprintf("k%03d", i))
	}
	return list
}

// chunksAt are chunks with borders in between, in turn on shards.
func chunksAt(shards []string, at ...string) []chunk {
	doc := func(s string) bson.Raw { return raw(bson.D{{Key: "_id", Value: s}}) }
	all := append(append([]string{""}, at...), "z")
	var list []chunk
	for i := range len(all) - 1 {
		list = append(list, chunk{doc(all[i]), doc(all[i+1]), shards[i%len(shards)]})
	}
	return list
}

func (c *clusterOf) spread() []string {
	var list []string
	for _, ch := range c.chunks {
		list = append(list, ch.Min.Lookup("_id").StringValue()+" "+ch.Shard)
	}
	return list
}

// What was sharded is sharded in the same way after it was dropped: with its key, uniqueness, options, chunks on their
// shards and zones, by every way in which a release makes chunks, also while the cluster is busy.
func TestShardingIsRestored(t *testing.T) {
	collation := bson.D{{Key: "collation", Value: bson.D{{Key: "locale", Value: "sv"}}}}
	zones := []bson.D{{{Key: "min", Value: bson.D{{Key: "_id", Value: ""}}},
		{Key: "max", Value: bson.D{{Key: "_id", Value: "k001"}}}, {Key: "tag", Value: "north"}}}
	for _, release := range []int{4, 6, 8} {
		for name, was := range map[string]clusterOf{
			"hashed": {chunks: chunksAt([]string{"s1", "s2"}, borders(4)...),
				entry: bson.D{{Key: "key", Value: bson.D{{Key: "_id", Value: "hashed"}}}}},
			"hashed, moved": {chunks: chunksAt([]string{"s2", "s1", "s1"}, borders(5)...), busy: 3,
				entry: bson.D{{Key: "key", Value: bson.D{{Key: "_id", Value: "hashed"}}}}},
			"ranged": {chunks: chunksAt([]string{"s2", "s1"}, "b", "k", "t"), options: collation, zones: zones,
				entry: bson.D{{Key: "key", Value: bson.D{{Key: "_id", Value: 1}}}, {Key: "unique", Value: true}, {Key: "noBalance", Value: true}}},
		} {
			t.Run(fmt.Sprint(name, " ", release), func(t *testing.T) {
				c := was
				c.release, c.shards = release, []string{"s1", "s2"}
				c.entry = append(slices.Clone(c.entry), bson.E{Key: "_id", Value: testNamespace})
				if release >= 5 {
					c.entry = append(c.entry, bson.E{Key: "timestamp", Value: bson.Timestamp{T: 1}}, bson.E{Key: "uuid", Value: "a UUID"})
				}
				before, err := readSharding(t.Context(), &c, testNamespace)
				if err != nil || before == nil {
					t.Fatalf("read %v, error %v", before, err)
				}
				spread := c.spread()
				c.entry, c.options, c.chunks, c.zones = nil, nil, nil, nil // it is dropped
				if gone, err := readSharding(t.Context(), &c, testNamespace); gone != nil || err != nil {
					t.Fatalf("what was dropped is sharded: %v, error %v", gone, err)
				}
				if err := before.restore(t.Context(), &c); err != nil {
					t.Fatal(err)
				}
				after, err := readSharding(t.Context(), &c, testNamespace)
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(spread, c.spread()); diff != "" {
					t.Errorf("chunks (-before +after):\n%s", diff)
				}
				if diff := cmp.Diff(before.record(), after.record()); diff != "" {
					t.Errorf("sharding (-before +after):\n%s", diff)
				}
				if !bytes.Equal(before.options, after.options) || before.noBalance != slices.Contains(c.got, "update") {
					t.Errorf("options were %v and are %v; told was %v", before.options, after.options, c.got)
				}
			})
		}
	}
}

// A collection that its user could not shard again is not dropped, and the user is told what to enter.
func TestShardedIsNotDroppedWithoutRights(t *testing.T) {
	c := &clusterOf{release: 4, shards: []string{"s1", "s2"}, rights: []string{"find", "dropCollection", "splitChunk"},
		chunks: chunksAt([]string{"s1", "s2"}, "it's", `a"\b`), entry: bson.D{{Key: "_id", Value: testNamespace},
			{Key: "key", Value: bson.D{{Key: "_id", Value: 1}}}}}
	_, err := new(runner).mayDrop(t.Context(), c, testNamespace)
	if err == nil {
		t.Fatal("it may be dropped")
	}
	for _, want := range []string{"may not do enableSharding, moveChunk (", "clusterManager", `db.getSiblingDB("plimsoll").runCommand(EJSON.parse('{"drop":"usertable"}'))`,
		`{"shardCollection":"plimsoll.usertable","key":{"_id":{"$numberInt":"1"}}`, `{"split":"plimsoll.usertable","middle":{"_id":"it\'s"}}`,
		`{"split":"plimsoll.usertable","middle":{"_id":"a\\"\\\\b"}}`, `"to":"s2"`} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("the error lacks %s:\n%v", want, err)
		}
	}
	c.rights = append(c.rights, "enableSharding", "moveChunk")
	if s, err := new(runner).mayDrop(t.Context(), c, testNamespace); s == nil || err != nil {
		t.Errorf("got %v, error %v", s, err)
	}
	if c.entry = nil; len(c.got) != 0 {
		t.Errorf("it was changed by %v", c.got)
	}
	if s, err := new(runner).mayDrop(t.Context(), c, testNamespace); s != nil || err != nil {
		t.Errorf("what is not sharded: %v, error %v", s, err)
	}
}

// Who may not read how a collection is sharded drops it only if it is not.
func TestUnshardedIsDroppedBlindly(t *testing.T) {
	c := &clusterOf{release: 4, blind: true}
	if s, err := new(runner).mayDrop(t.Context(), c, testNamespace); s != nil || err != nil {
		t.Errorf("what is not sharded: %v, error %v", s, err)
	}
	c.entry = bson.D{{Key: "_id", Value: testNamespace}}
	if _, err := new(runner).mayDrop(t.Context(), c, testNamespace); err == nil || !strings.Contains(err.Error(), "its sharding is unknown") {
		t.Errorf("what is sharded may be dropped: error %v", err)
	}
}

func TestShardingRecord(t *testing.T) {
	s := sharding{namespace: testNamespace, key: raw(bson.D{{Key: "country", Value: 1}, {Key: "_id", Value: "hashed"}}),
		chunks: chunksAt([]string{"s1", "s2"}, "b", "k")}
	want := record.LabSharding{Namespace: testNamespace, Key: "country, _id hashed", Chunks: map[string]int64{"s1": 2, "s2": 1}}
	if diff := cmp.Diff(want, s.record()); diff != "" {
		t.Error(diff)
	}
}
