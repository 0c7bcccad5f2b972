package main

import (
	"crypto/md5"
	"encoding/binary"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// findShardLimit is how long a router looks for a member of a shard that can do a command (mongos: 20 s).
const findShardLimit = 20 * time.Second

// routing is what a router knows of its shards.
type routing struct {
	mu    sync.Mutex
	known *state // as the shared file was at the time below
	at    time.Time
	size  int64
	idle  map[string][]*link // to servers, by address
}

// look is the shared state as it was written last. It is only to be read.
func (s *server) look() *state {
	g := &s.routing
	g.mu.Lock()
	defer g.mu.Unlock()
	file := filepath.Join(s.shared, "state.json")
	fi, err := os.Stat(file)
	if err == nil && g.known != nil && fi.ModTime().Equal(g.at) && fi.Size() == g.size {
		return g.known
	}
	b, err := os.ReadFile(file)
	check(err)
	st := &state{Cluster: newCluster(), shared: s.shared}
	check(json.Unmarshal(b, st))
	g.known, g.at, g.size = st, fi.ModTime(), fi.Size()
	return st
}

// routes says whether a command is one that a router passes on to shards.
func (s *server) routes(db, name string) bool {
	_, documents := onDocuments[name]
	return s.router && documents && name != "getMore" && !slices.Contains([]string{"admin", "config", "local"}, db) &&
		len(s.look().Cluster.Shards) > 0
}

// route does a command on documents on the shards that have them (manual: "mongos").
func (s *server) route(db, name string, command bson.D) bson.D {
	of, _ := command[0].Value.(string)
	c := &s.look().Cluster
	switch name {
	case "insert":
		return s.split(db, command, "documents", c, func(v any) (string, bool) { return c.shardOf(db, of, raw(v)) })
	case "update", "delete":
		return s.split(db, command, name+"s", c, func(v any) (string, bool) { return c.shardOf(db, of, raw(sub(asD(v), "q"))) })
	case "drop", "dropDatabase":
		reply := s.broadcast(db, command, c.Shards)
		check(s.change(func(st *state) error {
			for ns := range st.Cluster.Collections {
				if ns == db+"."+of || name == "dropDatabase" && strings.HasPrefix(ns, db+".") {
					delete(st.Cluster.Collections, ns)
				}
			}
			return nil
		}))
		return reply
	case "createIndexes":
		return s.broadcast(db, command, c.Shards)
	}
	targets := c.Shards
	filter := sub(command, map[string]string{"find": "filter", "count": "query", "aggregate": ""}[name])
	if shard, one := c.shardOf(db, of, raw(filter)); one {
		targets = []string{shard}
	}
	return s.gather(db, name, command, targets)
}

// shardOf is the shard of the document that a filter, or the document itself, names by its key; false if it names none,
// or several could have it.
func (c *cluster) shardOf(db, of string, filter bson.Raw) (string, bool) {
	col := c.Collections[db+"."+of]
	if col == nil {
		if primary := c.Databases[db]; primary != "" {
			return primary, true
		}
		return c.Shards[0], true
	}
	key := filter.Lookup(col.Key)
	if _, operators := key.DocumentOK(); key.Type == 0 || operators {
		return "", false
	}
	if !col.Hashed {
		text, _ := key.StringValueOK()
		i := len(col.Chunks) - 1
		for i > 0 && col.Chunks[i].Low > text {
			i--
		}
		return col.Chunks[i].Shard, true
	}
	return col.hashed(hash(key)), true
}

// hashed is the shard of a hash.
func (col *collection) hashed(hash int64) (shard string) {
	for i := range col.Chunks {
		if low, above := col.low(i).(int64); !above || low <= hash {
			shard = col.Chunks[i].Shard
		}
	}
	return shard
}

// hash is that of hashed indexes for the types that keys have here (manual: "Hashed Indexes"): a seed, the place of the
// type in the order of types, and the bytes of the value; whole numbers have 64 bits.
func hash(v bson.RawValue) int64 {
	place, value := map[bson.Type]byte{bson.TypeString: 15, bson.TypeObjectID: 35, bson.TypeInt32: 10,
		bson.TypeInt64: 10}[v.Type], v.Value
	if v.Type == bson.TypeInt32 {
		value = binary.LittleEndian.AppendUint64(nil, uint64(int64(v.Int32())))
	}
	sum := md5.Sum(append([]byte{0, 0, 0, 0, place, 0, 0, 0}, value...))
	return int64(binary.LittleEndian.Uint64(sum[:]))
}

// part is the statements of a command that go to one shard; their places in the command are kept.
type part struct {
	shard  string
	places []int
	list   bson.A
}

// split sends each statement of a writing command to its shard, and those that name no single document to all. Ordered
// ones are done one after the other, and end with the first that fails.
func (s *server) split(db string, command bson.D, field string, c *cluster, where func(any) (string, bool)) bson.D {
	list, ordered := statements(command, field)
	var parts []part
	add := func(shard string, place int, v any) {
		i := slices.IndexFunc(parts, func(p part) bool { return p.shard == shard })
		if ordered && i != len(parts)-1 || i < 0 {
			parts = append(parts, part{shard: shard})
			i = len(parts) - 1
		}
		parts[i].places, parts[i].list = append(parts[i].places, place), append(parts[i].list, v)
	}
	for place, v := range list {
		if shard, one := where(v); one {
			add(shard, place, v)
			continue
		}
		for _, shard := range c.Shards {
			add(shard, place, v)
		}
	}
	var all merged
	for _, p := range parts {
		own := replaced(command, field, p.list)
		reply, _ := s.onShard(db, p.shard, own)
		if get(reply, "ok") != 1.0 {
			return reply
		}
		if all.add(p, reply); ordered && len(all.errors) > 0 {
			break
		}
	}
	return all.reply()
}

// merged is what several shards answered to a writing command.
type merged struct {
	n, modified      int32
	errors, upserted bson.A
	more             []bson.E // of the write concern, and labels
}

func (m *merged) add(p part, reply bson.D) {
	m.n += int32(number(reply, "n"))
	m.modified += int32(number(reply, "nModified"))
	moved := func(field string) (list bson.A) {
		of, _ := get(reply, field).(bson.A)
		for _, v := range of {
			d := asD(v)
			list = append(list, replaced(d, "index", int32(p.places[int(number(d, "index"))])))
		}
		return list
	}
	m.errors, m.upserted = append(m.errors, moved("writeErrors")...), append(m.upserted, moved("upserted")...)
	for _, name := range []string{"writeConcernError", "errorLabels"} {
		if v := get(reply, name); v != nil && get(m.more, name) == nil {
			m.more = append(m.more, bson.E{Key: name, Value: v})
		}
	}
}

func (m *merged) reply() bson.D {
	d := bson.D{{Key: "n", Value: m.n}, {Key: "nModified", Value: m.modified}}
	if len(m.errors) > 0 {
		d = append(d, bson.E{Key: "writeErrors", Value: m.errors})
	}
	if len(m.upserted) > 0 {
		d = append(d, bson.E{Key: "upserted", Value: m.upserted})
	}
	return good(append(d, m.more...)...)
}

// replaced is a document with another value of a field, which it has.
func replaced(d bson.D, field string, v any) bson.D {
	own := slices.Clone(d)
	for i := range own {
		if own[i].Key == field {
			own[i].Value = v
		}
	}
	return own
}

// broadcast sends a command to shards; the answer is the first that is good, or the last.
func (s *server) broadcast(db string, command bson.D, shards []string) (reply bson.D) {
	for _, shard := range shards {
		if r, _ := s.onShard(db, shard, command); reply == nil || get(reply, "ok") != 1.0 {
			reply = r
		}
	}
	return reply
}

// gather sends a reading command to shards and puts their answers together.
func (s *server) gather(db, name string, command bson.D, shards []string) bson.D {
	var found []bson.Raw
	n := int32(0)
	shard := slices.DeleteFunc(slices.Clone(command), func(e bson.E) bool { return e.Key == "batchSize" || e.Key == "singleBatch" })
	for _, id := range shards {
		reply, addr := s.onShard(db, id, shard)
		for field := "firstBatch"; ; field = "nextBatch" {
			if get(reply, "ok") != 1.0 {
				return reply
			}
			n += int32(number(reply, "n"))
			cur := sub(reply, "cursor")
			docs, _ := get(cur, field).(bson.A)
			for _, v := range docs {
				found = append(found, raw(v))
				n += int32(number(asD(v), "n"))
			}
			more, _ := get(cur, "id").(int64)
			if more == 0 {
				break
			}
			reply, _ = s.routed(addr, db, time.Minute, bson.D{{Key: "getMore", Value: more}, {Key: "collection", Value: command[0].Value}})
		}
	}
	of, _ := command[0].Value.(string)
	switch {
	case name == "count":
		return good(bson.E{Key: "n", Value: n})
	case name == "aggregate" && len(found) > 0: // it counts documents
		return cursorOf(db+"."+of, bson.A{bson.D{{Key: "_id", Value: int32(1)}, {Key: "n", Value: n}}})
	}
	if most := int(number(command, "limit")); most > 0 {
		found = found[:min(most, len(found))]
	}
	size := 101 // manual: "find", batchSize
	if get(command, "batchSize") != nil {
		size = int(number(command, "batchSize"))
	}
	r := s.replica
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.batch("firstBatch", db+"."+of, found, size, get(command, "singleBatch") == true)
}

// onShard does a command on a member of a shard: its primary, or a secondary for who reads those. It looks for one
// while there is none, and tries again what may be tried again (manual: "Retryable Writes"). addr is the member that
// answered.
func (s *server) onShard(db, shard string, command bson.D) (reply bson.D, addr string) {
	limit := findShardLimit
	if n := number(command, "maxTimeMS"); n > 0 {
		limit = min(limit, time.Duration(n)*time.Millisecond)
	}
	again := number(command, "txnNumber") > 0 || !onDocuments[command[0].Key]
	for end := time.Now().Add(limit); ; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			return failed(133, "FailedToSatisfyReadPreference", "Could not find host matching read preference { mode: \"primary\" } for set "+shard), ""
		}
		addr = s.memberFor(shard, text(sub(command, "$readPreference"), "mode"))
		if addr == "" {
			continue
		}
		reply, err := s.routed(addr, db, max(time.Until(end), time.Second), command)
		switch {
		case reply == nil && !again:
			return failed(6, "HostUnreachable", "could not get an answer of "+addr+": "+err.Error()), addr
		case reply == nil, slices.Contains([]any{int32(10107), int32(13435), int32(13436), int32(11600)}, get(reply, "code")):
			continue
		}
		return reply, addr
	}
}

