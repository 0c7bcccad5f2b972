package own

import (
	"bytes"
	"fmt"
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/x/bsonx/bsoncore"

	"github.com/plimsoll-bench/plimsoll/internal/rawbson"
	"github.com/plimsoll-bench/plimsoll/workload"
)

// shard compiles the distribution of a collection.
func (k *collection) shard(c *compiler, p *Plan) error {
	of := k.of.Shard
	if of == nil {
		return nil
	}
	s := workload.Sharding{Collection: k.name, Unique: of.Unique, Chunks: int(of.Chunks)}
	var err error
	if s.Key, err = c.fixed(of.Key, "key"); err != nil {
		return fmt.Errorf("shard of collection %s: %w", k.name, err)
	}
	elements, _ := bsoncore.Document(s.Key).Elements()
	for _, e := range elements {
		how, _ := e.Value().StringValueOK()
		s.Hashed = s.Hashed || how == "hashed"
	}
	for i := range of.Zones {
		z := &of.Zones[i]
		zone := workload.Zone{Name: z.Name, Shards: z.Shards}
		if zone.From, err = c.fixed(z.From, "from"); err == nil {
			zone.To, err = c.fixed(z.To, "to")
		}
		if err != nil {
			return fmt.Errorf("zone %s of collection %s: %w", z.Name, k.name, err)
		}
		s.Zones = append(s.Zones, zone)
	}
	k.sharding = &s
	p.sharded = append(p.sharded, k)
	return nil
}

// sampledKeys is the number of documents whose shard keys give the split points.
const sampledKeys = 2000

var _ workload.Sharder = (*Plan)(nil)

// The split points of ranged keys are quantiles of the documents of the load phase. Keys of several types are split by
// the first type only.
func (p *Plan) Shardings() []workload.Sharding {
	var list []workload.Sharding
	for _, k := range p.sharded {
		s := *k.sharding
		if !s.Hashed && s.Chunks > 1 && k.set.Loaded() > 0 {
			s.Points = p.quantiles(k, s)
		}
		list = append(list, s)
	}
	return list
}

func (p *Plan) quantiles(k *collection, s workload.Sharding) [][]byte {
	e := p.newEnv(0, 1)
	n := min(k.set.Loaded(), sampledKeys)
	fields, _ := bsoncore.Document(s.Key).Elements()
	var keys [][]byte
	for i := range n {
		doc := k.append(nil, e, i*(k.set.Loaded()/n))
		dst, at := rawbson.Open(nil)
		for _, f := range fields {
			v := bson.Raw(doc).Lookup(splitPath(f.Key())...)
			if v.Type == 0 {
				v = bson.RawValue{Type: bson.TypeNull}
			}
			dst = append(bsoncore.AppendHeader(dst, bsoncore.Type(v.Type), f.Key()), v.Value...)
		}
		keys = append(keys, rawbson.Close(dst, at))
	}
	slices.SortFunc(keys, compareKeys)
	keys = slices.CompactFunc(keys, bytes.Equal)
	var points [][]byte
	for i := 1; i < s.Chunks; i++ {
		p := keys[i*len(keys)/s.Chunks]
		if i*len(keys)/s.Chunks > 0 && (len(points) == 0 || !bytes.Equal(p, points[len(points)-1])) {
			points = append(points, p)
		}
	}
	return points
}

func splitPath(path string) []string {
	var parts []string
	for part := range bytes.SplitSeq([]byte(path), []byte{'.'}) {
		parts = append(parts, string(part))
	}
	return parts
}

// compareKeys orders shard keys by their values: numbers, dates, and texts and other bytes.
func compareKeys(a, b []byte) int {
	x, _ := bsoncore.Document(a).Elements()
	y, _ := bsoncore.Document(b).Elements()
	for i := range min(len(x), len(y)) {
		v, w := x[i].Value(), y[i].Value()
		n, numeric := v.AsInt64OK()
		m, same := w.AsInt64OK()
		c := 0
		switch {
		case numeric && same && n != m:
			c = 1
			if n < m {
				c = -1
			}
		case v.Type == bsoncore.TypeDateTime && w.Type == bsoncore.TypeDateTime:
			c = int(min(max(v.DateTime()-w.DateTime(), -1), 1))
		default:
			s, _ := v.StringValueOK()
			t, _ := w.StringValueOK()
			if c = bytes.Compare([]byte(s), []byte(t)); s == "" {
				c = bytes.Compare(v.Data, w.Data)
			}
		}
		if c != 0 {
			return c
		}
	}
	return 0
}
