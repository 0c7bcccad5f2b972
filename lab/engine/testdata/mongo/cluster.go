package main

import (
	"fmt"
	"slices"
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// dispatchRouter knows the commands of routers.
func (s *server) dispatchRouter(st *state, name string, command bson.D) bson.D {
	c := &st.Cluster
	switch name {
	case "listShards":
		shards := bson.A{}
		for _, id := range c.Shards {
			shards = append(shards, bson.D{{Key: "_id", Value: id}, {Key: "host", Value: c.Hosts[id]}, {Key: "state", Value: int32(1)}})
		}
		return good(bson.E{Key: "shards", Value: shards})
	case "addShard":
		return s.addShard(st, command)
	case "setDefaultRWConcern":
		c.Concern = true
		return good()
	case "balancerStop":
		c.Balancer = false
		return good()
	case "enableSharding":
		db := text(command, name)
		c.Enabled[db] = true
		c.Databases[db] = c.Shards[0]
		return good()
	case "shardCollection":
		return s.shardCollection(st, command)
	case "split":
		return c.split(command)
	case "moveChunk":
		return c.move(command)
	case "aggregate":
		return s.countChunks(st, command)
	}
	return failed(59, "CommandNotFound", "no such command: '"+name+"'")
}

// addShard adds a replica set (manual: "addShard"). Since 5.0 one whose implicit default write concern is w: 1 needs a
// default of the cluster (manual: "Write Concern", implicit default).
func (s *server) addShard(st *state, command bson.D) bson.D {
	c := &st.Cluster
	if s.is("add-shard-fails-twice") && c.Failures < 2 || s.is("add-shard-fails") {
		c.Failures++
		return failed(133, "FailedToSatisfyReadPreference", "Could not find host matching read preference { mode: \"primary\" }")
	}
	set, hosts, ok := strings.Cut(text(command, "addShard"), "/")
	rs := st.Sets[set]
	if !ok || rs == nil || rs.Primary == "" {
		return failed(133, "FailedToSatisfyReadPreference", "Could not find host matching read preference { mode: \"primary\" } for set "+set)
	}
	arbiters, data, votes := 0, 0, 0
	for _, m := range rs.members() {
		votes += m.votes
		switch {
		case m.arbiter:
			arbiters++
		case m.votes > 0:
			data++
		}
		if !st.Servers[m.host].ShardSvr {
			return failed(96, "OperationFailed", "Cannot add "+set+" as a shard since its members were not started with --shardsvr")
		}
	}
	if s.atLeast(5, 0) && arbiters > 0 && data <= votes/2+1 && !c.Concern {
		return failed(96, "OperationFailed", "Cannot add "+set+" as a shard since the implicit default write concern on this shard is set to {w : 1}, because number of arbiters in the shard's configuration caused the number of writable voting members not to be strictly more than the voting majority. Change the shard configuration or set the cluster-wide write concern using the setDefaultRWConcern command and try again.")
	}
	name := text(command, "name")
	if slices.Contains(c.Shards, name) {
		return failed(20, "IllegalOperation", "a shard of that name exists")
	}
	c.Shards = append(c.Shards, name)
	c.Hosts[name] = set + "/" + hosts
	return good(bson.E{Key: "shardAdded", Value: name})
}

// shardCollection makes the first chunks (manual: "shardCollection", "Sharding Empty Collections").
func (s *server) shardCollection(st *state, command bson.D) bson.D {
	c := &st.Cluster
	ns := text(command, "shardCollection")
	db, _, _ := strings.Cut(ns, ".")
	if !s.atLeast(6, 0) && !c.Enabled[db] { // "enableSharding": not needed since 6.0
		return failed(20, "IllegalOperation", "sharding not enabled for db "+db)
	}
	if len(c.Shards) == 0 {
		return failed(70, "ShardNotFound", "there are no shards")
	}
	key := sub(command, "key")
	if len(key) != 1 {
		return failed(2, "BadValue", "one field is expected")
	}
	if c.Databases[db] == "" {
		c.Databases[db] = c.Shards[0]
	}
	col := &collection{Key: key[0].Key, Hashed: key[0].Value == "hashed"}
	n := 2 * len(c.Shards)
	if wanted := get(command, "numInitialChunks"); wanted != nil {
		if s.atLeast(7, 2) { // "shardCollection" of 7.2 and later does not have it
			return failed(40415, "IDLUnknownField", "BSON field 'shardCollection.numInitialChunks' is an unknown field.")
		}
		n = int(number(command, "numInitialChunks"))
	} else if s.atLeast(7, 2) {
		n = len(c.Shards)
	}
	if !col.Hashed {
		n = 1
	}
	for i := range n {
		low := ""
		if i > 0 {
			low = fmt.Sprintf("%05d", i)
		}
		shard := c.Shards[i*len(c.Shards)/n]
		if !col.Hashed || s.is("wrong-chunks") {
			shard = c.Databases[db]
		}
		col.Chunks = append(col.Chunks, chunk{low, shard})
	}
	c.Collections[ns] = col
	return good(bson.E{Key: "collectionsharded", Value: ns})
}

// split cuts the chunk that holds a key in two (manual: "split").
func (c *cluster) split(command bson.D) bson.D {
	col := c.Collections[text(command, "split")]
	if col == nil {
		return failed(118, "NamespaceNotSharded", "not sharded")
	}
	at := text(sub(command, "middle"), col.Key)
	i, there := slices.BinarySearchFunc(col.Chunks, at, func(ch chunk, low string) int { return strings.Compare(ch.Low, low) })
	if there || at == "" {
		return failed(96, "OperationFailed", "new split key is a boundary key of an existing chunk")
	}
	col.Chunks = slices.Insert(col.Chunks, i, chunk{at, col.Chunks[i-1].Shard})
	return good()
}

// move gives a chunk to a shard (manual: "moveChunk").
func (c *cluster) move(command bson.D) bson.D {
	col := c.Collections[text(command, "moveChunk")]
	to := text(command, "to")
	bounds, _ := get(command, "bounds").(bson.A)
	if col == nil || len(bounds) != 2 || !slices.Contains(c.Shards, to) {
		return failed(2, "BadValue", "no such collection, shard or bounds")
	}
	low, high := bound(bounds[0], col.Key), bound(bounds[1], col.Key)
	for i := range col.Chunks {
		end := ""
		if i+1 < len(col.Chunks) {
			end = col.Chunks[i+1].Low
		}
		if col.Chunks[i].Low == low && end == high {
			col.Chunks[i].Shard = to
			return good(bson.E{Key: "millis", Value: int32(1)})
		}
	}
	return failed(2, "BadValue", "no chunk has these bounds")
}

// bound is the key of a bound; MinKey and MaxKey are "".
func bound(v any, key string) string {
	d, _ := v.(bson.D)
	return text(d, key)
}

// uuidOf is a UUID for a namespace, the same each time.
func uuidOf(ns string) bson.Binary {
	b := make([]byte, 16)
	copy(b, ns)
	return bson.Binary{Subtype: 4, Data: b}
}

// find reads the few collections of the config database that are asked for (manual: "Config Database").
func (c *cluster) find(s *server, command bson.D) bson.D {
	of, id := text(command, "find"), text(sub(command, "filter"), "_id")
	batch := bson.A{}
	switch {
	case of == "databases" && c.Databases[id] != "":
		batch = bson.A{bson.D{{Key: "_id", Value: id}, {Key: "primary", Value: c.Databases[id]}}}
	case of == "collections" && c.Collections[id] != nil:
		d := bson.D{{Key: "_id", Value: id}}
		if s.atLeast(5, 0) {
			d = append(d, bson.E{Key: "uuid", Value: uuidOf(id)})
		}
		batch = bson.A{d}
	}
	return cursorOf("config."+of, batch)
}

// countChunks answers the aggregation by which chunks are counted per shard. They name their collection by ns before
// 5.0 and by uuid since.
func (s *server) countChunks(st *state, command bson.D) bson.D {
	pipeline, _ := get(command, "pipeline").(bson.A)
	if text(command, "aggregate") != "chunks" || len(pipeline) != 2 {
		return failed(2, "BadValue", "the stand-in only counts chunks")
	}
	first, _ := pipeline[0].(bson.D)
	match := sub(first, "$match")
	batch := bson.A{}
	for ns, col := range st.Cluster.Collections {
		uuid, _ := get(match, "uuid").(bson.Binary)
		if s.atLeast(5, 0) && !uuid.Equal(uuidOf(ns)) || !s.atLeast(5, 0) && text(match, "ns") != ns {
			continue
		}
		for _, shard := range st.Cluster.Shards {
			n := 0
			for _, ch := range col.Chunks {
				if ch.Shard == shard {
					n++
				}
			}
			if n > 0 {
				batch = append(batch, bson.D{{Key: "_id", Value: shard}, {Key: "n", Value: int32(n)}})
			}
		}
	}
	return cursorOf("config.chunks", batch)
}
