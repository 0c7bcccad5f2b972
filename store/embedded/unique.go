package embedded

import (
	"bytes"

	"github.com/cockroachdb/pebble/v2"
)

// Two documents with the same value in a unique index have other locks, so the values have locks too
// ([embeddedStore.values]). A writer locks those of its new documents after the documents themselves and all at once,
// in a fixed order, so that no two writers deadlock. It holds them until its batch is visible.

// lockValues locks the values of new documents in unique indexes. keys are those of the documents; a nil document is
// left out.
func (s *session) lockValues(c *collection, docs, keys [][]byte) {
	s.values = s.values[:0]
	for _, ix := range c.indexes {
		if !ix.unique {
			continue
		}
		for i, doc := range docs {
			id := keys[i]
			if doc == nil {
				continue
			}
			id = id[docPrefixLen:]
			if _, err := s.new.extract(ix, c.id, doc, id); err != nil {
				continue // it is not written
			}
			for k := range s.new.ends {
				s.values = append(s.values, s.st.stripe(withoutID(s.new.at(k), id)))
			}
		}
	}
	s.values = lockInOrder(&s.st.values, s.values)
}

func (s *session) unlockValues() { unlock(&s.st.values, s.values) }

// withoutID is the part of an index key that all documents with these values have.
func withoutID(entry, id []byte) []byte { return entry[:len(entry)-len(id)] }

// unique returns an error if another document has the values of doc in a unique index. old is the version before, nil
// for a new one. seen has the values of documents that are not visible yet, and gets those of doc; it may be nil.
func (s *session) unique(c *collection, key, old, doc []byte, seen map[string]struct{}) error {
	id := key[docPrefixLen:]
	s.fresh = s.fresh[:0]
	for _, ix := range c.indexes {
		if !ix.unique {
			continue
		}
		if s.old.reset(); old != nil {
			if _, err := s.old.extract(ix, c.id, old, id); err != nil {
				return err
			}
		}
		if _, err := s.new.extract(ix, c.id, doc, id); err != nil {
			return err
		}
		for i := range s.new.ends {
			if s.old.contains(s.new.at(i)) {
				continue
			}
			values := withoutID(s.new.at(i), id)
			_, taken := seen[string(values)]
			if !taken {
				var err error
				if taken, err = s.st.hasPrefix(values); err != nil {
					return err
				}
			}
			if taken {
				return duplicate(c, ix.name)
			}
			if seen != nil {
				s.fresh = append(s.fresh, string(values))
			}
		}
	}
	for _, values := range s.fresh {
		seen[values] = struct{}{}
	}
	return nil
}

// hasPrefix reports whether a key begins with prefix.
func (st *embeddedStore) hasPrefix(prefix []byte) (bool, error) {
	of := prefixSpan(prefix)
	it, err := st.db.NewIter(&pebble.IterOptions{LowerBound: of.lower, UpperBound: of.upper})
	if err != nil {
		return false, err
	}
	found := it.First()
	return found, it.Close()
}

// checkUnique returns an error if two documents have the same values in a new index.
func (st *embeddedStore) checkUnique(c *collection, ix *index) (err error) {
	of := prefixSpan(indexPrefix(nil, c.id, ix.id))
	it, err := st.db.NewIter(&pebble.IterOptions{LowerBound: of.lower, UpperBound: of.upper})
	if err != nil {
		return err
	}
	defer func() {
		if e := it.Close(); err == nil {
			err = e
		}
	}()
	var last []byte
	for ok := it.First(); ok; ok = it.Next() {
		id, err := splitIndexKey(it.Key(), it.Value())
		if err != nil {
			return err
		}
		values := withoutID(it.Key(), id)
		if bytes.Equal(values, last) {
			return duplicate(c, ix.name)
		}
		last = append(last[:0], values...)
	}
	return it.Error()
}
