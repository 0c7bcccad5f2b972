package ledger

import (
	"fmt"
	"hash/crc32"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/plimsoll-bench/plimsoll/drill/reads"
)

// Limits of a ledger. They follow from the ids of the own workload: 24 bits of writer, 39 of sequence.
const (
	MaxWriters  = 1 << 24
	maxSequence = 1 << 39
)

// Options say how a ledger is kept.
type Options struct {
	// Run tells the writes of this run from those of earlier ones on the same data: any number that is not used
	// twice. All ledgers of one run have the same.
	Run uint32
	// Seed makes the payloads and choices of the own workload repeatable.
	Seed uint64
	// First is added to the number of each stream: the writers of several processes must have different
	// numbers. Leave it at 0 if [workload.Share] is put around the wrapped workload, which numbers streams
	// through all processes.
	First int
	// Writers is how many streams are expected, to share Recent out. More of them are no error.
	Writers int
	// Recent is how many acknowledgement times are kept exactly, for all writers together; 0 stands for 2^18,
	// 2 MiB. Of older ones the time is known to within 64 writes.
	Recent int
}

// DefaultRecent is how many acknowledgement times are kept exactly.
const DefaultRecent = 1 << 18

// Ledger keeps what the writers of one process were told about their writes. Streams of different writers may
// run at the same time; everything else must wait until they have ended.
type Ledger struct {
	opts   Options
	mu     sync.Mutex
	by     map[int]*writer
	groups *groups // of updates that cannot be told one by one; made on first use
	placer Placer  // nil where there are no shards
	shards int     // how many
	notes  map[string]int64
	reads  *reads.History // what the own workload read of its registers, and the writes of them
}

// New makes an empty ledger.
func New(opts Options) *Ledger {
	if opts.Recent <= 0 {
		opts.Recent = DefaultRecent
	}
	return &Ledger{opts: opts, by: map[int]*writer{}, notes: map[string]int64{}, reads: reads.New(opts.Writers, 0)}
}

// Placer says on which shard a document is.
type Placer interface {
	// OfID is the number of the shard of a document with the element _id, -1 if that does not follow from it.
	OfID(collection string, id []byte) int
}

// Place tells the ledger how the collections are spread over so many shards, before the first write: from then on each
// write is known by its shard. All ledgers of one run must be told the same.
func (l *Ledger) Place(p Placer, shards int) { l.placer, l.shards = p, min(shards, mostShards) }

// shardOf is the shard of a document with the element _id, -1 if that is not known.
func (l *Ledger) shardOf(collection string, id []byte) int {
	if l.placer == nil || len(id) == 0 {
		return -1
	}
	if s := l.placer.OfID(collection, id); s < l.shards {
		return s
	}
	return -1
}

// group is the group of a document. Each group is of one shard, so that what is told of groups can be told of shards.
func (l *Ledger) group(collection string, id []byte) uint32 {
	h := crc32.Update(0, castagnoli, id)
	if l.shards == 0 {
		return h % groupCount
	}
	kinds := uint32(l.shards + 1)
	return h%(groupCount/kinds)*kinds + uint32(l.shardOf(collection, id)+1)
}

// shardOfGroup is the shard of a group, -1 if that is not known.
func (l *Ledger) shardOfGroup(group int) int {
	if l.shards == 0 {
		return -1
	}
	return group%(l.shards+1) - 1
}

// writer is one stream's part of the ledger. It is used by that stream alone until the run is over.
type writer struct {
	number  int
	inserts lane
	updates lane // of the own workload: each of them is told apart
	absent  []absence
	missed  int64 // absences beyond the limit
	wrong   int64 // reads whose content was wrong
	skipped int64 // writes that cannot be told apart: upserts and replacements of a wrapped workload

	latest atomic.Int64 // the last acknowledged update and one, 0 for none: other streams read it
}

// absence is a read that did not find an acknowledged write: stale, if it is there in the end.
type absence struct {
	kind     kind
	sequence int64
	begun    int64 // run time
}

// mostAbsences bounds what is remembered of reads that found nothing, per writer.
const mostAbsences = 1 << 12

// kind is what a write does.
type kind uint8

const (
	inserts kind = iota
	updates
	kinds
)

func (k kind) String() string { return [...]string{"insert", "update"}[k] }

func (w *writer) lane(k kind) *lane {
	if k == updates {
		return &w.updates
	}
	return &w.inserts
}

// miss notes a read, begun at the given time, that did not find an acknowledged write.
func (w *writer) miss(k kind, sequence, begun int64) {
	if len(w.absent) >= mostAbsences {
		w.missed++
		return
	}
	w.absent = append(w.absent, absence{kind: k, sequence: sequence, begun: begun})
}

// writer returns the books of a writer, and opens them if it is new.
func (l *Ledger) writer(n int) *writer {
	l.mu.Lock()
	defer l.mu.Unlock()
	w := l.by[n]
	if w == nil {
		recent := ringSize(l.opts.Recent / max(1, l.opts.Writers))
		w = &writer{number: n, inserts: newLane(recent), updates: newLane(recent)}
		l.by[n] = w
	}
	return w
}

// shared returns the counts of updates by group.
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

// Bytes is the memory that the ledger takes.
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

// Merge takes over the books of another process of the same run. shift is what must be added to its run times
// to get those of this one. The other ledger must not be used any more.
func (l *Ledger) Merge(other *Ledger, shift time.Duration) error {
	if other.opts.Run != l.opts.Run || other.opts.Seed != l.opts.Seed {
		return fmt.Errorf("ledger: run %d with seed %d and run %d with seed %d cannot be merged: they wrote different documents",
			l.opts.Run, l.opts.Seed, other.opts.Run, other.opts.Seed)
	}
	for n := range other.by {
		if l.by[n] != nil {
			return fmt.Errorf("ledger: two processes both had a writer %d: give each process numbers of its own (Options.First, or workload.Share)", n)
		}
	}
	for n, w := range other.by {
		w.inserts.shift(int64(shift))
		w.updates.shift(int64(shift))
		for i := range w.absent {
			w.absent[i].begun += int64(shift)
		}
		l.by[n] = w
	}
	if other.groups != nil {
		l.shared().merge(other.groups)
	}
	for text, n := range other.notes {
		l.notes[text] += n
	}
	l.reads.Merge(other.reads, int64(shift))
	return nil
}

// Gone notes that the ledger of a client process is gone with it: what it wrote will be found and belongs to
// nobody the ledger knows. first and count are the numbers of its writers. Their writes are not called
// unexpected, and nothing can be said about losses among them.
func (l *Ledger) Gone(first, count int) {
	l.notes[fmt.Sprintf("the process of the writers %d to %d ended without handing over its ledger: "+
		"nothing is known about what it was told, so losses among its writes cannot be seen", first, first+count-1)]++
	for n := first; n < first+count; n++ {
		if l.by[n] == nil {
			l.by[n] = &writer{number: n, inserts: goneLane(), updates: goneLane()}
		}
	}
}
