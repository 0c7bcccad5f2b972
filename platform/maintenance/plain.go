package maintenance

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/plimsoll-bench/plimsoll/fault"
	"github.com/plimsoll-bench/plimsoll/internal/figure"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/server"
	"github.com/plimsoll-bench/plimsoll/store/shards"
)

// collections are those that the target of the event means.
func (e *event) collections() ([]string, error) {
	if name := e.fault.Action.Target; name != fault.OfWorkload {
		return []string{name}, nil
	}
	if len(e.deployment.Collections) == 0 {
		return nil, errors.New("the workload has no collections")
	}
	return e.deployment.Collections, nil
}

// indexName is the name of the index that the event builds and drops.
const indexName = "plimsoll_maintenance"

// indexBuild builds an index on the first field after _id, because a field that no document has costs less.
func (e *event) indexBuild(ctx context.Context) (func(context.Context) error, error) {
	names, err := e.collections()
	if err != nil {
		return nil, err
	}
	d, name := e.deployment, names[0]
	drop := func(ctx context.Context) error {
		return d.connect(ctx, d.URI, func(c server.Commander) error {
			_, err := server.QueryDB(ctx, c, d.Database, bson.D{{Key: "dropIndexes", Value: name}, {Key: "index", Value: indexName}})
			if err != nil && (strings.Contains(err.Error(), "IndexNotFound") || strings.Contains(err.Error(), "index not found")) {
				return nil
			}
			return err
		})
	}
	var field string
	err = d.connect(ctx, d.URI, func(c server.Commander) (err error) {
		field, err = firstField(ctx, c, d.Database, name)
		return err
	})
	if err = errors.Join(err, drop(ctx)); err != nil { // a drill that was killed may have left it
		return nil, err
	}
	members, err := d.settled(ctx, answered)
	if err != nil {
		return nil, err
	}
	e.affects(d.Database+"."+name, slices.DeleteFunc(members, func(m record.LabMember) bool { return !holdsData(m) })...)
	e.clean = drop
	return func(ctx context.Context) error {
		return d.connect(ctx, d.URI, func(c server.Commander) error { return e.build(ctx, c, name, field) })
	}, nil
}

func (e *event) build(ctx context.Context, c server.Commander, name, field string) error {
	database := e.deployment.Database
	create := bson.D{{Key: "createIndexes", Value: name}, {Key: "indexes", Value: bson.A{bson.D{
		{Key: "key", Value: bson.D{{Key: field, Value: 1}}}, {Key: "name", Value: indexName}}}}}
	if _, err := server.QueryDB(ctx, c, database, create); err != nil {
		return err
	}
	if reply, err := server.QueryDB(ctx, c, database, bson.D{{Key: "count", Value: name}}); err == nil {
		n, _ := server.Number(reply, "n")
		e.figure("documents indexed", n, "")
	}
	if reply, err := server.QueryDB(ctx, c, database, bson.D{{Key: "collStats", Value: name}}); err == nil {
		if size, ok := server.Number(reply, "indexSizes", indexName); ok {
			e.figure("size of the index", size, "B")
		}
	}
	reply, err := server.QueryDB(ctx, c, database, bson.D{{Key: "listIndexes", Value: name}})
	if err == nil && strings.Contains(reply.String(), indexName) {
		e.saw("%s.%s has the index %s on %s", database, name, indexName, field)
	}
	return err
}

// firstField is the name of the first field of a document, besides _id.
func firstField(ctx context.Context, c server.Commander, database, collection string) (string, error) {
	reply, err := server.QueryDB(ctx, c, database, bson.D{{Key: "find", Value: collection}, {Key: "limit", Value: 1},
		{Key: "singleBatch", Value: true}})
	if err != nil {
		return "", err
	}
	var answer struct {
		Cursor struct {
			First []bson.D `bson:"firstBatch"`
		} `bson:"cursor"`
	}
	if err := bson.Unmarshal(reply, &answer); err != nil {
		return "", err
	}
	for _, document := range answer.Cursor.First {
		for _, element := range document {
			if element.Key != "_id" {
				return element.Key, nil
			}
		}
	}
	return "", fmt.Errorf("%s.%s has no document with a field besides _id, so there is nothing to index", database, collection)
}

