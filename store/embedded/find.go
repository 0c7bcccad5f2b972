package embedded

import (
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/plimsoll-bench/plimsoll/internal/rawbson"
	"github.com/plimsoll-bench/plimsoll/store"
	"github.com/plimsoll-bench/plimsoll/workload"
)

// find answers a find. The read of one document by its _id takes the short way.
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

// notFound makes an empty answer the outcome not-found where the workload expected a document.
func notFound(req *workload.Request, res *store.Result) {
	if res.Docs == 0 && !req.MayBeEmpty {
		res.Outcome = store.NotFound
	}
}

func (s *session) findIn(c *collection, deadline time.Time, req *workload.Request, res *store.Result) error {
	if id, ok := s.filter.point(); ok && req.Skip == 0 {
		return s.get(c, id, res)
	}
	sc := &scan{st: s.st, coll: c, filter: &s.filter, deadline: deadline, plan: choose(c, &s.filter, s.sorts)}
	if len(s.sorts) > 0 && !sc.plan.sorted {
		return s.findSorted(sc, req, res)
	}
	sc.skip = req.Skip
	return sc.run(func(doc []byte) (bool, error) {
		s.emit(doc, res)
		return req.Limit == 0 || int64(res.Docs) < req.Limit, nil
	})
}

// findSorted orders what the scan finds in memory.
func (s *session) findSorted(sc *scan, req *workload.Request, res *store.Result) error {
	rows := sorter{fields: s.sorts}
	if req.Limit > 0 {
		rows.limit = req.Skip + req.Limit
	}
	err := sc.run(func(doc []byte) (bool, error) { return true, rows.add(doc) })
	if err != nil {
		return err
	}
	rows.trim()
	for i := req.Skip; i < int64(len(rows.rows)); i++ {
		s.emit(rows.rows[i].doc, res)
	}
	return nil
}

// point returns the _id if the filter asks for one document by its _id and nothing else.
func (f *filter) point() (value, bool) {
	if len(f.preds) != 1 {
		return value{}, false
	}
	p := &f.preds[0]
	return p.arg, p.op == opEq && string(p.path) == "_id" && p.arg.t != rawbson.Array
}

// get reads one document by its _id.
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

// emit counts one document of the answer and keeps the first one.
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
