package embedded

import (
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/bloom"
)

// pebbleOptions are the settings as Pebble takes them.
func (st *embeddedStore) pebbleOptions() *pebble.Options {
	o := &pebble.Options{
		CacheSize:    cacheBytes,
		MemTableSize: st.opts.memTableBytes,
		// Four memtables let writes go on while three are flushed; with Pebble's default of two a
		// write-heavy load stalls at every flush.
		MemTableStopWritesThreshold: 4,
		BytesPerSync:                bytesPerSync,
		WALBytesPerSync:             bytesPerSync,
		FormatMajorVersion:          pebble.FormatNewest,
		FS:                          st.fs,
		Lock:                        st.lock,
		Logger:                      st.trail,
		EventListener: &pebble.EventListener{
			BackgroundError: st.trail.note,
			DataCorruption:  func(i pebble.DataCorruptionInfo) { st.trail.note(fmt.Errorf("%s", i)) },
		},
		CompactionConcurrencyRange: func() (int, int) { return 1, max(1, runtime.GOMAXPROCS(0)/2) },
	}
	for i := range o.Levels { // a point read of an absent key asks the filter instead of the disk
		o.Levels[i].FilterPolicy = bloom.FilterPolicy(10)
	}
	return o
}

// trail records what the engine says about itself. It is the engine's logger: Pebble calls Fatalf
// where it sees no way on, and must neither end the process nor be believed afterwards.
type trail struct {
	dead  atomic.Pointer[error]
	mu    sync.Mutex
	notes []string // the first few complaints
	more  int      // how many came after them
}

const mostNotes = 8

// Infof drops the engine's progress messages.
func (t *trail) Infof(string, ...any) {}

// Errorf keeps a complaint.
func (t *trail) Errorf(format string, args ...any) { t.note(fmt.Errorf(format, args...)) }

// Fatalf keeps the reason why the engine is no longer usable, and returns: from here on every
// operation is refused with it.
func (t *trail) Fatalf(format string, args ...any) { t.fail(fmt.Errorf(format, args...)) }

func (t *trail) fail(err error) {
	t.note(err)
	t.dead.CompareAndSwap(nil, &err)
}

func (t *trail) note(err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.notes) == mostNotes {
		t.more++
		return
	}
	t.notes = append(t.notes, oneLine(err))
}

func (t *trail) failure() error {
	if p := t.dead.Load(); p != nil {
		return *p
	}
	return nil
}

// list returns what was recorded.
func (t *trail) list() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	out := append([]string(nil), t.notes...)
	if t.more > 0 {
		out = append(out, fmt.Sprintf("and %d more complaints of the engine", t.more))
	}
	return out
}
