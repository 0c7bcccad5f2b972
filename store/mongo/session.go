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

	name string // of coll
	coll *driver.Collection
	more map[string]*driver.Collection // the other collections used so far

	first  []byte              // copy of the first document of a cursor
	docs   []bson.Raw          // reused for batches
	models []driver.WriteModel // reused for batches
}

func newSession(life context.Context, client *driver.Client, database string, acknowledged, causal bool) (
	*session, error,
) {
	s := &session{db: client.Database(database), acknowledged: acknowledged, more: map[string]*driver.Collection{}}
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
	write := req.Verb == workload.Insert || req.Verb == workload.Update
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
	ctx, cancel := s.base, context.CancelFunc(func() {})
	if !deadline.IsZero() {
		ctx, cancel = context.WithDeadline(s.base, deadline)
	}
	defer cancel()
	s.complete(write, s.perform(ctx, req, res), res)
}

// perform sends the request and fills res unless it returns an error.
func (s *session) perform(ctx context.Context, req *workload.Request, res *store.Result) error {
	coll := s.collection(req.Collection)
	switch req.Verb {
	case workload.Find:
		if req.Limit == 1 {
			return s.findOne(ctx, coll, req, res)
		}
		return s.find(ctx, coll, req, res)
	case workload.Insert:
		return s.insert(ctx, coll, req, res)
	case workload.Update:
		return s.update(ctx, coll, req, res)
	case workload.Aggregate:
		return s.aggregate(ctx, coll, req, res)
	}
	return errUnknownVerb
}

// complete adds the figures of the tracker to res and classifies an error.
func (s *session) complete(write bool, err error, res *store.Result) {
	s.track.end()
	res.Attempts, res.PoolWait, res.Server = s.track.sent(), s.track.wait, s.track.server
	if err != nil {
		s.classify(write, err, res)
		return
	}
	if write && !s.acknowledged && res.Outcome == store.OK {
		res.Outcome = store.Unacknowledged
	}
}

func (s *session) collection(name string) *driver.Collection {
	if s.coll != nil && s.name == name {
		return s.coll
	}
	coll, ok := s.more[name]
	if !ok {
		coll = s.db.Collection(name)
		s.more[name] = coll
	}
	s.name, s.coll = name, coll
	return coll
}

// Close ends the driver's session, if there is one. Connections belong to the pools of the client.
func (s *session) Close() error {
	if s.causal != nil {
		s.causal.EndSession(context.Background()) // the client ends it on the server when it disconnects
	}
	return nil
}