// compaction compacts the collections of the workload on one member.
func (e *event) compaction(ctx context.Context) (func(context.Context) error, error) {
	m, err := e.target(ctx, e.fault.Action.Target)
	if err != nil {
		return nil, err
	}
	e.affects(m.Name, m)
	before, err := e.count(ctx, m, "compact")
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context) error {
		done, freed := 0, 0.0
		err := e.deployment.onMember(ctx, m, func(c server.Commander) error {
			for _, name := range e.deployment.Collections {
				reply, err := server.QueryDB(ctx, c, e.deployment.Database, bson.D{{Key: "compact", Value: name}})
				var missing mongo.CommandError
				if errors.As(err, &missing) && missing.Code == codeNoCollection {
					continue // it is on another shard
				}
				if err != nil {
					return err
				}
				n, _ := server.Number(reply, "bytesFreed")
				done, freed = done+1, freed+max(n, 0) // writes may have taken more
			}
			return nil
		})
		if err != nil {
			return err
		}
		if done == 0 {
			return fmt.Errorf("%s has no collection of the workload", m.Name)
		}
		e.figure("collections compacted", float64(done), "")
		e.figure("freed", freed, "B")
		after, err := e.count(ctx, m, "compact")
		if err == nil && after > before {
			e.saw("%s counted %.0f more compact commands", m.Name, after-before)
		}
		return err
	}, nil
}

// codeNoCollection is the server's NamespaceNotFound.
const codeNoCollection = 26

// chunkMigration moves a chunk from the shard that has the most to the one that has the fewest.
func (e *event) chunkMigration(ctx context.Context) (func(context.Context) error, error) {
	names, err := e.collections()
	if err != nil {
		return nil, err
	}
	d := e.deployment
	ns := d.Database + "." + names[0]
	members, err := d.settled(ctx, answered)
	if err != nil {
		return nil, err
	}
	var one move
	err = d.connect(ctx, d.URI, func(c server.Commander) (err error) {
		one, err = chooseChunk(ctx, c, ns, func(chunk bson.Raw, shard string) (bool, error) {
			return d.deletes(ctx, inSet(members, shard), ns, chunk)
		})
		return err
	})
	if err != nil {
		return nil, err
	}
	e.affects(ns+" from "+one.from+" to "+one.to, append(inSet(members, one.from), inSet(members, one.to)...)...)
	return func(ctx context.Context) error {
		return d.connect(ctx, d.URI, func(c server.Commander) error { return e.move(ctx, c, ns, one) })
	}, nil
}

// move is the move of a chunk.
type move struct {
	chunk    bson.Raw
	from, to string
}

// chooseChunk reads the chunks of a collection, and chooses one that its new shard does not still delete.
func chooseChunk(ctx context.Context, c server.Commander, ns string,
	deletes func(chunk bson.Raw, shard string) (bool, error)) (move, error) {
	chunks, err := chunksOf(ctx, c, ns)
	if err != nil {
		return move{}, err
	}
	list, err := shards.Find(ctx, c, "shards", bson.D{}, nil, 0)
	if err != nil {
		return move{}, err
	}
	on := map[string]int{}
	for _, chunk := range chunks {
		on[server.Text(chunk, "shard")]++
	}
	var most, fewest string
	for _, shard := range list {
		name := server.Text(shard, "_id")
		if most == "" || on[name] > on[most] {
			most = name
		}
		if fewest == "" || on[name] <= on[fewest] {
			fewest = name
		}
	}
	if len(chunks) == 0 || most == fewest {
		return move{}, fmt.Errorf("%s has %s on %s, so none can be moved", ns, figure.Plural(len(chunks), "chunk"),
			figure.Plural(len(list), "shard"))
	}
	for _, chunk := range chunks {
		if server.Text(chunk, "shard") != most {
			continue
		}
		if still, err := deletes(chunk, fewest); err != nil || !still {
			return move{chunk, most, fewest}, err
		}
	}
	return move{}, fmt.Errorf("every chunk of %s on %s was moved away from %s a short time ago, and %[3]s accepts none before "+
		"it has deleted the old documents. It begins 15 minutes after a move (orphanCleanupDelaySecs). Try again then", ns, most, fewest)
}