// memberFor is the address of a member of a shard for a read preference, empty if there is none.
func (s *server) memberFor(shard, mode string) string {
	st := s.look()
	set, _, _ := strings.Cut(st.Cluster.Hosts[shard], "/")
	rs := st.Sets[set]
	if rs == nil {
		return ""
	}
	if mode == "secondary" || mode == "secondaryPreferred" {
		for _, m := range rs.members() {
			if !m.arbiter && m.host != rs.Primary && st.alive(m.host) {
				return m.host
			}
		}
	}
	if mode == "secondary" {
		return ""
	}
	return rs.Primary
}

// routed has a server do a command as its own. There is no reply where it did not answer.
func (s *server) routed(addr, db string, limit time.Duration, command bson.D) (bson.D, error) {
	g := &s.routing
	g.mu.Lock()
	var l *link
	if n := len(g.idle[addr]); n > 0 {
		l, g.idle[addr] = g.idle[addr][n-1], g.idle[addr][:n-1]
	} else {
		l = &link{to: addr, tls: s.tls}
	}
	g.mu.Unlock()
	reply, err := l.ask(limit, bson.D{{Key: "standinRouted", Value: db}, {Key: "command", Value: command}})
	if err == nil {
		g.mu.Lock()
		defer g.mu.Unlock()
		if g.idle == nil {
			g.idle = map[string][]*link{}
		}
		g.idle[addr] = append(g.idle[addr], l)
	}
	return reply, err
}
