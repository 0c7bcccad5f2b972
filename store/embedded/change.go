package embedded

import (
	"bytes"
	"fmt"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/plimsoll-bench/plimsoll/internal/rawbson"
	"github.com/plimsoll-bench/plimsoll/store"
	"github.com/plimsoll-bench/plimsoll/workload"
)

// updates applies the statements of a request in order, each as one batch of the engine. A single statement waits for
// its own sync; several wait for one sync after the last, which covers them all.
func (s *session) updates(deadline time.Time, req *workload.Request, res *store.Result) error {
	if len(req.Updates) == 0 || len(req.Updates) > maxBatchDocs {
		return badValue(21, "InvalidLength", "an update takes 1 to %d statements, not %d", maxBatchDocs, len(req.Updates))
	}
	s.later = len(req.Updates) > 1 || req.Updates[0].Many
	defer func() { s.later = false }()
	var failed error
	wrote, found := false, 0
	for i := range req.Updates {
		before := res.Docs
		w, err := s.statement(deadline, req, &req.Updates[i], res)
		wrote = wrote || w
		if res.Docs > before {
			found++
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
	matched(req, res, found)
	return nil
}

// matched sets the outcome if statements matched no document although the workload expected one. found is the number of
// those that did.
func matched(req *workload.Request, res *store.Result, found int) {
	switch {
	case req.MayBeEmpty || found == len(req.Updates):
	case found == 0:
		res.Outcome = store.NotFound
	default:
		res.Outcome = store.Partial
		res.Message = fmt.Sprintf("%d of %d statements matched no document", len(req.Updates)-found, len(req.Updates))
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

// statement applies one statement of an update or delete, and reports whether it wrote.
func (s *session) statement(deadline time.Time, req *workload.Request, u *workload.Statement, res *store.Result) (
	wrote bool, err error) {
	if err := s.filter.compile(u.Filter); err != nil {
		return false, err
	}
	remove := req.Verb == workload.Delete || req.Remove
	if !remove {
		if err := s.update.compile(u.Update); err != nil {
			return false, err
		}
	}
	res.Bytes += len(u.Update)
	id, point := s.filter.point()
	if !point {
		return s.changeSelected(deadline, req, u, remove, res)
	}
	b, err := s.changeOne(req.Collection, id, u, remove, res)
	return b != nil, s.awaited(b, err)
}

// awaited waits for a batch, nil if nothing changed. err is that of making it.
func (s *session) awaited(b *pebble.Batch, err error) error {
	if b == nil {
		return err
	}
	if wait := s.await(b); wait != nil {
		return wait
	}
	return err
}

// changeSelected changes the documents that a filter selects: the first one, or all. Each is locked and compared with
// the filter again, because another session may have changed it in between. Then the first one is searched again.
func (s *session) changeSelected(deadline time.Time, req *workload.Request, u *workload.Statement, remove bool,
	res *store.Result) (wrote bool, err error) {
	c := s.st.lookup(req.Collection)
	if c == nil {
		return false, nil
	}
	limit := 1
	if u.Many {
		limit = 0
	}
	for {
		docs, err := s.selected(c, deadline, s.sorts, limit)
		if err != nil || len(docs) == 0 {
			return wrote, err
		}
		before := res.Docs
		for _, doc := range docs {
			id, _ := lookup(doc, idField)
			b, err := s.changeOne(req.Collection, id, u, remove, res)
			wrote = wrote || b != nil
			if err := s.awaited(b, err); err != nil {
				return wrote, err
			}
		}
		if u.Many || res.Docs > before {
			return wrote, nil
		}
		if !deadline.IsZero() && time.Now().After(deadline) {
			return wrote, errDeadline
		}
	}
}

// changeOne changes or removes the document with an _id if the filter still selects it. It returns the batch to wait
// for, nil if nothing changed.
func (s *session) changeOne(coll string, id value, u *workload.Statement, remove bool, res *store.Result) (
	*pebble.Batch, error) {
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
	s.key = docKey(s.key[:0], c.id, id)
	lock := &s.st.stripes[s.st.stripe(s.key)]
	lock.Lock()
	defer lock.Unlock()
	doc, found, err := s.read(s.doc[:0], s.key)
	s.doc = doc
	switch {
	case err != nil:
		return nil, err
	case found && !s.filter.match(doc):
		return nil, nil
	case found && remove:
		return s.remove(c, doc, res)
	case found:
		return s.change(c, doc, res)
	case u.Upsert:
		return s.upsert(c, id, res)
	}
	return nil, nil
}

// remove removes doc with its index entries. The caller holds its lock.
func (s *session) remove(c *collection, doc []byte, res *store.Result) (*pebble.Batch, error) {
	b := s.st.db.NewBatch()
	for _, ix := range c.indexes {
		if _, err := s.old.extract(ix, c.id, doc, s.key[docPrefixLen:]); err != nil {
			return b, notApplied(b, err)
		}
		for i := range s.old.ends {
			if err := b.Delete(s.old.at(i), nil); err != nil {
				return b, notApplied(b, err)
			}
		}
	}
	if err := b.Delete(s.key, nil); err != nil {
		return b, notApplied(b, err)
	}
	s.noteChange(c, doc, nil)
	res.Docs++
	return b, s.apply(b)
}

// findAndModify changes or removes the first document of an order and returns it, as it was or as it is.
func (s *session) findAndModify(deadline time.Time, req *workload.Request, res *store.Result) (err error) {
	if err := s.proj.compile(req.Projection); err != nil {
		return err
	}
	if s.sorts, err = compileSort(s.sorts[:0], req.Sort); err != nil {
		return err
	}
	if err := s.updates(deadline, req, res); err != nil || res.Docs == 0 {
		return err
	}
	doc := s.doc
	if req.New && !req.Remove {
		doc = s.next
	}
	if len(doc) == 0 { // it was inserted
		return nil
	}
	written := res.Bytes
	res.Docs = 0
	s.emit(doc, res)
	res.Bytes += written
	return nil
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
	defer s.unlockValues()
	if err := s.putUnique(b, c, s.key, old, s.next); err != nil {
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
