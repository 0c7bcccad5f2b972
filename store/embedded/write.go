package embedded

import (
	"hash/maphash"
	"slices"
	"sync"

	"github.com/cockroachdb/pebble/v2"
)

// stripe returns the number of the lock for a document key. A writer holds the lock from reading the old version until
// the new one is visible. It waits for the log after it has released the lock, so that writers of a hot document share
// one sync. As on a server, readers can see a write before it is durable.
func (st *embeddedStore) stripe(key []byte) uint64 {
	return maphash.Bytes(st.seed, key) % numStripes
}

// lockInOrder locks several stripes in a fixed order, so that two batches cannot deadlock, and returns which.
func lockInOrder(stripes *[numStripes]sync.Mutex, list []uint64) []uint64 {
	slices.Sort(list)
	list = slices.Compact(list)
	for _, i := range list {
		stripes[i].Lock()
	}
	return list
}

func unlock(stripes *[numStripes]sync.Mutex, list []uint64) {
	for _, i := range list {
		stripes[i].Unlock()
	}
}

// apply makes a batch visible. await waits for the log.
func (s *session) apply(b *pebble.Batch) (err error) {
	if s.st.sync && !s.later {
		err = s.st.db.ApplyNoSyncWait(b, pebble.Sync)
	} else {
		if !s.st.dirty.Load() {
			s.st.dirty.Store(true)
		}
		err = s.st.db.Apply(b, pebble.NoSync)
	}
	if err == nil && len(s.events) > 0 {
		s.st.feeds.publish(s.events)
		s.events = s.events[:0]
	}
	return err
}

// await waits for the log if writes do, and closes the batch.
func (s *session) await(b *pebble.Batch) error {
	if s.st.sync && !s.later && !b.Empty() {
		if err := b.SyncWait(); err != nil {
			return err
		}
	}
	return b.Close()
}

func (s *session) read(dst, key []byte) (doc []byte, found bool, err error) {
	v, closer, err := s.st.db.Get(key)
	if err == pebble.ErrNotFound {
		return dst, false, nil
	}
	if err != nil {
		return dst, false, err
	}
	dst = append(dst, v...)
	return dst, true, closer.Close()
}

func (s *session) exists(key []byte) (bool, error) {
	_, closer, err := s.st.db.Get(key)
	if err == pebble.ErrNotFound {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	return true, closer.Close()
}

// putUnique is put of a document whose values in unique indexes no other document has. The caller unlocks the values
// when the batch is visible.
func (s *session) putUnique(b *pebble.Batch, c *collection, key, old, doc []byte) error {
	s.lockValues(c, [][]byte{doc}, [][]byte{key})
	if err := s.unique(c, key, old, doc, nil); err != nil {
		return err
	}
	return s.put(b, c, key, old, doc)
}

// put adds the change of one document with its index entries to the batch. old is nil for a new one.
func (s *session) put(b *pebble.Batch, c *collection, key, old, doc []byte) error {
	if len(doc) > maxDocument {
		return badValue(10334, "BSONObjectTooLarge", "the document has %d bytes, the limit is %d", len(doc), maxDocument)
	}
	for _, ix := range c.indexes {
		if err := s.putIndex(b, c, ix, key[docPrefixLen:], old, doc); err != nil {
			return err
		}
	}
	s.noteChange(c, old, doc)
	return b.Set(key, doc, nil)
}

// putIndex writes only the entries that differ between the old and the new document.
func (s *session) putIndex(b *pebble.Batch, c *collection, ix *index, id, old, doc []byte) error {
	s.old.reset()
	if old != nil {
		if _, err := s.old.extract(ix, c.id, old, id); err != nil {
			return err
		}
	}
	multikey, err := s.new.extract(ix, c.id, doc, id)
	if err != nil {
		return err
	}
	if multikey && !ix.multikey.Load() {
		if err := b.Set(multikeyKey(nil, c.id, ix.id), nil, nil); err != nil {
			return err
		}
		ix.multikey.Store(true)
	}
	for i := range s.old.ends {
		if e := s.old.at(i); !s.new.contains(e) {
			if err := b.Delete(e, nil); err != nil {
				return err
			}
		}
	}
	length := idLength(s.room[:0], id)
	for i := range s.new.ends {
		if e := s.new.at(i); !s.old.contains(e) {
			if err := b.Set(e, length, nil); err != nil {
				return err
			}
		}
	}
	return nil
}
