package ledger

import (
	"fmt"
	"hash/crc32"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/plimsoll-bench/plimsoll/drill/reads"
	"github.com/plimsoll-bench/plimsoll/load"
	"github.com/plimsoll-bench/plimsoll/workload"
)

// The limits follow from the ids of the own workload: 24 bits of writer, 39 of sequence.
const (
	maxWriters  = 1 << 24
	maxSequence = 1 << 39
)

// Options configure a ledger.
type Options struct {
	// Run distinguishes the writes of this run from those of other runs on the same data. All ledgers of one run have the
	// same number.
	Run uint32
	// Seed makes the payloads and choices of the own workload repeatable.
	Seed uint64
	// First is added to the number of each stream, because the writers of several processes must have different numbers.
	First int
	// Writers is the expected number of streams, which share Recent. More are no error.
	Writers int
	// Recent is the number of exact acknowledgement times, for all writers together; 0 is [defaultRecent]. Older times
	// are known to within 64 writes.
	Recent int
	// Processes is the number of processes of the run. They share Recent and the memory of the history of reads, because
	// one process keeps the ledgers of all in the end.
	Processes int
}

// defaultRecent takes 2 MiB.
const defaultRecent = 1 << 18

// Ledger holds the outcomes of the writes of one process. Streams of different writers may run at the same time, and
// [Ledger.Delta] beside them. Everything else must wait until they have ended.
type Ledger struct {
	opts   Options
	mu     sync.Mutex
	by     map[int]*writer
	groups *groups // of updates that are not known one by one; nil until used
	placer Placer  // nil without shards
	shards int     // number of shards
	notes  []string
	reads  *reads.History // reads and writes of the own workload's registers
	serial uint64         // of the next hand-over
}

// New returns an empty ledger.
func New(opts Options) *Ledger {
	if opts.Recent <= 0 {
		opts.Recent = defaultRecent
	}
	opts.Processes = max(1, opts.Processes)
	opts.Recent /= opts.Processes
	return &Ledger{opts: opts, by: map[int]*writer{}, reads: reads.New(opts.Writers, reads.DefaultLimit/opts.Processes)}
}

// Placer finds the shard of a document.
type Placer interface {
	// OfID returns the number of the shard of a document with the element _id; -1 if that does not follow from it.
	OfID(collection string, id []byte) int
}

// Place sets the placement of the collections on a number of shards, before the first write, so that the ledger counts
// by shard. All ledgers of one run must have the same placement.
func (l *Ledger) Place(p Placer, shards int) { l.placer, l.shards = p, min(shards, mostShards) }

// shardOf returns the shard of a document with the element _id, -1 if not known.
func (l *Ledger) shardOf(collection string, id []byte) int {
	if l.placer == nil || len(id) == 0 {
		return -1
	}
	if s := l.placer.OfID(collection, id); s < l.shards {
		return s
	}
	return -1
}

// group returns the group of a document. The documents of a group are on one shard, so groups can be summed by shard.
func (l *Ledger) group(collection string, id []byte) uint32 {
	h := crc32.Update(0, castagnoli, id)
	if l.shards == 0 {
		return h % groupCount
	}
	kinds := uint32(l.shards + 1)
	return h%(groupCount/kinds)*kinds + uint32(l.shardOf(collection, id)+1)
}

func (l *Ledger) shardOfGroup(group int) int {
	if l.shards == 0 {
		return -1
	}
	return group%(l.shards+1) - 1
}

// writer is one stream's part of the ledger. Only that stream changes it until the run is over, with mu locked, because
// [Ledger.Delta] reads it.
type writer struct {
	mu      sync.Mutex
	number  int
	inserts outcomes
	updates outcomes // of the own workload
	absent  []absence
	missed  int64                 // absences beyond the limit
	wrong   int64                 // reads whose content was wrong
	skipped [uncheckedKinds]int64 // writes of a wrapped workload that cannot be checked
	handed  int                   // absences that were handed over
	open    []undecided           // transactions of unknown result with updates of a wrapped workload

	openHanded int // transactions of unknown result that were handed over

	settle func(*workload.Op, *load.Settlement) (confirmed bool) // of its stream, nil until it has one

	latest atomic.Int64 // 1 + the last acknowledged update, 0 for none; other streams read it
	remote *Remote      // from which it is, nil for this process
}

// absence is a read that did not find an acknowledged write. The write is stale if it is there at the end.
type absence struct {
	kind     kind
	sequence int64
	begun    int64 // run time
}

// mostAbsences bounds the absences of a writer.
const mostAbsences = 1 << 12

type kind uint8

const (
	inserts kind = iota
	updates
	kinds
)

func (k kind) String() string { return [...]string{"insert", "update"}[k] }

func (w *writer) outcomes(k kind) *outcomes {
	if k == updates {
		return &w.updates
	}
	return &w.inserts
}

// miss records a read, begun at the given time, that did not find an acknowledged write.
func (w *writer) miss(k kind, sequence, begun int64) {
	if len(w.absent) >= mostAbsences {
		w.missed++
		return
	}
	w.absent = append(w.absent, absence{kind: k, sequence: sequence, begun: begun})
}

// writer returns the part of a writer, new or existing.
func (l *Ledger) writer(n int) *writer {
	l.mu.Lock()
	defer l.mu.Unlock()
	w := l.by[n]
	if w == nil {
		recent := ringSize(l.opts.Recent / max(1, l.opts.Writers))
		w = &writer{number: n, inserts: newOutcomes(recent), updates: newOutcomes(recent)}
		l.by[n] = w
	}
	return w
}

func (l *Ledger) shared() *groups {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.groups == nil {
		l.groups = newGroups()
	}
	return l.groups
}

// writers returns all writers by number.
func (l *Ledger) writers() []*writer {
	out := make([]*writer, 0, len(l.by))
	for _, w := range l.by {
		out = append(out, w)
	}
	slices.SortFunc(out, func(a, b *writer) int { return a.number - b.number })
	return out
}

// Bytes returns the memory of the ledger.
func (l *Ledger) Bytes() int64 {
	n := int64(len(l.by)) * 512
	for _, w := range l.by {
		n += w.inserts.bytes() + w.updates.bytes() + int64(cap(w.absent))*24
	}
	if l.groups != nil {
		n += l.groups.bytes()
	}
	return n + l.reads.Bytes()
}

// Cut records that a client process was killed. Its writers have the numbers from first on, and what they did after a
// run time is not known: their later writes are not called unexpected, and losses among them cannot be seen.
func (l *Ledger) Cut(first, count int, since time.Duration) {
	l.notes = append(l.notes, fmt.Sprintf("the ledger of writers %d to %d ends at %v, so losses among their later writes "+
		"cannot be seen", first, first+count-1, since.Round(time.Millisecond)))
	for n := first; n < first+count; n++ {
		if l.by[n] == nil {
			l.by[n] = &writer{number: n}
		}
		l.by[n].inserts.cut, l.by[n].updates.cut = true, true
		l.reads.Cut(n)
	}
}
