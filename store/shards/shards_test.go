package shards

import (
	"context"
	"encoding/json"
	"math"
	"strings"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/plimsoll-bench/plimsoll/server"
)

// config has the metadata of a cluster and the replies of a router.
type config struct {
	shards      []string
	databases   map[string]string
	collections map[string]bson.D
	chunks      map[string][]bson.D // by namespace
	uuids       bool                // chunks name their collection by UUID
	docs        map[string]bool     // collections that have documents
	liar        bool                // the router sends everything to the first shard
	ran         []string
	refused     map[string]error
}

func (c *config) RunCommand(_ context.Context, db string, cmd []byte) ([]byte, error) {
	var d bson.D
	if err := bson.Unmarshal(cmd, &d); err != nil {
		return nil, err
	}
	raw := bson.Raw(cmd)
	name := d[0].Key
	of, _ := raw.Lookup(name).StringValueOK()
	batch := bson.A{}
	switch {
	case name == "find" && db == "config":
		id, _ := raw.Lookup("filter", "_id").StringValueOK()
		switch of {
		case "shards":
			for _, s := range c.shards {
				batch = append(batch, bson.D{{Key: "_id", Value: s}})
			}
		case "databases":
			if p := c.databases[id]; p != "" {
				batch = append(batch, bson.D{{Key: "_id", Value: id}, {Key: "primary", Value: p}})
			}
		case "collections":
			if e := c.collections[id]; e != nil {
				batch = append(batch, e)
			}
		case "chunks":
			values, err := raw.Lookup("filter", "$or").Array().Values()
			if err != nil {
				return nil, err
			}
			for ns, list := range c.chunks {
				for _, v := range values {
					uuid, _ := v.Document().Lookup("uuid").StringValueOK()
					by, _ := v.Document().Lookup("ns").StringValueOK()
					if c.uuids && uuid == "uuid of "+ns || !c.uuids && by == ns {
						for _, chunk := range list {
							batch = append(batch, chunk)
						}
					}
				}
			}
		}
	case name == "find":
		if c.docs[db+"."+of] {
			batch = append(batch, bson.D{{Key: "_id", Value: 1}})
		}
	case name == "explain":
		return c.explain(db, raw)
	default:
		c.ran = append(c.ran, name+" "+of)
		if err := c.refused[name]; err != nil && (name != "shardCollection" || raw.Lookup("numInitialChunks").Type != 0) {
			return nil, err
		}
		if name == "shardCollection" {
			c.sharded(of, true, math.MinInt64, -1<<62, 0, 1<<62)
		}
	}
	return bson.Marshal(bson.D{{Key: "ok", Value: 1.0},
		{Key: "cursor", Value: bson.D{{Key: "id", Value: int64(0)}, {Key: "firstBatch", Value: batch}}}})
}

// sharded makes a collection of which the chunks lie on the shards in turn.
func (c *config) sharded(ns string, hashed bool, lows ...any) {
	var key any = int32(1)
	if hashed {
		key = "hashed"
	}
	if c.collections == nil {
		c.collections, c.chunks = map[string]bson.D{}, map[string][]bson.D{}
	}
	c.collections[ns] = bson.D{{Key: "_id", Value: ns}, {Key: "uuid", Value: "uuid of " + ns},
		{Key: "key", Value: bson.D{{Key: "_id", Value: key}}}}
	for i, low := range lows {
		if i == 0 {
			low = bson.MinKey{}
		}
		if n, ok := low.(int); ok {
			low = int64(n)
		}
		c.chunks[ns] = append(c.chunks[ns], bson.D{{Key: "min", Value: bson.D{{Key: "_id", Value: low}}},
			{Key: "shard", Value: c.shards[i%len(c.shards)]}})
	}
}

// explain answers as a router whose chunks are those of the configuration, or lies.
func (c *config) explain(db string, raw bson.Raw) ([]byte, error) {
	shard := c.shards[0]
	if !c.liar {
		m, err := Read(context.Background(), c, db, []string{raw.Lookup("explain", "find").StringValue()})
		if err != nil {
			return nil, err
		}
		shard = m.Shards[m.Of(raw.Lookup("explain", "find").StringValue(), raw.Lookup("explain", "filter").Document())]
	}
	return bson.Marshal(bson.D{{Key: "queryPlanner", Value: bson.D{{Key: "winningPlan", Value: bson.D{{Key: "shards",
		Value: bson.A{bson.D{{Key: "shardName", Value: shard}}}}}}}}})
}

