package drill

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/mongo/readconcern"
	"go.mongodb.org/mongo-driver/v2/mongo/readpref"
	"go.mongodb.org/mongo-driver/v2/mongo/writeconcern"

	"github.com/plimsoll-bench/plimsoll/drill/ledger"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/store"
	"github.com/plimsoll-bench/plimsoll/store/shards"
)

// finalRead is what the ledger calls the read that decides.
const finalRead = record.FinalSource

// How long the audit may take to be answered.
const (
	reachAtMost = 60 * time.Second
	auditAtMost = time.Hour
)

// dir is where the record of the run lies.
func (r *round) dir() string {
	return filepath.Join(r.drill.o.Dir, filepath.FromSlash(r.result.Record))
}

// audit reads everything back. It returns why that could not be done, "" if it could.
func (r *round) audit(ctx context.Context) string {
	if r.books.wrapped == nil || r.uri == "" {
		return "the target keeps nothing that could be read back"
	}
	if r.dead != nil {
		return "there was no final read: " + r.dead.Error()
	}
	r.drill.progress.enter(record.StageAudit)
	r.drill.o.Progress.Note("reading everything back")
	ctx, cancel := context.WithTimeout(ctx, auditAtMost)
	defer cancel()
	o := ledger.AuditOptions{Workload: r.books.wrapped}
	if r.books.placed != nil {
		o.Shards = r.books.placed.Shards
		r.moved()
	}
	final, err := r.open(ctx, finalRead, r.uri, false)
	if err != nil {
		return "there was no final read: " + store.Redact(store.OneLine(err.Error()))
	}
	defer final.close()
	o.Final = final
	for _, f := range r.result.Faults {
		if f.Injected > 0 {
			o.Faults = append(o.Faults, struckAt(f, r.result.Headline())-r.shift)
		}
	}
	for _, s := range r.members(ctx) {
		defer s.close()
		o.Members = append(o.Members, s)
	}
	o.Elsewhere = r.elsewhere(ctx)
	o.Reads = r.question()
	result, err := r.books.ledger.Audit(ctx, o)
	if err != nil {
		return "the audit failed: " + err.Error()
	}
	for i := range result.Lost {
		if result.Lost[i].Acknowledged >= 0 {
			result.Lost[i].Acknowledged += r.shift
		}
	}
	r.judged(result.Judged)
	r.result.Ledger = result
	if r.seeds != nil {
		if r.result.SeedsFound, err = r.seeds.found(ctx, final.db); err != nil {
			r.result.Seeds = 0 // nothing is known of them
			return "the seed records could not be looked for: " + store.Redact(store.OneLine(err.Error()))
		}
	}
	return ""
}

// struckAt is when a fault struck, for the age of what it lost. The lab was told at Injected and had it done by Done;
// what was acknowledged in between was acknowledged before it struck.
func struckAt(f record.DrillFault, all *record.DrillEffect) int64 {
	if all == nil || all.OutageFrom < f.Injected {
		return f.Injected
	}
	return min(all.OutageFrom, f.Done)
}

// source reads documents back through the official driver, which is not the code that wrote them.
type source struct {
	name   string
	client *mongo.Client
	db     *mongo.Database
	behind string    // how far a member is behind its primary, in words
	lab    io.Closer // what the lab keeps for the reading, if it has to
	// session has seen the fence, so that all shards answer as of then; nil where nobody reads what a majority has.
	session *mongo.Session
}

// open opens one way to read everything back, and waits until it answers.
func (r *round) open(ctx context.Context, name, uri string, direct bool) (*source, error) {
	o := options.Client().ApplyURI(uri).SetAppName("plimsoll drill").SetServerSelectionTimeout(10 * time.Second)
	switch {
	case direct:
		o.SetReadPreference(readpref.SecondaryPreferred()).SetReadConcern(readconcern.Local())
	case r.result.Level == "": // gateways of documentdb read what their level means
		o.SetReadPreference(readpref.Primary()).SetReadConcern(readconcern.Majority()).SetWriteConcern(
			writeconcern.Majority())
	}
	c, err := mongo.Connect(o)
	if err != nil {
		return nil, err
	}
	s := &source{name: name, client: c, db: c.Database(r.drill.spec.Run.Database)}
	ctx, cancel := context.WithTimeout(ctx, reachAtMost)
	defer cancel()
	for {
		now := c.Ping(ctx, nil)
		if now == nil && !direct {
			now = s.fence(ctx, r.result.Level == "")
		}
		if now == nil {
			return s, nil
		}
		// that there was no time for another try tells nothing
		if err == nil || ctx.Err() == nil && !errors.Is(now, context.DeadlineExceeded) {
			err = now
		}
		select {
		case <-time.After(lookEvery):
		case <-ctx.Done():
			s.close()
			return nil, fmt.Errorf("%s does not answer: %w", name, err)
		}
	}
}

