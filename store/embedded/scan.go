package embedded

import (
	"bytes"
	"time"

	"github.com/cockroachdb/pebble/v2"
)

// deadlineEvery is the number of visited keys between two checks of the deadline.
const deadlineEvery = 256

// scan visits the documents that a filter selects.
type scan struct {
	st       *embeddedStore
	coll     *collection
	filter   *filter
	plan     plan
	deadline time.Time
	skip     int64 // documents to skip
	keysOnly bool  // the visitor does not read the documents

	snap   *pebble.Snapshot
	closer interface{ Close() error }
	seen   map[string]struct{} // of a multikey index: documents already visited
	key    []byte
	steps  int
}

// visitor gets one document, which is valid until it returns. It returns whether the scan continues.
type visitor func(doc []byte) (more bool, err error)

// run calls visit for every selected document. It reads an index and its documents from one snapshot.
func (sc *scan) run(visit visitor) (err error) {
	if bytes.Compare(sc.plan.span.lower, sc.plan.span.upper) >= 0 {
		return nil
	}
	var reader pebble.Reader = sc.st.db
	if sc.plan.index != nil {
		sc.snap = sc.st.db.NewSnapshot()
		defer sc.snap.Close()
		reader = sc.snap
		if sc.plan.index.multikey.Load() {
			sc.seen = map[string]struct{}{}
		}
	}
	it, err := reader.NewIter(&pebble.IterOptions{LowerBound: sc.plan.span.lower, UpperBound: sc.plan.span.upper})
	if err != nil {
		return err
	}
	defer func() {
		if e := it.Close(); err == nil {
			err = e
		}
	}()
	first, next := it.First, it.Next
	if sc.plan.reverse {
		first, next = it.Last, it.Prev
	}
	for ok := first(); ok; ok = next() {
		if err := sc.tick(); err != nil {
			return err
		}
		if more, err := sc.entry(it, visit); err != nil || !more {
			return err
		}
	}
	return it.Error()
}

func (sc *scan) tick() error {
	sc.steps++
	if sc.steps%deadlineEvery == 0 && !sc.deadline.IsZero() && time.Now().After(sc.deadline) {
		return errDeadline
	}
	return nil
}

func (sc *scan) entry(it *pebble.Iterator, visit visitor) (bool, error) {
	if sc.plan.index == nil && len(sc.filter.preds) == 0 && (sc.skip > 0 || sc.keysOnly) {
		return sc.pass(nil, visit) // the value is not needed without conditions
	}
	doc, err := it.ValueAndErr()
	if err != nil {
		return false, err
	}
	if sc.plan.index != nil {
		if doc, err = sc.fetch(it.Key(), doc); err != nil || doc == nil {
			return true, err
		}
		defer sc.release()
	}
	if !sc.filter.match(doc) {
		return true, nil
	}
	return sc.pass(doc, visit)
}

func (sc *scan) pass(doc []byte, visit visitor) (bool, error) {
	if sc.skip > 0 {
		sc.skip--
		return true, nil
	}
	return visit(doc)
}

// fetch reads the document of an index entry. It returns nil for a document that was visited before.
func (sc *scan) fetch(key, val []byte) ([]byte, error) {
	id, err := splitIndexKey(key, val)
	if err != nil {
		return nil, err
	}
	if sc.seen != nil {
		if _, again := sc.seen[string(id)]; again {
			return nil, nil
		}
		sc.seen[string(id)] = struct{}{}
	}
	sc.key = append(docPrefix(sc.key[:0], sc.coll.id), id...)
	doc, closer, err := sc.snap.Get(sc.key)
	if err == pebble.ErrNotFound {
		return nil, nil
	}
	sc.closer = closer
	return doc, err
}

func (sc *scan) release() {
	if sc.closer != nil {
		_ = sc.closer.Close() // returns memory and cannot fail
		sc.closer = nil
	}
}