var _ server.Commander = (*config)(nil)

// The hashes that a server 4.4.0 gives (its testing command _hashBSONElement).
func TestHash(t *testing.T) {
	id, err := bson.ObjectIDFromHex("0123456789abcdef01234567")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		value any
		want  int64
	}{
		{int32(42), hashOf42}, {int64(42), hashOf42}, {42.0, hashOf42}, {int64(-7), -8381112229427193224},
		{int64(1) << 60, 887014449726783458},
		{"user42", -1275050784038662843}, {"", 2049396243249673340}, {id, 2741278085215419733},
		{bson.Binary{Data: []byte{1, 2, 3}}, 3951208388112500718}, {true, 6405873908747105701}, {false, 6289544573401934092},
		{bson.DateTime(1600000000000), 1854503351959939879}, {nil, 2338878944348059895},
	} {
		doc, err := bson.Marshal(bson.D{{Key: "k", Value: c.value}})
		if err != nil {
			t.Fatal(err)
		}
		e, _ := first(doc)
		if got, ok := hash(e); !ok || got != c.want {
			t.Errorf("the hash of %T %v is %d, want %d", c.value, c.value, got, c.want)
		}
	}
	doc, err := bson.Marshal(bson.D{{Key: "k", Value: bson.Regex{Pattern: "x"}}})
	if err != nil {
		t.Fatal(err)
	}
	e, _ := first(doc)
	if _, ok := hash(e); ok {
		t.Error("a pattern is no key")
	}
}

const hashOf42 = -944302157085130861

// A document is on the shard of the chunk that holds its key, whichever way the chunks name their collection.
func TestOf(t *testing.T) {
	for _, uuids := range []bool{false, true} {
		c := &config{shards: []string{"shard2", "shard1"}, databases: map[string]string{"d": "shard2"}, uuids: uuids}
		c.sharded("d.hashed", true, math.MinInt64, -1<<62, 0, 1<<62)
		c.sharded("d.ranged", false, nil, "m")
		m, err := Read(t.Context(), c, "d", []string{"hashed", "ranged", "alone"})
		if err != nil {
			t.Fatal(err)
		}
		if strings.Join(m.Shards, " ") != "shard1 shard2" || strings.Join(m.On("hashed"), " ") != "shard1 shard2" || m.Problem() != "" {
			t.Fatalf("the map is %+v", m)
		}
		name := func(collection string, id any) string {
			doc, err := bson.Marshal(bson.D{{Key: "v", Value: 1}, {Key: "_id", Value: id}})
			if err != nil {
				t.Fatal(err)
			}
			at, by := m.Of(collection, doc), m.OfID(collection, idOf(doc))
			if at != by {
				t.Errorf("%v of %s is on %d by the document and on %d by its _id", id, collection, at, by)
			}
			if at < 0 {
				return ""
			}
			return m.Shards[at]
		}
		for _, x := range []struct {
			collection string
			id         any
			want       string
		}{
			// The hash of 42 is in the second chunk of four: on the second shard that was named. That of -7 is in the first one.
			{"hashed", int32(42), "shard1"}, {"hashed", int64(-7), "shard2"}, {"ranged", "a", "shard2"}, {"ranged", "m", "shard1"}, {"ranged", "z", "shard1"},
			{"alone", "x", "shard2"}, {"alone", bson.NewObjectID(), "shard2"}, {"unheard", "x", ""}, {"ranged", bson.D{{Key: "$gt", Value: "a"}}, ""},
		} {
			if got := name(x.collection, x.id); got != x.want {
				t.Errorf("%v of %s is on %q, want %q", x.id, x.collection, got, x.want)
			}
		}
		text, err := json.Marshal(m)
		back := new(Map)
		if err == nil {
			err = json.Unmarshal(text, back)
		}
		if err != nil || !m.Same(back) {
			t.Errorf("the map does not travel: %v, %s", err, text)
		}
	}
}

