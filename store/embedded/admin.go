package embedded

import (
	"bytes"
	"context"
	"fmt"
	"slices"

	"github.com/cockroachdb/pebble/v2"
	"github.com/plimsoll-bench/plimsoll/workload"
)

// buildBytes is the size of a batch of new index entries.
const buildBytes = 4 << 20

// EnsureIndexes creates the indexes that do not exist yet. Writers wait until it returns.
func (st *embeddedStore) EnsureIndexes(ctx context.Context, indexes []workload.Index) (err error) {
	defer st.recoverTo(&err)
	for _, ix := range indexes {
		if err := st.ensureIndex(ctx, ix); err != nil {
			return fmt.Errorf("create the index %q on %s: %w", ix.Name, ix.Collection, st.explainUnlessOurs(err))
		}
	}
	return st.failure()
}

// explainUnlessOurs leaves a refusal by this package as it is.
func (st *embeddedStore) explainUnlessOurs(err error) error {
	if _, ok := err.(*opError); ok {
		return err
	}
	return st.explain(err)
}

func (st *embeddedStore) ensureIndex(ctx context.Context, want workload.Index) error {
	if err := ctx.Err(); err != nil {
		return &opError{msg: err.Error()}
	}
	if err := st.failure(); err != nil {
		return err
	}
	e, err := entryOf(&want)
	if err != nil {
		return err
	}
	st.gate.Lock()
	defer st.gate.Unlock()
	c, err := st.create(want.Collection)
	if err != nil {
		return err
	}
	done, err := hasIndex(c, e)
	if err != nil || done {
		return err
	}
	e.ID = nextIndex(c)
	ix, err := newIndex(e)
	if err != nil {
		return err
	}
	if err := st.build(ctx, c, ix); err != nil {
		return err
	}
	with := &collection{id: c.id, name: c.name, indexes: append(slices.Clone(c.indexes), ix)}
	b := st.db.NewBatch()
	defer b.Close()
	if err := with.save(b); err != nil {
		return err
	}
	if err := st.db.Apply(b, pebble.Sync); err != nil {
		return err
	}
	st.publish(with)
	return nil
}

// hasIndex reports whether an index with the keys of want exists. One of its keys with other options, or of its name
// with other keys, is an error.
func hasIndex(c *collection, want indexEntry) (bool, error) {
	for _, ix := range c.indexes {
		if bytes.Equal(ix.keys, want.Keys) {
			if a, b := ix.expire, want.ExpireAfter; (a == nil) != (b == nil) || a != nil && *a != *b {
				return false, badValue(85, "IndexOptionsConflict",
					"there is an index %q on %s that expires documents after another time: drop the collection", ix.name, c.name)
			}
			if ix.unique != want.Unique || !bytes.Equal(ix.only, want.Partial) {
				return false, badValue(85, "IndexOptionsConflict",
					"there is an index %q on %s with these keys that is unique or partial otherwise: drop the collection",
					ix.name, c.name)
			}
			return true, nil
		}
		if ix.name == want.Name {
			return false, badValue(86, "IndexKeySpecsConflict",
				"there is an index %q on %s with other keys: drop the collection, or give the index another name",
				ix.name, c.name)
		}
	}
	return false, nil
}

// nextIndex returns a number that no index of c has. An interrupted build may have left entries with it, which build
// removes.
func nextIndex(c *collection) uint32 {
	next := uint32(1)
	for _, ix := range c.indexes {
		next = max(next, ix.id+1)
	}
	return next
}

// build writes the entries of a new index for all documents. Writers are locked out.
func (st *embeddedStore) build(ctx context.Context, c *collection, ix *index) (err error) {
	old := prefixSpan(indexPrefix(nil, c.id, ix.id))
	if err := st.db.DeleteRange(old.lower, old.upper, pebble.NoSync); err != nil {
		return err
	}
	if err := st.db.Delete(multikeyKey(nil, c.id, ix.id), pebble.NoSync); err != nil {
		return err
	}
	docs := prefixSpan(docPrefix(nil, c.id))
	it, err := st.db.NewIter(&pebble.IterOptions{LowerBound: docs.lower, UpperBound: docs.upper})
	if err != nil {
		return err
	}
	defer func() {
		if e := it.Close(); err == nil {
			err = e
		}
	}()
	b := st.db.NewBatch()
	defer func() { b.Close() }()
	var s session
	for ok := it.First(); ok; ok = it.Next() {
		if err := s.putIndex(b, c, ix, it.Key()[docPrefixLen:], nil, it.Value()); err != nil {
			return err
		}
		if b.Len() < buildBytes {
			continue
		}
		if err := ctx.Err(); err != nil {
			return &opError{msg: err.Error()}
		}
		if err := st.db.Apply(b, pebble.NoSync); err != nil {
			return err
		}
		b.Reset()
	}
	if err := it.Error(); err != nil {
		return err
	}
	if err := st.db.Apply(b, pebble.NoSync); err != nil || !ix.unique {
		return err
	}
	return st.checkUnique(c, ix)
}
