package embedded

import (
	"bytes"
	"fmt"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/plimsoll-bench/plimsoll/store"
	"github.com/plimsoll-bench/plimsoll/workload"
)

// updates applies the statements of an update request in order, each as one batch of the engine. One
// statement waits for its own sync; several wait for one sync after the last, which covers them all.
func (s *session) updates(deadline time.Time, req *workload.Request, res *store.Result) error {
	if len(req.Updates) == 0 || len(req.Updates) > maxBatchDocs {
		return badValue(21, "InvalidLength", "an update takes 1 to %d statements, not %d", maxBatchDocs, len(req.Updates))
	}
	s.later = len(req.Updates) > 1
	defer func() { s.later = false }()
	var failed error
	wrote := false
	for i := range req.Updates {
		b, err := s.statement(deadline, req.Collection, &req.Updates[i], res)
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
	if err := s.settle(wrote, res); err != nil {
		return err
	}
	if failed != nil {
		return partial(failed, res)
	}
	matched(req, res)
	return nil
}

// matched makes statements that matched nothing an outcome, where the workload expected a document.
func matched(req *workload.Request, res *store.Result) {
	switch {
	case req.MayBeEmpty || res.Docs == len(req.Updates):
	case res.Docs == 0:
		res.Outcome = store.NotFound
	default:
		res.Outcome = store.Partial
		res.Message = fmt.Sprintf("%d of %d statements matched no document", len(req.Updates)-res.Docs, len(req.Updates))
	}
}

// settle syncs the log where nothing has done so yet. Even if nothing changed: what was seen may have
// been written by others a moment ago, and an acknowledgement at this level means that it is on disk.
func (s *session) settle(wrote bool, res *store.Result) error {
	if s.st.sync && res.Docs > 0 && (s.later || !wrote) {
		return s.st.db.LogData(nil, pebble.Sync)
	}
	return nil
}

// statement applies one statement. It returns the batch to wait for, nil if nothing changed.
func (s *session) statement(deadline time.Time, coll string, u *workload.Statement, res *store.Result) (*pebble.Batch, error) {
	if err := s.filter.compile(u.Filter); err != nil {
		return nil, err
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
	if id, ok := s.filter.fixes(idField); ok {
		s.key = docKey(s.key[:0], c.id, id)
		return s.changeByID(c, u.Upsert, res)
	}
	return s.changeByScan(c, u, deadline, res)
}

// changeByID changes the document whose key is in s.key, or upserts it.
func (s *session) changeByID(c *collection, upsert bool, res *store.Result) (*pebble.Batch, error) {
	lock := &s.st.stripes[s.st.stripe(s.key)]
	lock.Lock()
	defer lock.Unlock()
	doc, found, err := s.read(s.doc[:0], s.key)
	s.doc = doc
	if err != nil {
		return nil, err
	}
	if found && s.filter.match(doc) {
		return s.change(c, doc, res)
	}
	if !upsert {
		return nil, nil
	}
	if found {
		return nil, duplicate(c)
	}
	return s.upsert(c, res)
}

// change rewrites doc, whose lock is held.
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

// store writes s.next over old, nil for a new document, under s.key.
func (s *session) store(c *collection, old []byte, res *store.Result) (*pebble.Batch, error) {
	b := s.st.db.NewBatch()
	if err := s.put(b, c, s.key, old, s.next); err != nil {
		res.Docs--
		return b, notApplied(b, err)
	}
	return b, s.apply(b)
}

// upsert inserts the document that the filter's equalities and the update make. The lock of its _id,
// if the filter names one, is held; otherwise it is new and nobody else can know it.
func (s *session) upsert(c *collection, res *store.Result) (*pebble.Batch, error) {
	doc, err := s.update.seed(&s.filter)
	if err != nil {
		return nil, err
	}
	if s.next, err = s.update.apply(s.next[:0], doc); err != nil {
		return nil, err
	}
	if err := validate(s.next, 1); err != nil {
		return nil, badValue(22, "InvalidBSON", "%s", err)
	}
	id, _ := lookup(s.next, idField)
	if id.t == tArray || id.t == tRegex || id.t == tUndefined {
		return nil, badValue(2, "BadValue", "the _id of a document cannot be an array, a regular expression or undefined")
	}
	s.key = docKey(s.key[:0], c.id, id)
	found, err := s.exists(s.key)
	if err != nil {
		return nil, err
	}
	if found {
		return nil, duplicate(c)
	}
	res.Docs++
	return s.store(c, nil, res)
}

// seed makes the document that an upsert starts from: the _id and, for operators, the fields that the
// filter fixes by equality.
func (u *update) seed(f *filter) ([]byte, error) {
	id, ok := f.fixes(idField)
	if !ok {
		id, ok = u.ownID()
	}
	if !ok {
		id = value{t: tObjectID, data: newObjectID()}
	}
	doc, start := beginDoc(nil)
	doc = endDoc(appendElem(doc, idField, id), start)
	if u.replace != nil {
		return doc, nil
	}
	fixed := update{}
	for i := range f.preds {
		p := &f.preds[i]
		if p.op == opEq && !bytes.Equal(p.path, idField) {
			fixed.changes = append(fixed.changes, changeOf(p.path, false, p.arg))
		}
	}
	if err := fixed.order(); err != nil {
		return nil, err
	}
	return fixed.apply(nil, doc)
}

// ownID returns the _id that the update itself brings.
func (u *update) ownID() (value, bool) {
	if u.replace != nil {
		return lookup(u.replace, idField)
	}
	for i := range u.changes {
		if bytes.Equal(u.changes[i].path, idField) && !u.changes[i].inc {
			return u.changes[i].arg, true
		}
	}
	return value{}, false
}

// changeByScan changes the first document that the filter selects. The scan holds no lock, so each
// candidate is read again under its own.
func (s *session) changeByScan(c *collection, u *workload.Statement, deadline time.Time, res *store.Result) (*pebble.Batch, error) {
	sc := &scan{st: s.st, coll: c, filter: &s.filter, deadline: deadline, plan: choose(c, &s.filter, nil)}
	var b *pebble.Batch
	matched := false
	err := sc.run(func(doc []byte) (more bool, err error) {
		id, _ := lookup(doc, idField)
		s.key = docKey(s.key[:0], c.id, id)
		before := res.Docs
		b, err = s.changeByID(c, false, res)
		matched = res.Docs > before
		return !matched && err == nil, err
	})
	if err != nil || matched || !u.Upsert {
		return b, err
	}
	return s.upsert(c, res)
}
