package main

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// dispatchRouter knows the commands of routers.
func (s *server) dispatchRouter(st *state, db, name string, command bson.D) bson.D {
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
	case "explain":
		return c.explain(db, command)
	}
	return failed(59, "CommandNotFound", "no such command: '"+name+"'")
}

// notYet is what a cluster whose config servers have just elected a primary says for a while: here more often than
// somebody tries who gives up after ten refusals.
func (s *server) notYet(c *cluster) bson.D {
	said := []bson.D{
		failed(133, "FailedToSatisfyReadPreference", "Could not find host matching read preference { mode: \"primary\" }"),
		failed(117, "ConflictingOperationInProgress", "another change is under way"),
		failed(11602, "InterruptedDueToReplStateChange", "operation was interrupted"),
		failed(10107, "NotWritablePrimary", "not primary"),
	}
	if c.Failures++; !s.is("sharding-not-yet") || c.Failures%13 == 0 {
		return nil
	}
	return said[c.Failures%len(said)]
}

// addShard adds a replica set (manual: "addShard"). Since 5.0 one whose implicit default write concern is w: 1 needs a
// default of the cluster (manual: "Write Concern", implicit default).
func (s *server) addShard(st *state, command bson.D) bson.D {
	c := &st.Cluster
	switch {
	case s.is("add-shard-fails"):
		return failed(133, "FailedToSatisfyReadPreference", "Could not find host matching read preference { mode: \"primary\" }")
	case s.is("add-shard-refused"):
		return failed(20, "IllegalOperation", "a shard of that name exists")
	}
	if not := s.notYet(c); not != nil {
		return not
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
	if not := s.notYet(c); not != nil {
		return not
	}
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
	i, there := slices.BinarySearchFunc(col.Chunks, at, func(ch chunk, low string) int {
		return strings.Compare(ch.Low, low)
	})
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
		var by any = int32(1)
		if c.Collections[id].Hashed {
			by = "hashed"
		}
		batch = bson.A{bson.D{{Key: "_id", Value: id}, {Key: "uuid", Value: uuidOf(id)},
			{Key: "key", Value: bson.D{{Key: c.Collections[id].Key, Value: by}}}}}
	case of == "shards":
		for _, name := range c.Shards {
			batch = append(batch, bson.D{{Key: "_id", Value: name}, {Key: "host", Value: c.Hosts[name]}})
		}
	case of == "databases" && len(c.Shards) > 0: // a database is made on the first shard
		batch = bson.A{bson.D{{Key: "_id", Value: id}, {Key: "primary", Value: c.Shards[0]}}}
	case of == "chunks":
		batch = c.chunksOf(s, sub(command, "filter"))
	}
	return cursorOf("config."+of, batch)
}

// chunksOf are the chunks of the collection that a filter names, which they do by ns before 5.0 and by uuid since.
func (c *cluster) chunksOf(s *server, filter bson.D) bson.A {
	list := bson.A{}
	either, _ := get(filter, "$or").(bson.A)
	for ns, col := range c.Collections {
		meant := false
		for _, one := range either {
			d, _ := one.(bson.D)
			uuid, _ := get(d, "uuid").(bson.Binary)
			meant = meant || s.atLeast(5, 0) && uuid.Equal(uuidOf(ns)) || !s.atLeast(5, 0) && text(d, "ns") == ns
		}
		for i := range col.Chunks {
			if meant {
				list = append(list, bson.D{{Key: "min", Value: bson.D{{Key: col.Key, Value: col.low(i)}}},
					{Key: "shard", Value: col.Chunks[i].Shard}})
			}
		}
	}
	return list
}

// low is where a chunk begins. Those of hashes divide all of them evenly.
func (col *collection) low(i int) any {
	switch {
	case i == 0:
		return bson.MinKey{}
	case !col.Hashed:
		return col.Chunks[i].Low
	}
	return int64(uint64(1)<<63 + uint64(i)*(math.MaxUint64/uint64(len(col.Chunks))))
}

// explain says to which shard a router would send a find by _id (manual: "explain", sharded collections; "Hashed
// Indexes").
func (c *cluster) explain(db string, command bson.D) bson.D {
	find := sub(command, "explain")
	col := c.Collections[db+"."+text(find, "find")]
	shard := c.Shards[0]
	if id := raw(sub(find, "filter")).Lookup("_id"); id.Type != 0 && col != nil && col.Hashed {
		shard = col.hashed(hash(id))
	}
	return good(bson.E{Key: "queryPlanner", Value: bson.D{{Key: "winningPlan", Value: bson.D{{Key: "stage", Value: "SINGLE_SHARD"},
		{Key: "shards", Value: bson.A{bson.D{{Key: "shardName", Value: shard}}}}}}}})
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
