package null

import (
	"context"
	"fmt"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/plimsoll-bench/plimsoll/store"
	"github.com/plimsoll-bench/plimsoll/workload"
)

// Store is the target inside the process. It uses the options Count, Service, Stalls and Observe.
type Store struct {
	s *server
}

// Open makes a store that answers after the service time of opts, without a network.
func Open(_ store.Config, opts Options) (*Store, error) {
	if opts.Count < 0 {
		return nil, fmt.Errorf("the null store cannot have %d documents: use a count of 0 or more", opts.Count)
	}
	return &Store{s: newServer("null:", opts)}, nil
}

// Session never fails.
func (s *Store) Session(int) (store.Session, error) {
	counted := document(bson.D{{Key: "_id", Value: int32(1)}, {Key: "n", Value: s.s.opts.Count}})
	return &session{s: s.s, counted: counted}, nil
}

// Info has the size of a document only.
func (s *Store) Info(context.Context) (store.Info, error) {
	return store.Info{Kind: "null", Topology: "null", Settings: map[string]string{
		"document_bytes": fmt.Sprint(s.s.docs.size(s.s.docs.id)),
	}}, nil
}

// EnsureIndexes does nothing.
func (s *Store) EnsureIndexes(context.Context, []workload.Index) error { return nil }

// Count returns the number that the options say.
func (s *Store) Count(context.Context, string) (int64, error) { return s.s.opts.Count, nil }

// Drop does nothing.
func (s *Store) Drop(context.Context, string) error { return nil }

// Close does nothing.
func (s *Store) Close() error { return nil }

// session belongs to one worker.
type session struct {
	s       *server
	timer   sleeper
	doc     []byte
	counted []byte
}

// Do fills res from canned documents, after the service time if there is one.
func (c *session) Do(deadline time.Time, req *workload.Request, res *store.Result) {
	res.Reset()
	if !c.serve(deadline, res) {
		outcome := store.Failed
		if req.Verb == workload.Insert || req.Verb == workload.Update {
			outcome = store.NotApplied
		}
		res.Fail(outcome, store.Timeout, "the deadline passed before the null store answered")
		return
	}
	switch req.Verb {
	case workload.Find:
		c.find(req, res)
	case workload.Insert:
		for _, doc := range req.Docs {
			res.Bytes += len(doc)
		}
		res.Docs = len(req.Docs)
	case workload.Update:
		for i := range req.Updates {
			res.Bytes += len(req.Updates[i].Update)
		}
		res.Docs = len(req.Updates)
	case workload.Aggregate:
		res.Docs, res.Doc, res.Bytes = 1, c.counted, len(c.counted)
	}
	res.Attempts = 1
}

// serve waits for the service time. It reports whether that ended before the deadline.
func (c *session) serve(deadline time.Time, res *store.Result) bool {
	arrived := time.Now()
	if !deadline.IsZero() && !arrived.Before(deadline) {
		return false
	}
	o := &c.s.opts
	if !o.timed() {
		return true
	}
	n := c.s.requests.Add(1) - 1
	due := c.s.due(n, arrived)
	res.Attempts = 1
	if !deadline.IsZero() && due.After(deadline) {
		c.timer.until(deadline)
		return false
	}
	c.timer.until(due)
	if o.Observe != nil {
		o.Observe(n, arrived, time.Now())
	}
	return true
}

// find returns the canned document with the _id of the request.
func (c *session) find(req *workload.Request, res *store.Result) {
	id, n := c.s.docs.id, max(req.Limit, 1)
	if asked := equalityID(req.Filter); asked != nil {
		id, n = asked, 1
	}
	c.doc = c.s.docs.appendDoc(c.doc[:0], id)
	res.Doc, res.Docs, res.Bytes = c.doc, int(n), int(n)*len(c.doc)
}

func (c *session) Close() error {
	c.timer.close()
	return nil
}
