package embedded

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/plimsoll-bench/plimsoll/store"
)

// The settings of the engine. Settings that are neither here nor in pebbleOptions have Pebble's defaults.
const (
	// cacheBytes is the size of the block cache: small enough for a laptop, large enough for the inner blocks of the
	// tree.
	cacheBytes = 64 << 20
	// memTableBytes is the size of a memtable before it is written as a sorted file. Up to four exist at once.
	memTableBytes = 64 << 20
	// bytesPerSync is the part of a sorted file after which the kernel begins to write it back, so that syncs of the log
	// do not wait for the whole file.
	bytesPerSync = 512 << 10
	// journalInterval is the time between syncs of the log that no write waits for, as in MongoDB
	// (storage.journal.commitIntervalMs).
	journalInterval = 100 * time.Millisecond
	// sortBytes is the most that a sort, or the groups of an aggregation, may hold in memory, as in MongoDB.
	sortBytes = 100 << 20
)

// options are for tests.
type options struct {
	memTableBytes uint64 // 0: the constant
	fs            vfs.FS // nil: the system's
}

func (o options) withDefaults() options {
	if o.memTableBytes == 0 {
		o.memTableBytes = memTableBytes
	}
	if o.fs == nil {
		o.fs = vfs.Default
	}
	return o
}

// numStripes is the number of locks that the documents of a store share. Two writers of different documents have the
// same lock with a probability of 1/1024.
const numStripes = 1024

type embeddedStore struct {
	dir     string
	opts    options
	concern store.Concern
	sync    bool // writes wait for the log

	db    *pebble.DB
	fs    *guard
	lock  *pebble.Lock
	trail *trail
	seed  maphash.Seed

	catalog        atomic.Pointer[catalog]
	gate           sync.RWMutex // shared by writers; exclusive for changes of indexes and drops
	creating       sync.Mutex
	nextCollection uint32

	stripes [numStripes]sync.Mutex
	values  [numStripes]sync.Mutex // of values in unique indexes, locked after stripes
	feeds   feeds
	dirty   atomic.Bool // something was written since the last sync
	stop    chan struct{}
	stopped sync.WaitGroup
	closing sync.Once
	closed  error
}

// Open opens the store in dir, and makes it if dir does not exist or is empty. It fails for a directory that holds
// other files, is in use by another process, cannot be written or is damaged. It uses the write concern of cfg only.
func Open(ctx context.Context, dir string, cfg store.Config) (store.Store, error) {
	return openWith(ctx, dir, cfg, options{})
}

func openWith(ctx context.Context, dir string, cfg store.Config, opts options) (store.Store, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if err := checkConcern(cfg.Concern); err != nil {
		return nil, err
	}
	opts = opts.withDefaults()
	if err := prepare(opts.fs, dir); err != nil {
		return nil, err
	}
	st := &embeddedStore{
		dir: dir, opts: opts, concern: cfg.Concern, sync: syncs(cfg.Concern),
		fs: newGuard(opts.fs), trail: &trail{}, seed: maphash.MakeSeed(), stop: make(chan struct{}),
	}
	if err := st.open(); err != nil {
		return nil, err
	}
	st.stopped.Go(st.journal)
	st.stopped.Go(st.expireAll)
	return st, nil
}

// open takes the directory's lock and opens the engine.
func (st *embeddedStore) open() (err error) {
	data := filepath.Join(st.dir, dataDir)
	if st.lock, err = pebble.LockDirectory(data, st.opts.fs); err != nil {
		return lockError(st.dir, err)
	}
	defer func() {
		if err != nil {
			_ = st.lock.Close() // the first error is returned
		}
	}()
	if st.db, err = openPebble(data, st.pebbleOptions()); err == nil {
		if err = st.failure(); err == nil {
			err = st.readCatalog()
		}
		if err != nil {
			_ = st.closeEngine()
		}
	}
	if cause := st.failure(); cause != nil {
		return cause
	}
	return openError(st.dir, err)
}

func (st *embeddedStore) readCatalog() error {
	cat, next, err := loadCatalog(st.db)
	if err != nil {
		return err
	}
	st.catalog.Store(&cat)
	st.nextCollection = next
	return nil
}

// openPebble opens the engine. A panic becomes an error.
func openPebble(dir string, opts *pebble.Options) (db *pebble.DB, err error) {
	defer func() {
		if p := recover(); p != nil {
			db, err = nil, fmt.Errorf("the engine panicked: %v", p)
		}
	}()
	return pebble.Open(dir, opts)
}