// fence makes sure that a read from here on sees all that was acknowledged before. What a majority has is read as of
// the last moment that the primary knows a majority to have, which is a little behind what it acknowledged with less,
// far behind as long as no majority answers, and behind what an earlier primary acknowledged until it has written
// something itself. All of that is over when it confirms a write of now with a majority. A member that is no primary
// refuses the write.
func (s *source) fence(ctx context.Context, majority bool) error {
	if majority && s.session == nil {
		session, err := s.client.StartSession()
		if err != nil {
			return err
		}
		s.session = session
	}
	_, err := s.db.Collection(seedCollection).InsertOne(s.within(ctx), bson.D{{Key: "_id", Value: bson.NewObjectID()},
		{Key: "fence", Value: true}})
	if err != nil {
		return fmt.Errorf("it confirms no write before the read, so the read could be of an earlier time: %w", err)
	}
	return nil
}

// within puts what is read after what the session has seen.
func (s *source) within(ctx context.Context) context.Context {
	if s.session == nil {
		return ctx
	}
	return mongo.NewSessionContext(ctx, s.session)
}

// close gives back the connections, and what the lab keeps for them.
func (s *source) close() {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	if s.session != nil {
		s.session.EndSession(ctx)
	}
	_ = s.client.Disconnect(ctx) // nothing is under way
	if s.lab != nil {
		_ = s.lab.Close() // the lab ends it in any case
	}
}

// Name implements [ledger.Source].
func (s *source) Name() string { return s.name }

// Behind implements [ledger.Late].
func (s *source) Behind() string { return s.behind }

// Scan implements [ledger.Source].
func (s *source) Scan(ctx context.Context, collection string, each func(doc []byte) error) error {
	return Scan(s.within(ctx), s.db.Collection(collection), each)
}

// scanBatch is how many documents an answer of the server has. Of documents of 1 kB documentdb hands over twice as many
// per second in answers of 1 to 2 MB as in the greatest that it may give, which is what a scan without a wish gets.
const scanBatch = 2000

// Scan reads a collection as an audit does and calls each for every document, which is valid until each returns. It is
// one plain scan, not several of ranges of _id at once: those go by the index, which after a fault may lack documents
// that are there.
func Scan(ctx context.Context, from *mongo.Collection, each func(doc []byte) error) error {
	cursor, err := from.Find(ctx, bson.D{}, options.Find().SetBatchSize(scanBatch))
	if err != nil {
		return err
	}
	defer cursor.Close(ctx)
	for cursor.Next(ctx) {
		if err := each(cursor.Current); err != nil {
			return err
		}
	}
	return cursor.Err()
}

// seeds are records that are written and confirmed before anything else, and looked for in the end.
type seeds struct {
	client     *mongo.Client
	collection *mongo.Collection
	ids        []bson.ObjectID
}

// seedRecords is how many there are, in seedCollection.
const (
	seedRecords    = 2
	seedCollection = "plimsoll_drill_seeds"
)

// writeSeeds writes the seed records: seedRecords on each shard of a cluster, as placed says where they go, which is
// nil elsewhere.
func writeSeeds(ctx context.Context, uri, database string, placed *shards.Map) (*seeds, error) {
	// Whatever the address says, these are confirmed: otherwise they could be missed for nothing.
	c, err := mongo.Connect(options.Client().ApplyURI(uri).SetAppName("plimsoll drill").SetServerSelectionTimeout(10 * time.Second).
		SetWriteConcern(writeconcern.Majority()))
	if err != nil {
		return nil, err
	}
	s := &seeds{client: c, collection: c.Database(database).Collection(seedCollection)}
	ctx, cancel := context.WithTimeout(ctx, reachAtMost)
	defer cancel()
	for _, id := range seedIDs(placed) {
		if _, err := s.collection.InsertOne(ctx, bson.D{{Key: "_id", Value: id}, {Key: "seed", Value: true}}); err != nil {
			s.close()
			return nil, fmt.Errorf("the seed records cannot be written: %w", err)
		}
		s.ids = append(s.ids, id)
	}
	return s, nil
}

// seedIDs are the ids of the seed records.
func seedIDs(placed *shards.Map) (ids []bson.ObjectID) {
	if placed == nil || placed.Problem() != "" {
		return []bson.ObjectID{bson.NewObjectID(), bson.NewObjectID()}
	}
	have := map[int]int{}
	for range 1000 * len(placed.Shards) { // chance finds an id for each shard long before
		id := bson.NewObjectID()
		filter, _ := bson.Marshal(bson.D{{Key: "_id", Value: id}}) // it always can be
		if at := placed.Of(seedCollection, filter); have[at] < seedRecords {
			have[at]++
			ids = append(ids, id)
		}
	}
	return ids
}

func (s *seeds) count() int { return len(s.ids) }

// found is how many are still there, by the client of the final read. That one cannot be found and that nobody answers
// are not the same: an error says that it is not known.
func (s *seeds) found(ctx context.Context, db *mongo.Database) (n int, err error) {
	ctx, cancel := context.WithTimeout(ctx, reachAtMost)
	defer cancel()
	for _, id := range s.ids {
		switch err := db.Collection(seedCollection).FindOne(ctx, bson.D{{Key: "_id", Value: id}}).Err(); {
		case err == nil:
			n++
		case !errors.Is(err, mongo.ErrNoDocuments):
			return n, err
		}
	}
	return n, nil
}

func (s *seeds) close() {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	_ = s.client.Disconnect(ctx) // nothing is under way
}
