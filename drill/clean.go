package drill

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/mongo/readpref"
	"go.mongodb.org/mongo-driver/v2/mongo/writeconcern"

	"github.com/plimsoll-bench/plimsoll/drill/ledger"
	"github.com/plimsoll-bench/plimsoll/drill/transactions"
	"github.com/plimsoll-bench/plimsoll/internal/figure"
	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/platform"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/run"
	"github.com/plimsoll-bench/plimsoll/server"
	"github.com/plimsoll-bench/plimsoll/spec"
)

// DataLeft is the finding that says which documents a drill leaves, and how they are removed.
const DataLeft = "data-left"

// nameRemains writes into the record, before the first write to the deployment, what the drill leaves there. A lab ends
// with its data.
func (r *round) nameRemains(database string) error {
	if r.target.lab != nil {
		return nil
	}
	r.drill.find(DataLeft, measure.Note, "the documents of this drill stay in the database %s. Remove them with: plimsoll drill clean %s",
		database, r.drill.o.Dir)
	return r.drill.writer.Write(r.drill.result)
}

// Cleaning says where drills left documents, and which of them are to be removed.
type Cleaning struct {
	URI, Database string
	// Marks are those of the rounds ([record.DrillRound.Mark]); nil for all rounds of all drills.
	Marks []uint32
	// Collections are those of the workload, besides that of the workload ledger. Documents of the load phase stay there.
	Collections []string
	// Seed is that of the workload.
	Seed uint64
	// Look only counts.
	Look bool
}

// CleaningOf is what a record says of what its drill left.
func CleaningOf(d *record.Drill) (c Cleaning, err error) {
	asked := d.Specification.Run
	c = Cleaning{URI: asked.Target, Database: asked.Database, Seed: asked.Workload.Seed, Marks: []uint32{}}
	for _, r := range d.Rounds {
		if r.Mark != 0 { // it has begun
			c.Marks = append(c.Marks, r.Mark)
		}
	}
	if !spec.OfDrills(asked.Workload.Name) {
		c.Collections, err = run.Collections(asked)
	}
	return c, err
}

// Cleaned is what was removed, or what is there.
type Cleaned struct {
	// Removed says in words which documents of each collection were removed, and Kept which stay, with the reason.
	Removed, Kept []string
	// Marks are the rounds whose documents were found.
	Marks []uint32
}

// Clean removes what drills left in a database, and nothing else: every document is proven to be one of theirs, by
// itself.
func Clean(ctx context.Context, asked Cleaning) (*Cleaned, error) {
	client, err := platform.Connect(asked.URI, options.Client().SetServerSelectionTimeout(queryAtMost))
	if err != nil {
		return nil, err
	}
	defer client.Close()
	identity, err := server.Identify(ctx, server.Driver(client.Client))
	if err != nil {
		return nil, err
	}
	// A removal that is rolled back, or a read of an earlier state, would leave documents behind.
	safe := options.Database().SetReadPreference(readpref.Primary()).SetWriteConcern(writeconcern.Majority())
	c := &cleaner{asked: asked, sharded: identity.Topology() == "sharded", db: client.Database(asked.Database, safe)}
	err = c.own(ctx, seedCollection, c.seed)
	if err == nil {
		err = c.own(ctx, ledger.DefaultCollection, c.written)
	}
	if err == nil {
		err = c.own(ctx, transactions.Collection, c.register)
	}
	for _, name := range asked.Collections {
		if err == nil {
			err = c.workload(ctx, name)
		}
	}
	return &c.out, err
}

// cleaner is one [Clean].
type cleaner struct {
	asked   Cleaning
	out     Cleaned
	db      *mongo.Database
	sharded bool
}

// fate is what happens to a document.
type fate int

const (
	unknown fate = iota // nothing proves that a drill wrote it
	others              // another drill wrote it
	shared              // drills with the same seed load it; it goes with the last of their documents
	goes
)

// fateOf is the fate of a document of a round.
func (c *cleaner) fateOf(mark uint32) fate {
	if c.asked.Marks != nil && !slices.Contains(c.asked.Marks, mark) {
		return others
	}
	if !slices.Contains(c.out.Marks, mark) {
		c.out.Marks = append(c.out.Marks, mark)
	}
	return goes
}

// helpingFields are the fields of the documents that a drill writes besides its load: seed documents, what begins the
// final read, and documents of probes.
var helpingFields = []string{"_id", "seed", "fence", "probe", "probes", "mark"}

// seed is the fate of a document of [seedCollection].
func (c *cleaner) seed(doc bson.Raw) fate {
	fields, err := doc.Elements()
	foreign := func(e bson.RawElement) bool { return !slices.Contains(helpingFields, e.Key()) }
	if err != nil || slices.ContainsFunc(fields, foreign) {
		return unknown
	}
	var is struct {
		ID                 bson.ObjectID `bson:"_id"`
		Seed, Fence, Probe bool
		Mark               *int64
	}
	if bson.Unmarshal(doc, &is) != nil || !is.Seed && !is.Fence && !is.Probe {
		return unknown
	}
	if is.Mark == nil {
		return unknown
	}
	return c.fateOf(uint32(*is.Mark))
}

// written is the fate of a document of the workload ledger.
func (c *cleaner) written(doc bson.Raw) fate {
	if r := ledger.RemainsIn(doc, true); r.Whole {
		return c.fateOf(r.Run)
	}
	if ledger.IsLoaded(doc, c.asked.Seed) {
		return shared
	}
	return unknown
}