// deletes reports whether a shard still has to delete documents of a chunk that was moved away. Until it has, it lets a
// move of the chunk to it wait (manual: "orphanCleanupDelaySecs"; migration_destination_manager.cpp).
func (d *Deployment) deletes(ctx context.Context, shard []record.LabMember, ns string, chunk bson.Raw) (bool, error) {
	at := slices.IndexFunc(shard, func(m record.LabMember) bool { return m.Role == "primary" })
	if at < 0 {
		return false, nil
	}
	overlap := bson.D{{Key: "nss", Value: ns}, {Key: "range.min", Value: bson.D{{Key: "$lt", Value: chunk.Lookup("max")}}},
		{Key: "range.max", Value: bson.D{{Key: "$gt", Value: chunk.Lookup("min")}}}}
	var found []bson.Raw
	err := d.onMember(ctx, shard[at], func(c server.Commander) (err error) {
		found, err = shards.Find(ctx, c, "rangeDeletions", overlap, nil, 1)
		return err
	})
	return len(found) > 0, err
}

// chunksOf reads the chunks of a collection. They name it by namespace before 5.0, and by UUID since.
func chunksOf(ctx context.Context, c server.Commander, ns string) ([]bson.Raw, error) {
	entries, err := shards.Find(ctx, c, "collections", bson.D{{Key: "_id", Value: ns}}, nil, 1)
	if err != nil || len(entries) == 0 {
		return nil, errors.Join(err, fmt.Errorf("%s is not sharded", ns))
	}
	of := bson.A{bson.D{{Key: "ns", Value: ns}}}
	if uuid := entries[0].Lookup("uuid"); uuid.Type != 0 {
		of = append(of, bson.D{{Key: "uuid", Value: uuid}})
	}
	return shards.Ranges(ctx, c, "chunks", bson.D{{Key: "$or", Value: of}})
}

// A shard interrupts a migration that waits too long for the documents or the locks. The balancer tries it again too.
const (
	interrupted = "(Interrupted)"
	mostMoves   = 3
)

func (e *event) move(ctx context.Context, c server.Commander, ns string, one move) error {
	bounds := bson.A{one.chunk.Lookup("min"), one.chunk.Lookup("max")}
	err := errors.New(interrupted)
	for try := 0; try < mostMoves && err != nil && strings.Contains(err.Error(), interrupted); try++ {
		err = shards.WhenFree(ctx, c, bson.D{{Key: "moveChunk", Value: ns}, {Key: "bounds", Value: bounds}, {Key: "to", Value: one.to}})
	}
	if err != nil {
		return err
	}
	e.figure("chunks moved", 1, "")
	log, err := shards.Find(ctx, c, "changelog", bson.D{{Key: "what", Value: "moveChunk.commit"}, {Key: "ns", Value: ns}},
		bson.D{{Key: "time", Value: -1}}, 1)
	if err == nil && len(log) > 0 {
		if n, ok := server.Number(log[0], "details", "counts", "cloned"); ok {
			e.figure("documents moved", n, "")
		}
		if n, ok := server.Number(log[0], "details", "counts", "clonedBytes"); ok {
			e.figure("bytes moved", n, "B")
		}
	}
	chunks, err := chunksOf(ctx, c, ns)
	for _, chunk := range chunks {
		if chunk.Lookup("min").Equal(one.chunk.Lookup("min")) && server.Text(chunk, "shard") == one.to {
			e.saw("config.chunks has the chunk on %s", one.to)
		}
	}
	return err
}

// held reads how many documents and bytes of data a member has in a database.
func held(ctx context.Context, c server.Commander, database string) (documents, bytes float64, err error) {
	reply, err := server.QueryDB(ctx, c, database, bson.D{{Key: "dbStats", Value: 1}})
	if err != nil {
		return 0, 0, err
	}
	documents, _ = server.Number(reply, "objects")
	bytes, _ = server.Number(reply, "dataSize")
	return documents, bytes, nil
}