// failure returns why the storage can no longer be used, nil if it works.
func (st *embeddedStore) failure() error {
	if err := st.fs.failure(); err != nil {
		return storageError(st.dir, err)
	}
	if err := st.trail.failure(); err != nil {
		return storageError(st.dir, err)
	}
	return nil
}

// journal syncs the log at intervals if there are writes that did not wait for it.
func (st *embeddedStore) journal() {
	tick := time.NewTicker(journalInterval)
	defer tick.Stop()
	for {
		select {
		case <-st.stop:
			return
		case <-tick.C:
		}
		if st.dirty.Swap(false) && st.failure() == nil {
			st.syncLog()
		}
	}
}

// syncLog waits until all writes until now are on disk.
func (st *embeddedStore) syncLog() {
	var err error
	defer st.recoverTo(&err)
	if err = st.db.LogData(nil, pebble.Sync); err != nil {
		st.trail.fail(err)
	}
}

// enginePanic keeps a panic of the engine as the end of the store instead of the process.
func (st *embeddedStore) enginePanic(p any) {
	err, ok := p.(error)
	if !ok {
		err = fmt.Errorf("%v", p)
	}
	st.fs.freeze(err)
}

func (st *embeddedStore) Session(int) (store.Session, error) {
	return &session{st: st}, nil
}

// Count reads all keys, so the number is exact.
func (st *embeddedStore) Count(ctx context.Context, name string) (n int64, err error) {
	c := st.lookup(name)
	if cause := st.failure(); c == nil || cause != nil {
		return 0, cause
	}
	defer st.recoverTo(&err)
	span := prefixSpan(docPrefix(nil, c.id))
	it, err := st.db.NewIter(&pebble.IterOptions{LowerBound: span.lower, UpperBound: span.upper})
	if err != nil {
		return 0, st.explain(err)
	}
	for ok := it.First(); ok; ok = it.Next() {
		if n++; n%4096 == 0 && ctx.Err() != nil {
			break
		}
	}
	return n, errors.Join(ctx.Err(), st.explain(it.Close()))
}

// Drop removes a collection with its indexes and waits until the removal is on disk.
func (st *embeddedStore) Drop(ctx context.Context, name string) (err error) {
	if err := ctx.Err(); err != nil {
		return err
	}
	defer st.recoverTo(&err)
	st.gate.Lock()
	defer st.gate.Unlock()
	c := st.lookup(name)
	if cause := st.failure(); c == nil || cause != nil {
		return cause
	}
	b := st.db.NewBatch()
	defer b.Close()
	for _, space := range []byte{spaceDocs, spaceIndex, spaceMultikey} {
		span := prefixSpan(append([]byte{space}, docPrefix(nil, c.id)[1:]...))
		if err := b.DeleteRange(span.lower, span.upper, nil); err != nil {
			return st.explain(err)
		}
	}
	if err := b.Delete(catalogKey(name), nil); err != nil {
		return st.explain(err)
	}
	if err := st.db.Apply(b, pebble.Sync); err != nil {
		return st.explain(err)
	}
	st.unpublish(name)
	return st.failure()
}

// recoverTo is deferred by calls outside of sessions. It turns a panic of the engine into an error.
func (st *embeddedStore) recoverTo(err *error) {
	if p := recover(); p != nil {
		st.enginePanic(p)
		*err = st.failure()
	}
}

// explain words an error of the engine for this directory.
func (st *embeddedStore) explain(err error) error {
	if err == nil {
		return nil
	}
	if cause := st.failure(); cause != nil {
		return cause
	}
	return storageError(st.dir, err)
}

// Close syncs the log, closes the engine and unlocks the directory.
func (st *embeddedStore) Close() error {
	st.closing.Do(func() {
		close(st.stop)
		st.stopped.Wait()
		if st.failure() == nil {
			st.syncLog()
		}
		st.closed = errors.Join(st.failure(), st.closeEngine(), st.lock.Close())
	})
	return st.closed
}

// closeEngine closes Pebble. After a failure of the storage it ignores further errors of Pebble.
func (st *embeddedStore) closeEngine() (err error) {
	failed := st.failure() != nil
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("close the store in %s: %v", st.dir, p)
		}
		if failed {
			err = nil
		}
	}()
	return st.db.Close()
}