// register is the fate of a document of the workload transactions.
func (c *cleaner) register(doc bson.Raw) fate {
	if mark, ok := transactions.Mark(doc); ok {
		return c.fateOf(mark)
	}
	return unknown
}

// own removes the documents of a collection that drills have for themselves, and the collection if nothing else is in
// it.
func (c *cleaner) own(ctx context.Context, name string, fateOf func(bson.Raw) fate) error {
	var count [goes + 1]int
	var loaded []mongo.WriteModel
	err := c.sweep(ctx, name, bson.D{}, func(doc bson.Raw) mongo.WriteModel {
		f := fateOf(doc)
		count[f]++
		remove := mongo.NewDeleteOneModel().SetFilter(bson.D{{Key: "_id", Value: doc.Lookup("_id")}})
		switch f {
		case goes:
			return remove
		case shared:
			loaded = append(loaded, remove)
		}
		return nil
	})
	if err != nil {
		return err
	}
	namespace := c.asked.Database + "." + name
	if last := count[unknown]+count[others] == 0; last {
		err, count[goes], count[shared] = c.write(ctx, name, loaded), count[goes]+count[shared], 0
		if err == nil && count[goes] > 0 {
			err = c.drop(ctx, name)
		}
	}
	for _, text := range []struct {
		n    int
		why  string
		list *[]string
	}{
		{count[goes], "", &c.out.Removed},
		{count[others], ": other drills wrote them", &c.out.Kept},
		{count[shared], ": other drills use them too", &c.out.Kept},
		{count[unknown], ": nothing proves that a drill wrote them", &c.out.Kept},
	} {
		if text.n > 0 {
			*text.list = append(*text.list, fmt.Sprintf("%s of %s%s", figure.Plural(text.n, "document"), namespace, text.why))
		}
	}
	return err
}

// drop drops an empty collection. That of a sharded cluster stays, because it may have been sharded by hand.
func (c *cleaner) drop(ctx context.Context, name string) error {
	if c.sharded || c.asked.Look {
		return nil
	}
	err := c.db.Collection(name).FindOne(ctx, bson.D{}).Err()
	if errors.Is(err, mongo.ErrNoDocuments) {
		return c.db.Collection(name).Drop(ctx)
	}
	return err // nil if somebody has just written into it
}

// workload removes what drills wrote into a collection of another workload: the documents that they inserted, and the
// fields in which they counted updates of others. What the load phase loaded is not theirs alone.
func (c *cleaner) workload(ctx context.Context, name string) error {
	found := bson.A{bson.D{{Key: ledger.TagField, Value: bson.D{{Key: "$exists", Value: true}}}}}
	for _, mark := range c.asked.Marks {
		found = append(found, bson.D{{Key: ledger.CounterField(mark), Value: bson.D{{Key: "$exists", Value: true}}}})
	}
	documents, counters := 0, 0
	err := c.sweep(ctx, name, bson.D{{Key: "$or", Value: found}}, func(doc bson.Raw) mongo.WriteModel {
		r, id := ledger.RemainsIn(doc, false), bson.D{{Key: "_id", Value: doc.Lookup("_id")}}
		if r.Whole && c.fateOf(r.Run) == goes {
			documents++
			id = append(id, bson.E{Key: ledger.TagField, Value: doc.Lookup(ledger.TagField)})
			return mongo.NewDeleteOneModel().SetFilter(id)
		}
		var fields bson.D
		for mark, field := range r.Counters {
			if c.fateOf(mark) == goes {
				fields = append(fields, bson.E{Key: field, Value: ""})
			}
		}
		if fields == nil {
			return nil
		}
		counters++
		return mongo.NewUpdateOneModel().SetFilter(id).SetUpdate(bson.D{{Key: "$unset", Value: fields}})
	})
	namespace := c.asked.Database + "." + name
	if documents > 0 {
		c.out.Removed = append(c.out.Removed, fmt.Sprintf("%s of %s", figure.Plural(documents, "document"), namespace))
	}
	if counters > 0 {
		c.out.Removed = append(c.out.Removed, fmt.Sprintf("the counters of the drill in %s of %s", figure.Plural(counters, "other document"), namespace))
	}
	c.out.Kept = append(c.out.Kept, "the other documents of "+namespace+": those of a load phase are the same in every run, and carry no mark of a drill")
	return err
}

// batch is the number of writes that are sent together.
const batch = 1000

// sweep reads the documents of a collection that a filter finds, and does the write of each, nil for none.
func (c *cleaner) sweep(ctx context.Context, name string, filter bson.D, each func(bson.Raw) mongo.WriteModel) error {
	cursor, err := c.db.Collection(name).Find(ctx, filter, options.Find().SetBatchSize(scanBatch))
	if err != nil {
		return err
	}
	defer cursor.Close(ctx)
	var writes []mongo.WriteModel
	for cursor.Next(ctx) {
		if w := each(slices.Clone(cursor.Current)); w != nil {
			writes = append(writes, w)
		}
		if len(writes) == batch {
			if err := c.write(ctx, name, writes); err != nil {
				return err
			}
			writes = nil
		}
	}
	if err := cursor.Err(); err != nil {
		return err
	}
	return c.write(ctx, name, writes)
}

// write sends writes, unless they are only to be counted.
func (c *cleaner) write(ctx context.Context, name string, writes []mongo.WriteModel) error {
	if c.asked.Look || len(writes) == 0 {
		return nil
	}
	_, err := c.db.Collection(name).BulkWrite(ctx, writes, options.BulkWrite().SetOrdered(false))
	return err
}
