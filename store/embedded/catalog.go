package embedded

import (
	"encoding/json"
	"fmt"
	"maps"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2"
)

// collection is immutable; a change of its indexes publishes a new one.
type collection struct {
	id      uint32
	name    string
	indexes []*index
}

type index struct {
	id       uint32
	name     string
	keys     []byte // the key document of the request
	fields   [][]byte
	desc     []bool       // by field: its values are in descending order
	multikey *atomic.Bool // some document has an array in an indexed field
	expire   *int64       // seconds after the date in the field at which a document is removed; nil: never
	unique   bool         // no two documents have the same values
	partial  *filter      // the documents that have entries; nil: all
	only     []byte       // the document of partial
}

// catalog maps names to collections. It is immutable; a change publishes a new one.
type catalog map[string]*collection

// catalogEntry is how a collection is stored.
type catalogEntry struct {
	ID      uint32       `json:"id"`
	Indexes []indexEntry `json:"indexes,omitempty"`
}

type indexEntry struct {
	ID   uint32 `json:"id"`
	Name string `json:"name"`
	Keys []byte `json:"keys"`

	ExpireAfter *int64 `json:"expire_after_seconds,omitempty"`
	Unique      bool   `json:"unique,omitempty"`
	Partial     []byte `json:"partial,omitempty"`
}

// loadCatalog reads all collections, and returns the next free collection number.
func loadCatalog(db *pebble.DB) (catalog, uint32, error) {
	it, err := db.NewIter(&pebble.IterOptions{
		LowerBound: []byte{spaceCatalog}, UpperBound: []byte{spaceCatalog + 1},
	})
	if err != nil {
		return nil, 0, err
	}
	defer it.Close()
	cat, next := catalog{}, uint32(1)
	for it.First(); it.Valid(); it.Next() {
		name := string(it.Key()[1:])
		c, err := readCollection(db, name, it.Value())
		if err != nil {
			return nil, 0, fmt.Errorf("the catalog entry of collection %q is damaged: %w", name, err)
		}
		cat[name] = c
		next = max(next, c.id+1)
	}
	return cat, next, it.Error()
}

func readCollection(db *pebble.DB, name string, data []byte) (*collection, error) {
	var e catalogEntry
	if err := json.Unmarshal(data, &e); err != nil {
		return nil, err
	}
	c := &collection{id: e.ID, name: name}
	for _, ie := range e.Indexes {
		ix, err := newIndex(ie)
		if err != nil {
			return nil, err
		}
		_, closer, err := db.Get(multikeyKey(nil, c.id, ix.id))
		if err == nil {
			ix.multikey.Store(true)
			err = closer.Close()
		}
		if err != nil && err != pebble.ErrNotFound {
			return nil, err
		}
		c.indexes = append(c.indexes, ix)
	}
	return c, nil
}

// save adds the collection's catalog entry to a batch.
func (c *collection) save(b *pebble.Batch) error {
	e := catalogEntry{ID: c.id}
	for _, ix := range c.indexes {
		e.Indexes = append(e.Indexes, indexEntry{ID: ix.id, Name: ix.name, Keys: ix.keys, ExpireAfter: ix.expire,
			Unique: ix.unique, Partial: ix.only})
	}
	data, err := json.Marshal(e)
	if err != nil {
		return err
	}
	return b.Set(catalogKey(c.name), data, nil)
}

func catalogKey(name string) []byte { return append([]byte{spaceCatalog}, name...) }

func (st *embeddedStore) lookup(name string) *collection { return (*st.catalog.Load())[name] }

// publish makes c visible to the operations that begin from now on.
func (st *embeddedStore) publish(c *collection) {
	cat := maps.Clone(*st.catalog.Load())
	cat[c.name] = c
	st.catalog.Store(&cat)
}

// create returns a collection and makes it if it does not exist. The entry needs no sync: any later synced write in the
// same log makes it durable too.
func (st *embeddedStore) create(name string) (*collection, error) {
	if c := st.lookup(name); c != nil {
		return c, nil
	}
	st.creating.Lock()
	defer st.creating.Unlock()
	if c := st.lookup(name); c != nil {
		return c, nil
	}
	if name == "" {
		return nil, badValue(73, "InvalidNamespace", "the collection has no name")
	}
	c := &collection{id: st.nextCollection, name: name}
	b := st.db.NewBatch()
	defer b.Close()
	if err := c.save(b); err != nil {
		return nil, err
	}
	if err := st.db.Apply(b, pebble.NoSync); err != nil {
		return nil, err
	}
	st.nextCollection++
	st.publish(c)
	return c, st.failure()
}

// unpublish hides a collection from the operations that begin from now on.
func (st *embeddedStore) unpublish(name string) {
	cat := maps.Clone(*st.catalog.Load())
	delete(cat, name)
	st.catalog.Store(&cat)
}
