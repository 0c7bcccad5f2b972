package embedded

import (
	"bytes"
	"fmt"

	"github.com/cockroachdb/pebble/v2"
	"github.com/plimsoll-bench/plimsoll/internal/rawbson"
	"github.com/plimsoll-bench/plimsoll/store"
	"github.com/plimsoll-bench/plimsoll/workload"
)

// updates applies the statements of a request in order, each as one batch of the engine. A single statement waits for
// its own sync; several wait for one sync after the last, which covers them all.
func (s *session) updates(req *workload.Request, res *store.Result) error {
	if len(req.Updates) == 0 || len(req.Updates) > maxBatchDocs {
		return badValue(21, "InvalidLength", "an update takes 1 to %d statements, not %d", maxBatchDocs, len(req.Updates))
	}
	s.later = len(req.Updates) > 1
	defer func() { s.later = false }()
	var failed error
	wrote := false
	for i := range req.Updates {
		b, err := s.statement(req.Collection, &req.Updates[i], res)
		if b != nil {
			wrote = true
			if err := s.await(b); err != nil {
				return err
			}
		}
		if failed = keep(failed, err); err != nil && !req.Unordered {
			break
		}
	}
	if err := s.syncAfter(wrote, res); err != nil {
		return err
	}
	if failed != nil {
		return partial(failed, res)
	}
	matched(req, res)
	return nil
}

// matched sets the outcome if statements matched no document although the workload expected one.
func matched(req *workload.Request, res *store.Result) {
	switch {
	case req.MayBeEmpty || res.Docs == len(req.Updates):
	case res.Docs == 0:
		res.Outcome = store.NotFound
	default:
		res.Outcome = store.Partial
		res.Message = fmt.Sprintf("%d of %d statements matched no document",
			len(req.Updates)-res.Docs, len(req.Updates))
	}
}

// syncAfter syncs the log if no statement has done so, also if nothing changed: an acknowledgement at this level means
// that the matched document is on disk, and another session may have written it a moment ago.
func (s *session) syncAfter(wrote bool, res *store.Result) error {
	if s.st.sync && res.Docs > 0 && (s.later || !wrote) {
		return s.st.db.LogData(nil, pebble.Sync)
	}
	return nil
}

// statement applies one statement to the document whose _id is its filter. It returns the batch to wait for, nil if
// nothing changed.
func (s *session) statement(coll string, u *workload.Statement, res *store.Result) (*pebble.Batch, error) {
	if err := s.filter.compile(u.Filter); err != nil {
		return nil, err
	}
	id, ok := s.filter.point()
	if !ok {
		return nil, unsupported("an update whose filter is anything but one _id")
	}
	if err := s.update.compile(u.Update); err != nil {
		return nil, err
	}
	s.st.gate.RLock()
	defer s.st.gate.RUnlock()
	c := s.st.lookup(coll)
	if c == nil {
		if !u.Upsert {
			return nil, nil
		}
		var err error
		if c, err = s.st.create(coll); err != nil {
			return nil, err
		}
	}
	res.Bytes += len(u.Update)
	s.key = docKey(s.key[:0], c.id, id)
	lock := &s.st.stripes[s.st.stripe(s.key)]
	lock.Lock()
	defer lock.Unlock()
	doc, found, err := s.read(s.doc[:0], s.key)
	s.doc = doc
	switch {
	case err != nil:
		return nil, err
	case found:
		return s.change(c, doc, res)
	case u.Upsert:
		return s.upsert(c, id, res)
	}
	return nil, nil
}

// change rewrites doc. The caller holds its lock.
func (s *session) change(c *collection, doc []byte, res *store.Result) (*pebble.Batch, error) {
	var err error
	if s.next, err = s.update.apply(s.next[:0], doc); err != nil {
		return nil, err
	}
	res.Docs++
	if bytes.Equal(s.next, doc) {
		return nil, nil
	}
	return s.store(c, doc, res)
}

// store writes s.next with the key s.key. old is the version before, nil for a new document.
func (s *session) store(c *collection, old []byte, res *store.Result) (*pebble.Batch, error) {
	b := s.st.db.NewBatch()
	if err := s.put(b, c, s.key, old, s.next); err != nil {
		res.Docs--
		return b, notApplied(b, err)
	}
	return b, s.apply(b)
}

// upsert inserts the document that the _id and the update make. The caller holds its lock.
func (s *session) upsert(c *collection, id value, res *store.Result) (*pebble.Batch, error) {
	if err := checkID(id); err != nil {
		return nil, err
	}
	doc, start := rawbson.Open(nil)
	doc = rawbson.Close(appendElem(doc, idField, id), start)
	var err error
	if s.next, err = s.update.apply(s.next[:0], doc); err != nil {
		return nil, err
	}
	if err := validate(s.next, 1); err != nil {
		return nil, badValue(22, "InvalidBSON", "%s", err)
	}
	res.Docs++
	return s.store(c, nil, res)
}
