package run

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/server"
	"github.com/plimsoll-bench/plimsoll/store"
	"github.com/plimsoll-bench/plimsoll/store/shards"
)

// sharding is the complete distribution of a collection over shards, to restore it after a drop. Without that, the next
// insert would make an unsharded collection.
type sharding struct {
	namespace string
	key       bson.Raw
	unique    bool
	noBalance bool
	options   bson.Raw // of the collection, as create takes them: collation, validator, …
	chunks    []chunk  // in the order of the key
	zones     []zone
}

type chunk struct {
	Min   bson.Raw `bson:"min"`
	Max   bson.Raw `bson:"max"`
	Shard string   `bson:"shard"`
}

type zone struct {
	Min bson.Raw `bson:"min"`
	Max bson.Raw `bson:"max"`
	Tag string   `bson:"tag"`
}

// readSharding reads the sharding of a collection from the config database; nil if it is not sharded.
func readSharding(ctx context.Context, c server.Commander, namespace string) (*sharding, error) {
	entries, err := shards.Find(ctx, c, "collections", bson.D{{Key: "_id", Value: namespace}}, nil, 1)
	if err != nil || len(entries) == 0 {
		return nil, err
	}
	var entry struct {
		Key       bson.Raw       `bson:"key"`
		Unique    bool           `bson:"unique"`
		NoBalance bool           `bson:"noBalance"`
		Dropped   bool           `bson:"dropped"` // before 5.0 what was dropped stays
		Unsplit   bool           `bson:"unsplittable"`
		Since     bson.Timestamp `bson:"timestamp"` // since 5.0, when chunks name their collection by its UUID
		UUID      bson.RawValue  `bson:"uuid"`
	}
	if err := bson.Unmarshal(entries[0], &entry); err != nil {
		return nil, fmt.Errorf("cannot read config.collections of %s: %w", namespace, err)
	}
	if entry.Dropped || entry.Unsplit || len(entry.Key) == 0 {
		return nil, nil
	}
	s := &sharding{namespace: namespace, key: entry.Key, unique: entry.Unique, noBalance: entry.NoBalance}
	of := bson.D{{Key: "ns", Value: namespace}}
	if !entry.Since.IsZero() {
		of = bson.D{{Key: "uuid", Value: entry.UUID}}
	}
	if s.chunks, err = decodeAll[chunk](shards.Ranges(ctx, c, "chunks", of)); err != nil {
		return nil, err
	}
	if s.zones, err = decodeAll[zone](shards.Ranges(ctx, c, "tags", bson.D{{Key: "ns", Value: namespace}})); err != nil {
		return nil, err
	}
	return s, s.readOptions(ctx, c)
}

func (s *sharding) readOptions(ctx context.Context, c server.Commander) error {
	db, name := s.names()
	reply, err := server.QueryDB(ctx, c, db, bson.D{{Key: "listCollections", Value: 1}, {Key: "filter", Value: bson.D{{Key: "name", Value: name}}}})
	if err != nil {
		return err
	}
	if options, ok := reply.Lookup("cursor", "firstBatch", "0", "options").DocumentOK(); ok {
		s.options = options
	}
	if _, err := s.options.LookupErr("timeseries"); err == nil {
		return fmt.Errorf("%s is a time series collection, which plimsoll cannot restore after a drop. Load without --load drop", s.namespace)
	}
	return nil
}

func (s *sharding) names() (db, collection string) {
	db, collection, _ = strings.Cut(s.namespace, ".")
	return db, collection
}

// hashed reports whether the first field of the key is hashed. The server can then make all chunks at once.
func (s *sharding) hashed() bool {
	e, err := s.key.IndexErr(0)
	if err != nil {
		return false
	}
	how, _ := e.Value().StringValueOK()
	return how == "hashed"
}

func (s *sharding) record() record.LabSharding {
	r := record.LabSharding{Namespace: s.namespace, Key: keyText(s.key), Unique: s.unique, Zones: len(s.zones),
		Chunks: map[string]int64{}}
	for _, c := range s.chunks {
		r.Chunks[c.Shard]++
	}
	return r
}

// keyText formats a key: "_id hashed", "country, age".
func keyText(key bson.Raw) string {
	elements, _ := key.Elements()
	var words []string
	for _, e := range elements {
		word := e.Key()
		if how, ok := e.Value().StringValueOK(); ok {
			word += " " + how
		}
		words = append(words, word)
	}
	return strings.Join(words, ", ")
}

func decodeAll[T any](docs []bson.Raw, err error) ([]T, error) {
	if err != nil {
		return nil, err
	}
	all := make([]T, len(docs))
	for i, d := range docs {
		if err := bson.Unmarshal(d, &all[i]); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// asSharded returns a connection to a sharded target, nil for other targets. The caller must call done.
func (r *runner) asSharded(ctx context.Context) (c server.Commander, done func(), err error) {
	if r.target.Kind != "mongodb" || r.info.Topology != "sharded" {
		return nil, func() {}, nil
	}
	if c, ok := r.store.(server.Commander); ok {
		return c, func() {}, nil
	}
	st, err := r.openWatched(ctx) // a service stands between
	if err != nil {
		return nil, nil, err
	}
	c, ok := st.(server.Commander)
	if !ok {
		return nil, nil, errors.Join(errors.New("this client cannot read the sharding of the target"), st.Close())
	}
	return c, func() { _ = st.Close() }, nil
}

// describeSharding records the sharding of the workload's collections before the measured load.
func (r *runner) describeSharding(ctx context.Context) {
	if r.opts.share().Clients > 1 {
		return // the parent process records it
	}
	c, done, err := r.asSharded(ctx)
	if err != nil || c == nil {
		return
	}
	defer done()
	ctx, cancel := context.WithTimeout(ctx, describeAtMost)
	defer cancel()
	var list []record.LabSharding
	for _, name := range r.workload.Collections() {
		namespace := r.spec.Database + "." + name
		s, err := readSharding(ctx, c, namespace)
		switch {
		case err != nil:
			r.writer.AddNote(fmt.Sprintf("the sharding of %s is unknown: %s", namespace, store.OneLine(err.Error())))
		case s == nil:
			list = append(list, record.LabSharding{Namespace: namespace, Chunks: map[string]int64{}})
			r.writer.AddNote(namespace + " is not sharded, so one shard has its whole load")
		default:
			list = append(list, s.record())
		}
	}
	r.writer.SetSharded(list)
}