func idOf(doc []byte) []byte { e, _ := element(doc, "_id"); return e }

// All keys of an order are placed as a server compares them.
func TestSortKey(t *testing.T) {
	ascending := []any{bson.MinKey{}, nil, int64(math.MinInt64), int32(-3), float64(0), int32(7), int64(math.MaxInt64), "",
		"a", "aa", "b",
		bson.ObjectID{1}, bson.ObjectID{2}, false, true, bson.DateTime(-5), bson.DateTime(9), bson.MaxKey{}}
	var last []byte
	for i, v := range ascending {
		doc, err := bson.Marshal(bson.D{{Key: "k", Value: v}})
		if err != nil {
			t.Fatal(err)
		}
		e, _ := first(doc)
		key, ok := sortKey(nil, e)
		if !ok || i > 0 && string(last) >= string(key) {
			t.Errorf("%v has the key %x, what comes before it %x", v, key, last)
		}
		last = key
	}
}

// Chunks that were moved are seen, those that were only split are not.
func TestSame(t *testing.T) {
	at := func(shards ...int) *Map {
		col := Collection{Field: "_id", Sharded: true}
		for i, s := range shards {
			col.Chunks = append(col.Chunks, Chunk{Low: []byte{byte(i)}, Shard: s})
		}
		return &Map{Shards: []string{"a", "b"}, Collections: map[string]Collection{"c": col}}
	}
	if !at(0, 1).Same(at(0, 1, 1)) || at(0, 1).Same(at(0, 0)) || at(0, 1).Same(at(1, 1)) {
		t.Error("moved and split chunks are not told apart")
	}
}

// A placement that the router contradicts is none.
func TestCheck(t *testing.T) {
	c := &config{shards: []string{"shard1", "shard2"}, databases: map[string]string{"d": "shard1"}}
	c.sharded("d.c", true, math.MinInt64, -1<<62, 0, 1<<62)
	m, err := Read(t.Context(), c, "d", []string{"c"})
	if err != nil {
		t.Fatal(err)
	}
	ids := make([]bson.ObjectID, 32)
	for i := range ids {
		ids[i] = bson.NewObjectID()
		ids[i][0] = byte(i)
	}
	if err := m.Check(t.Context(), c, "d", "c", ids); err != nil {
		t.Error(err)
	}
	c.liar = true
	if err := m.Check(t.Context(), c, "d", "c", ids); err == nil || !strings.Contains(err.Error(), "is in a chunk of shard2") {
		t.Errorf("the router contradicts: %v", err)
	}
}

// An empty collection is sharded; a collection with documents is not changed.
func TestSpread(t *testing.T) {
	cluster := func() *config {
		return &config{shards: []string{"shard1", "shard2"}, databases: map[string]string{"d": "shard1"}, docs: map[string]bool{}}
	}
	c := cluster()
	if err := Spread(t.Context(), c, "d", "c"); err != nil || strings.Join(c.ran, ", ") != "enableSharding d, shardCollection d.c" {
		t.Errorf("%v after %q", err, c.ran)
	}
	if err := Spread(t.Context(), c, "d", "c"); err != nil || len(c.ran) != 2 {
		t.Errorf("a second time: %v after %q", err, c.ran)
	}
	c = cluster()
	c.docs["d.c"] = true
	if err := Spread(t.Context(), c, "d", "c"); err == nil || !strings.Contains(err.Error(), "d.c: it has documents") || len(c.ran) > 0 {
		t.Errorf("with documents: %v after %q", err, c.ran)
	}
	c = cluster()
	c.refused = map[string]error{"shardCollection": errUnknownField{}}
	if err := Spread(t.Context(), c, "d", "c"); err != nil || len(c.ran) != 3 {
		t.Errorf("without numInitialChunks: %v after %q", err, c.ran)
	}
}

type errUnknownField struct{}

func (errUnknownField) Error() string {
	return "(IDLUnknownField) BSON field 'shardCollection.numInitialChunks' is an unknown field."
}
