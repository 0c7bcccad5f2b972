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

// The settings of the engine. What is not set here or in pebbleOptions is Pebble's default.
const (
	// cacheBytes is the size of the block cache: small enough for a laptop, large enough that the inner
	// blocks of the tree stay in memory.
	cacheBytes = 64 << 20
	// memTableBytes is how much is collected in memory before it is written as a sorted file; up to four of
	// these exist at once.
	memTableBytes = 64 << 20
	// bytesPerSync is how much of a sorted file is written before the kernel is asked to begin writing it
	// back, so that syncs of the log do not queue behind it.
	bytesPerSync = 512 << 10
	// journalInterval is how often the log is synced when nobody waits for it, as in MongoDB
	// (storage.journal.commitIntervalMs).
	journalInterval = 100 * time.Millisecond
	// sortBytes is the most that one sort or group holds in memory, as in MongoDB.
	sortBytes = 100 << 20
)

// options are what tests change.
type options struct {
	memTableBytes uint64 // 0 for the constant; smaller, so that flushes and compactions take part
	fs            vfs.FS // nil for that of the system; one that fails
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

// numStripes is how many locks the documents of a store share. Two writers of different documents
// meet on one lock with a chance of 1/1024.
const numStripes = 1024

// embeddedStore is the opened directory.
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
	gate           sync.RWMutex // held shared by writers, alone by whoever changes indexes or drops
	creating       sync.Mutex
	nextCollection uint32

	stripes [numStripes]sync.Mutex
	dirty   atomic.Bool // something was written since the last sync
	stop    chan struct{}
	stopped sync.WaitGroup
	closing sync.Once
	closed  error
}

// Open opens the store in dir, and makes it if dir does not exist or is empty. A directory that holds
// anything else, is in use by another process, cannot be written or is damaged is an error that says
// what to do. Of cfg only the concern matters; the database name is not used.
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
	st.stopped.Add(1)
	go st.journal()
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
			_ = st.lock.Close() // the first error is the one to tell
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

// openPebble opens the engine; a panic on what it finds becomes an error.
func openPebble(dir string, opts *pebble.Options) (db *pebble.DB, err error) {
	defer func() {
		if p := recover(); p != nil {
			db, err = nil, fmt.Errorf("the engine gave up: %v", p)
		}
	}()
	return pebble.Open(dir, opts)
}

// failure returns why the storage can no longer be used, nil if it can.
func (st *embeddedStore) failure() error {
	if err := st.fs.failure(); err != nil {
		return storageError(st.dir, err)
	}
	if err := st.trail.failure(); err != nil {
		return storageError(st.dir, err)
	}
	return nil
}

// journal syncs the log at intervals when something was written that nobody waited for.
func (st *embeddedStore) journal() {
	defer st.stopped.Done()
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

// syncLog waits until everything written so far is on disk.
func (st *embeddedStore) syncLog() {
	defer st.recoverEngine()
	if err := st.db.LogData(nil, pebble.Sync); err != nil {
		st.trail.fail(err)
	}
}

// recoverEngine turns a panic of the engine into the end of the store instead of the process.
func (st *embeddedStore) recoverEngine() {
	if p := recover(); p != nil {
		st.enginePanic(p)
	}
}

func (st *embeddedStore) enginePanic(p any) {
	err, ok := p.(error)
	if !ok {
		err = fmt.Errorf("%v", p)
	}
	st.fs.freeze(err)
}

// Session opens the session of worker number worker. It connects to nothing.
func (st *embeddedStore) Session(int) (store.Session, error) {
	return &session{st: st}, nil
}

// Count returns the exact number of documents by reading all keys.
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

// Drop removes a collection with its indexes, and waits until that is on disk.
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

// recoverTo is deferred by administrative calls.
func (st *embeddedStore) recoverTo(err *error) {
	if p := recover(); p != nil {
		st.enginePanic(p)
		*err = st.failure()
	}
}

// explain says what an error of the engine means for this directory.
func (st *embeddedStore) explain(err error) error {
	if err == nil {
		return nil
	}
	if cause := st.failure(); cause != nil {
		return cause
	}
	return storageError(st.dir, err)
}

// Close syncs the log, closes the engine and gives the directory free.
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

// closeEngine closes Pebble. After a failure its own complaints are of no use to anyone.
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
