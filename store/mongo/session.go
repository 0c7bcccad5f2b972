package mongo

import (
	"context"
	"fmt"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	driver "go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/plimsoll-bench/plimsoll/store"
	"github.com/plimsoll-bench/plimsoll/workload"
)

// session belongs to one worker. Several share a client.
type session struct {
	db           *driver.Database
	base         context.Context // with the tracker, and the causally consistent session if there is one
	causal       *driver.Session // nil if the driver may use any of its sessions
	track        tracker
	acknowledged bool

	last handle // of coll
	coll *driver.Collection
	more map[handle]*driver.Collection // the other collections used so far

	txn    *driver.Session // for transactions, made by the first one
	within context.Context // the context of the current transaction
	feeds  map[string]*driver.ChangeStream

	first  []byte              // copy of the first document of a cursor
	docs   []bson.Raw          // reused for batches
	models []driver.WriteModel // reused for batches
}

// handle is a collection with the concerns of an operation, nil for those of the run.
type handle struct {
	name    string
	concern *workload.Concern
}

func newSession(life context.Context, client *driver.Client, database string, acknowledged, causal bool) (
	*session, error,
) {
	s := &session{db: client.Database(database), acknowledged: acknowledged, more: map[handle]*driver.Collection{}}
	s.base = context.WithValue(life, trackerKey{}, &s.track)
	if !causal {
		return s, nil
	}
	var err error
	if s.causal, err = client.StartSession(options.Session().SetCausalConsistency(true)); err != nil {
		return nil, fmt.Errorf("start a causally consistent session: %w", err)
	}
	s.base = driver.NewSessionContext(s.base, s.causal)
	return s, nil
}

// Do performs req through the driver, which may retry it until the deadline. A zero deadline is none. getMore commands
// do not count as attempts. The further messages of a batch that is too large for one do, because they cannot be told
// from retries here.
func (s *session) Do(deadline time.Time, req *workload.Request, res *store.Result) {
	res.Reset()
	write := req.Writes()
	s.track.begin(write)
	// The driver indexes arrays with numbers of the reply, so an invalid reply can make it panic.
	defer func() {
		if p := recover(); p != nil {
			s.complete(write, fmt.Errorf("the driver failed on the server's reply: %v", p), res)
		}
	}()
	if !deadline.IsZero() && !s.track.idleSince.Before(deadline) {
		s.complete(write, context.DeadlineExceeded, res)
		return
	}
	base, err := s.contextOf(req)
	if err != nil {
		s.complete(write, err, res)
		return
	}
	ctx, cancel := base, context.CancelFunc(func() {})
	if !deadline.IsZero() {
		ctx, cancel = context.WithDeadline(base, deadline)
	}
	defer cancel()
	err = s.perform(ctx, req, res)
	if err == nil && req.Verb.Writes() && res.Outcome == store.OK && !s.confirms(req) {
		res.Outcome = store.Unacknowledged
	}
	s.complete(write, err, res)
}

// confirms reports whether the server confirms a write, by the concern of the request or of the run.
func (s *session) confirms(req *workload.Request) bool {
	if k := req.Concern; k != nil && (k.W != "" || k.Journal != nil) && !req.Within {
		return k.W != "0"
	}
	return s.acknowledged
}

// perform sends the request and fills res unless it returns an error.
func (s *session) perform(ctx context.Context, req *workload.Request, res *store.Result) error {
	coll := s.collection(req)
	switch req.Verb {
	case workload.Find:
		if req.Limit == 1 {
			return s.findOne(ctx, coll, req, res)
		}
		return s.find(ctx, coll, req, res)
	case workload.Insert:
		return s.insert(ctx, coll, req, res)
	case workload.Update, workload.Delete:
		return s.update(ctx, coll, req, res)
	case workload.FindAndModify:
		return s.findAndModify(ctx, coll, req, res)
	case workload.Aggregate:
		return s.aggregate(ctx, coll, req, res)
	case workload.Distinct:
		return s.distinct(ctx, coll, req, res)
	case workload.Watch:
		return s.watch(ctx, coll, req, res)
	case workload.Commit:
		return s.txn.CommitTransaction(ctx)
	case workload.Abort:
		return s.txn.AbortTransaction(ctx)
	}
	return errUnknownVerb
}

// complete adds the figures of the tracker to res and classifies an error.
func (s *session) complete(write bool, err error, res *store.Result) {
	s.track.end()
	res.Attempts, res.PoolWait, res.Server = s.track.sent(), s.track.wait, s.track.server
	res.OperationTime, res.SnapshotTime = s.track.operation, s.track.snapshot
	if err != nil {
		s.classify(write, err, res)
		return
	}
	res.Arrived = s.track.arrived()
}

func (s *session) collection(req *workload.Request) *driver.Collection {
	h := handle{req.Collection, req.Concern}
	if s.coll != nil && s.last == h {
		return s.coll
	}
	coll, ok := s.more[h]
	if !ok {
		coll = s.db.Collection(h.name, collectionOptions(h.concern))
		s.more[h] = coll
	}
	s.last, s.coll = h, coll
	return coll
}

// Close ends the driver's session, if there is one. Connections belong to the pools of the client.
func (s *session) Close() error {
	for _, f := range s.feeds {
		_ = f.Close(context.Background()) // the server removes its cursor with the session
	}
	if s.txn != nil && s.txn != s.causal {
		s.txn.EndSession(context.Background())
	}
	if s.causal != nil {
		s.causal.EndSession(context.Background()) // the client ends it on the server when it disconnects
	}
	return nil
}
