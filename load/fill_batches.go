package load

import (
	"errors"
	"fmt"
	"sync"
)

// batches assigns the batches of a load phase in order and tracks which are done.
type batches struct {
	size, total int64 // records per batch, number of batches
	from, to    int64 // the records are [from, to)
	window      int64 // batches that may begin after the oldest unfinished one

	mu      sync.Mutex
	changed chan struct{} // closed and replaced to wake waiting workers
	next    int64         // batch to assign next
	oldest  int64         // first batch that is neither done nor abandoned
	missing int64         // first batch that was abandoned, total if none was
	done    []bool        // of the batches [oldest, oldest+window), at their number modulo window
	pending int           // batches assigned and not done
	judging bool          // a worker counts documents
	over    bool          // no more batches

	tolerant    bool // duplicates are documents that exist already
	repairing   bool
	complete    bool
	err         error
	inserted    int64
	present     int64
	completed   int64
	retries     int64
	failed      int64
	failing     int // batches in a row that failed
	unconfirmed bool
	lastFailure string
	count       int64
}

func newBatches(from, to, size, parallel int64) *batches {
	b := &batches{size: size, from: from, to: to, total: (to - from + size - 1) / size,
		window: max(64, 4*parallel), changed: make(chan struct{}), count: -1}
	b.done, b.missing = make([]bool, b.window), b.total
	return b
}

// What a worker of the load phase does next.
const (
	insertNext = iota
	judgeCount
	leaveFill
)

// claim returns the next batch, or that the worker must count, or that the load phase is over. It waits for other
// workers if necessary, and returns when stop is closed.
func (b *batches) claim(stop <-chan struct{}) (what int, batch int64) {
	b.mu.Lock()
	for {
		switch {
		case b.over:
			b.mu.Unlock()
			return leaveFill, 0
		case b.next < b.total && b.next < b.oldest+b.window:
			batch = b.next
			b.next++
			b.pending++
			b.mu.Unlock()
			return insertNext, batch
		case b.next >= b.total && b.pending == 0 && !b.judging:
			b.judging = true
			b.mu.Unlock()
			return judgeCount, 0
		}
		changed := b.changed
		b.mu.Unlock()
		select {
		case <-changed:
		case <-stop:
			return leaveFill, 0
		}
		b.mu.Lock()
	}
}

// wake wakes waiting workers. The caller holds the lock.
func (b *batches) wake() {
	close(b.changed)
	b.changed = make(chan struct{})
}

func (b *batches) recordsOf(batch int64) (seq int64, n int) {
	seq = b.from + batch*b.size
	return seq, int(min(b.size, b.to-seq))
}

// checkOff notes that a batch is done or abandoned. The caller holds the lock.
func (b *batches) checkOff(batch int64) {
	b.pending--
	b.done[batch%b.window] = true
	before := b.oldest
	for b.oldest < b.next && b.done[b.oldest%b.window] {
		b.done[b.oldest%b.window] = false
		b.oldest++
	}
	if b.oldest != before || b.pending == 0 {
		b.wake()
	}
}

// succeed notes that a batch is in the database.
func (b *batches) succeed(batch int64, n int, inserted int64, present, unconfirmed bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.completed++
	b.failing = 0
	b.inserted += inserted
	if present {
		b.present += max(0, int64(n)-inserted)
	}
	b.unconfirmed = b.unconfirmed || unconfirmed
	b.checkOff(batch)
}

// fail notes that a batch was abandoned. After most in a row the load phase ends.
func (b *batches) fail(batch int64, why string, most int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.failed++
	b.failing++
	b.lastFailure = why
	if b.failing >= most && b.err == nil {
		b.err = errors.New(why)
		b.over = true
		b.wake()
	}
	b.missing = min(b.missing, batch)
	b.checkOff(batch)
}

// release returns a batch that was not finished because the run is over.
func (b *batches) release() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.pending--
	b.wake()
}

// lose abandons the batch of a worker that was abandoned.
func (b *batches) lose(batch int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.failed++
	b.lastFailure = "a session did not return past its deadline"
	b.missing = min(b.missing, batch)
	b.checkOff(batch)
}

// end ends the load phase.
func (b *batches) end(err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.over, b.judging = true, false
	b.complete = err == nil
	if b.err == nil {
		b.err = err
	}
	b.wake()
}

// repair starts a second pass over all batches.
func (b *batches) repair() {
	b.mu.Lock()
	defer b.mu.Unlock()
	clear(b.done)
	b.next, b.oldest, b.missing = 0, 0, b.total
	b.repairing, b.tolerant, b.judging = true, true, false
	b.failing = 0
	b.wake()
}

// startAt skips the records before seq, which exist, and tolerates duplicates after it.
func (b *batches) startAt(seq int64) {
	b.next = (seq - b.from) / b.size
	b.oldest, b.tolerant = b.next, true
	b.present = b.next * b.size
}

// safe returns the first record of which it is not certain that it exists, with all before it.
func (b *batches) safe() int64 { return min(b.to, b.from+b.size*min(b.oldest, b.missing)) }

// errInterrupted ends a load phase that was interrupted in its last step.
var errInterrupted = errors.New("load phase: interrupted")

// uncounted returns the error of a load phase that does not count, nil if all batches are done.
func (b *batches) uncounted() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.failed == 0 {
		return nil
	}
	return fmt.Errorf("load phase: %d of %d batches failed. The last failure: %s", b.failed, b.total, b.lastFailure)
}

// stillMissing is the error if documents are missing after the second pass.
func (b *batches) stillMissing(collection string, n int64) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	why := "No insert failed, so the collection loses documents or another client deletes them"
	if b.lastFailure != "" {
		why = "The last failure: " + b.lastFailure
	}
	return fmt.Errorf("load phase: collection %q has %d documents instead of %d after a second pass. %s",
		collection, n, b.to-b.from, why)
}

func (b *batches) tolerates() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.tolerant
}

func (b *batches) anyUnconfirmed() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.unconfirmed
}

func (b *batches) retried() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.retries++
}
