package embedded

import (
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/plimsoll-bench/plimsoll/internal/rawbson"
	"github.com/plimsoll-bench/plimsoll/store"
	"github.com/plimsoll-bench/plimsoll/workload"
)

// find reads a document by its _id directly and scans for everything else.
func (s *session) find(deadline time.Time, req *workload.Request, res *store.Result) error {
	if err := s.filter.compile(req.Filter); err != nil {
		return err
	}
	if err := s.proj.compile(req.Projection); err != nil {
		return err
	}
	var err error
	if s.sorts, err = compileSort(s.sorts[:0], req.Sort); err != nil {
		return err
	}
	if req.Skip < 0 || req.Limit < 0 {
		return badValue(51024, "Location51024", "skip and limit cannot be negative")
	}
	c := s.st.lookup(req.Collection)
	if c != nil {
		if err := s.findIn(c, deadline, req, res); err != nil {
			return err
		}
	}
	notFound(req, res)
	return nil
}

// notFound sets the outcome of an empty result if the workload expected a document.
func notFound(req *workload.Request, res *store.Result) {
	if res.Docs == 0 && !req.MayBeEmpty {
		res.Outcome = store.NotFound
	}
}

func (s *session) findIn(c *collection, deadline time.Time, req *workload.Request, res *store.Result) error {
	if id, ok := s.filter.point(); ok && req.Skip == 0 {
		return s.get(c, id, res)
	}
	p, ok := choose(c, &s.filter, s.sorts)
	if !ok {
		return unsupported("a sort that neither the _id nor an index gives")
	}
	sc := &scan{st: s.st, coll: c, filter: &s.filter, deadline: deadline, plan: p, skip: req.Skip}
	return sc.run(func(doc []byte) (bool, error) {
		s.emit(doc, res)
		return req.Limit == 0 || int64(res.Docs) < req.Limit, nil
	})
}

// point returns the _id if the filter is {_id: value}.
func (f *filter) point() (value, bool) {
	if len(f.preds) != 1 {
		return value{}, false
	}
	p := &f.preds[0]
	return p.arg, p.op == opEq && string(p.path) == "_id" && p.arg.t != rawbson.Array
}

func (s *session) get(c *collection, id value, res *store.Result) error {
	s.key = docKey(s.key[:0], c.id, id)
	doc, closer, err := s.st.db.Get(s.key)
	if err == pebble.ErrNotFound {
		return nil
	}
	if err != nil {
		return err
	}
	s.emit(doc, res)
	return closer.Close()
}

// emit counts one document of the result and keeps the first one.
func (s *session) emit(doc []byte, res *store.Result) {
	switch {
	case res.Docs > 0:
		s.scratch = s.proj.applyTo(s.scratch[:0], doc)
		res.Bytes += len(s.scratch)
	default:
		s.out = s.proj.applyTo(s.out[:0], doc)
		res.Doc = s.out
		res.Bytes = len(s.out)
	}
	res.Docs++
}
