package embedded

import (
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/bloom"
)

func (st *embeddedStore) pebbleOptions() *pebble.Options {
	o := &pebble.Options{
		CacheSize:    cacheBytes,
		MemTableSize: st.opts.memTableBytes,
		// With Pebble's default of two memtables, a write-heavy load stalls at every flush. With four, writes continue
		// while three are flushed.
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
	for i := range o.Levels { // the filter spares the disk read for a missing key
		o.Levels[i].FilterPolicy = bloom.FilterPolicy(10)
	}
	return o
}

// trail is the engine's logger. Pebble calls Fatalf when it cannot continue. Fatalf must not end the process, and no
// operation may succeed afterwards.
type trail struct {
	dead  atomic.Pointer[error]
	mu    sync.Mutex
	notes []string // the first messages
	more  int      // number of messages after them
}

const mostNotes = 8

func (t *trail) Infof(string, ...any) {}

func (t *trail) Errorf(format string, args ...any) { t.note(fmt.Errorf(format, args...)) }

// Fatalf returns. From then on, every operation is refused with this error.
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

func (t *trail) list() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	out := slices.Clone(t.notes)
	if t.more > 0 {
		out = append(out, fmt.Sprintf("and %d more messages of the engine", t.more))
	}
	return out
}
