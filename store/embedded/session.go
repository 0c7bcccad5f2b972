package embedded

import (
	"time"

	"github.com/plimsoll-bench/plimsoll/store"
	"github.com/plimsoll-bench/plimsoll/workload"
)

// session belongs to one worker. It holds buffers only.
type session struct {
	st *embeddedStore

	filter filter
	update update
	proj   projection
	sorts  []sortField

	key     []byte // of the current document
	doc     []byte // as read
	out     []byte // Result.Doc points to it
	next    []byte // the new version of doc
	scratch []byte
	old     entries
	new     entries
	room    [10]byte
	stripes []uint64 // locks of a batch
	values  []uint64 // locks of its values in unique indexes
	fresh   []string // values of a document that no other one has
	later   bool     // this request syncs the log once, at its end

	events  []event // of the batch that is made, for those who watch
	watches []*feed
}

// Do carries out one request. See [store.Session].
func (s *session) Do(deadline time.Time, req *workload.Request, res *store.Result) {
	res.Reset()
	write := req.Writes()
	if err := s.ready(deadline); err != nil {
		fail(res, err, write)
		return
	}
	defer s.recoverDo(res, write)
	res.Attempts, s.events = 1, s.events[:0]
	var err error
	if req.Within || req.Hint.Kind != 0 || req.Collation != nil {
		err = Check(req)
		s.finish(req, res, err)
		return
	}
	switch req.Verb {
	case workload.Find:
		err = s.find(deadline, req, res)
	case workload.Aggregate:
		err = s.aggregate(deadline, req, res)
	case workload.Insert:
		err = s.insert(req, res)
	case workload.Update, workload.Delete, workload.FindAndModify:
		for i := range req.Updates {
			if u := &req.Updates[i]; u.Upsert || u.Stages || u.ArrayFilters != nil {
				err = keep(err, checkStatement(s, req, u))
			}
		}
		switch {
		case err != nil:
		case req.Verb == workload.FindAndModify:
			err = s.findAndModify(deadline, req, res)
		default:
			s.sorts = s.sorts[:0]
			err = s.updates(deadline, req, res)
		}
	case workload.Distinct:
		err = s.distinct(deadline, req, res)
	case workload.Watch:
		err = s.watch(deadline, req, res)
	default:
		err = unsupported("the command " + req.Verb.String())
	}
	s.finish(req, res, err)
}

// ready returns why an operation cannot start: the storage has failed or the deadline has passed.
func (s *session) ready(deadline time.Time) error {
	if cause := s.st.failure(); cause != nil {
		return &opError{outcome: store.Failed, reason: store.Storage, msg: cause.Error()}
	}
	if !deadline.IsZero() && !time.Now().Before(deadline) {
		return errLate
	}
	return nil
}

var errLate = &opError{
	outcome: store.Failed, reason: store.Timeout, code: 50, name: "MaxTimeMSExpired",
	msg: "the deadline had passed before the operation began",
}

// finish puts the end of an operation into res.
func (s *session) finish(req *workload.Request, res *store.Result, err error) {
	write := req.Writes()
	if err != nil {
		fail(res, err, write)
		if res.Reason == store.Storage {
			res.Message = s.st.explain(err).Error()
		}
	}
	if !write || res.Reason == store.Storage {
		return
	}
	if cause := s.st.failure(); cause != nil {
		res.Fail(store.Indeterminate, store.Storage, cause.Error())
		return
	}
	if s.st.concern.Unacknowledged() && res.Reason != store.Client && len(req.Docs)+len(req.Updates) > 0 {
		unacknowledged(req, res)
	}
}

// unacknowledged replaces the result of a write without acknowledgement. It counts the documents and bytes of the
// request.
func unacknowledged(req *workload.Request, res *store.Result) {
	*res = store.Result{Outcome: store.Unacknowledged, Attempts: 1, Docs: len(req.Docs) + len(req.Updates)}
	for _, d := range req.Docs {
		res.Bytes += len(d)
	}
	for i := range req.Updates {
		res.Bytes += len(req.Updates[i].Update)
	}
}

// recoverDo turns a panic of the engine into an outcome.
func (s *session) recoverDo(res *store.Result, write bool) {
	p := recover()
	if p == nil {
		return
	}
	s.st.enginePanic(p)
	o := store.Failed
	if write {
		o = store.Indeterminate
	}
	res.Fail(o, store.Storage, s.st.failure().Error())
}

func (s *session) Close() error {
	s.st.feeds.leave(s.watches)
	*s = session{st: s.st}
	return nil
}
