package ledger

import (
	"encoding/binary"
	"errors"
	"fmt"

	"go.mongodb.org/mongo-driver/v2/x/bsonx/bsoncore"

	"github.com/plimsoll-bench/plimsoll/internal/rawbson"
	"github.com/plimsoll-bench/plimsoll/workload"
)

// Classes of the own workload.
const (
	ownInsert = iota
	ownUpdate
	ownRead
)

const DefaultCollection = "plimsoll_ledger"

// Params configure the own workload.
type Params struct {
	// Insert, Update and Read are the weights of the operations; all 0 is 60, 30 and 10.
	Insert, Update, Read float64
	// Judged is the share of the reads, 0 to 1, that go to slots. These are judged; the others are compared with what was
	// inserted. 0 is a half if there are updates.
	Judged float64
	// Payload is the size of the random part of each document in bytes; 0 is 200.
	Payload int
	// Records is the number of documents of the load phase, which no writer touches. At least 1 shows whose collection it
	// is.
	Records int64
	// Collection defaults to [DefaultCollection].
	Collection string
}

// mostPayload keeps a document below the limit of 16 MiB.
const mostPayload = 16<<20 - 1<<10

// Workload returns the own workload of the ledger, "ledger". Each writer inserts documents, increments counters of its
// own documents, reads back acknowledged inserts, and reads slots, its own and those of others. Every single write is
// known, which is impossible if writers update the same documents.
//
// An update increments a counter that no other update uses, by a weight that no other update has. So the counter shows
// how often the update was applied, and whether it is damaged. Sixteen counters are one document, a slot, and each
// writer cycles through sixteen slots at a time. Updates are upserts, so they find a slot even if it was rolled back.
func (l *Ledger) Workload(p Params) (workload.Workload, error) {
	if p.Insert == 0 && p.Update == 0 && p.Read == 0 {
		p.Insert, p.Update, p.Read = 60, 30, 10
	}
	if p.Payload == 0 {
		p.Payload = 200
	}
	p.Records = max(p.Records, 1)
	if p.Judged == 0 {
		p.Judged = 0.5
	}
	if p.Update == 0 {
		p.Judged = 0 // there are no slots
	}
	if p.Collection == "" {
		p.Collection = DefaultCollection
	}
	switch {
	case !(p.Insert >= 0 && p.Update >= 0 && p.Read >= 0):
		return nil, fmt.Errorf("ledger: the weights %g, %g and %g must not be negative", p.Insert, p.Update, p.Read)
	case p.Insert+p.Update == 0:
		return nil, errors.New("ledger: the workload writes nothing. Set the weight of inserts or of updates above 0")
	case !(p.Judged >= 0 && p.Judged <= 1):
		return nil, fmt.Errorf("ledger: a share of %g reads is not between 0 and 1", p.Judged)
	case p.Read > 0 && p.Insert == 0:
		return nil, errors.New("ledger: reads need inserted documents. Set the weight of inserts above 0")
	case p.Payload < 0 || p.Payload > mostPayload:
		return nil, fmt.Errorf("ledger: a payload of %d bytes is not between 0 and %d", p.Payload, mostPayload)
	}
	return &ownWorkload{l: l, p: p, noise: noise(l.opts.Seed, p.Payload)}, nil
}

// noiseSpan is the number of offsets at which payloads are cut out of the noise.
const noiseSpan = 1 << 16

// noise returns random bytes for payloads.
func noise(seed uint64, payload int) []byte {
	b := make([]byte, noiseSpan+payload+8)
	for i := 0; i+8 <= len(b); i += 8 {
		binary.LittleEndian.PutUint64(b[i:], mix(seed+uint64(i)))
	}
	return b
}

// ownWorkload is the workload "ledger".
type ownWorkload struct {
	l     *Ledger
	p     Params
	noise []byte
}

func (w *ownWorkload) Name() string { return "ledger" }

// Classes are the classes of operations of the workload "ledger".
func Classes() []workload.Class {
	return []workload.Class{{Name: "insert"}, {Name: "update"}, {Name: "read"}}
}

func (w *ownWorkload) Classes() []workload.Class { return Classes() }

func (w *ownWorkload) Collections() []string     { return []string{w.p.Collection} }
func (w *ownWorkload) Indexes() []workload.Index { return nil }
func (w *ownWorkload) Records() int64            { return w.p.Records }

func (w *ownWorkload) Loader() workload.Loader {
	l := &ownLoader{w: w}
	l.insert[0] = workload.Request{Verb: workload.Insert, Class: workload.NoClass, Collection: w.p.Collection}
	l.find[0] = workload.Request{Verb: workload.Find, Class: workload.NoClass, Collection: w.p.Collection, Limit: 1}
	return l
}

// ownLoader makes the documents of the load phase. They carry no tag, and the audit ignores them.
type ownLoader struct {
	w      *ownWorkload
	buf    []byte
	ends   []int
	docs   [][]byte
	insert [1]workload.Request
	find   [1]workload.Request
}

// recordID appends the element _id of a record of the load phase.
func recordID(dst []byte, seq int64) []byte {
	return bsoncore.AppendStringElement(dst, "_id", fmt.Sprintf("record-%012d", seq))
}

func (l *ownLoader) Load(seq int64, n int, op *workload.Op) {
	l.buf, l.ends, l.docs = l.buf[:0], l.ends[:0], l.docs[:0]
	for i := range int64(n) {
		start := len(l.buf)
		l.buf = recordID(append(l.buf, 0, 0, 0, 0), seq+i)
		from := mix(uint64(seq+i)) % noiseSpan
		l.buf = bsoncore.AppendBinaryElement(l.buf, "p", 0, l.w.noise[from:from+uint64(l.w.p.Payload)])
		l.buf = rawbson.Close(l.buf, start)
		l.ends = append(l.ends, len(l.buf))
	}
	from := 0
	for _, end := range l.ends {
		l.docs, from = append(l.docs, l.buf[from:end:end]), end
	}
	l.insert[0].Docs, l.insert[0].Unordered = l.docs, n > 1
	op.Class, op.Seq, op.Requests = ownInsert, seq, l.insert[:]
}

func (l *ownLoader) Probe(seq int64, op *workload.Op) {
	l.buf = rawbson.Close(recordID(append(l.buf[:0], 0, 0, 0, 0), seq), 0)
	l.find[0].Filter = l.buf
	op.Class, op.Seq, op.Requests = ownRead, -1, l.find[:]
}

func (w *ownWorkload) Stream(worker, _ int) workload.Stream {
	n := w.l.opts.First + worker
	s := &ownStream{w: w, run: w.l.opts.Run, writer: w.l.writer(n), rand: mix(w.l.opts.Seed ^ mix(uint64(n)))}
	s.session = w.l.reads.Session(n)
	total := w.p.Insert + w.p.Update + w.p.Read
	const full = 1 << 32
	s.slotBelow = uint64(w.p.Judged * full)
	s.insertBelow = uint64(w.p.Insert / total * full)
	s.updateBelow = s.insertBelow + uint64(w.p.Update/total*full)
	if w.p.Read == 0 {
		s.updateBelow = full
		if w.p.Update == 0 {
			s.insertBelow = full
		}
	}
	s.insert[0] = workload.Request{Verb: workload.Insert, Class: workload.NoClass, Collection: w.p.Collection,
		Docs: s.docs[:]}
	s.update[0] = workload.Request{Verb: workload.Update, Class: workload.NoClass, Collection: w.p.Collection,
		Updates: s.statement[:]}
	s.find[0] = workload.Request{Verb: workload.Find, Class: workload.NoClass, Collection: w.p.Collection, Limit: 1}
	s.writer.settle = s.settle
	return workload.Stream{Next: s.Next, Done: func(*workload.Op, bool) {}, Verify: s.Verify}
}

// The slots of updates.
const (
	slotCounters = 16 // counters per slot: the fields a to p
	liveSlots    = 16 // slots that a writer cycles through
)

// slotOf returns the slot of an update and the counter in it.
func slotOf(sequence int64) (slot int64, counter int) {
	const block = slotCounters * liveSlots
	r := sequence % block
	return sequence/block*liveSlots + r%liveSlots, int(r / liveSlots)
}

// updateOf is the inverse of slotOf.
func updateOf(slot int64, counter int) int64 {
	return slot/liveSlots*slotCounters*liveSlots + int64(counter)*liveSlots + slot%liveSlots
}

// weightOf returns what an update adds to its counter: 2^16 to 2^20, so that a damaged value is hardly ever a multiple.
func weightOf(run uint32, writer int, sequence int64) int64 {
	const least, most = 1 << 16, 1 << 20
	h := mix(mix(uint64(run)<<32|uint64(uint32(writer))) + uint64(sequence))
	return least + int64(h%(most-least))
}

// place packs writer, kind and sequence.
func place(writer int, k kind, sequence int64) uint64 {
	return uint64(writer)<<40 | uint64(k)<<39 | uint64(sequence)
}

// appendName appends the name of a write, twelve bytes that sort by run, writer and sequence.
func appendName(dst []byte, run uint32, writer int, k kind, sequence int64) []byte {
	return binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint32(dst, run), place(writer, k, sequence))
}

// ownID is the _id of a document of the own workload: the name of its write.
func ownID(run uint32, writer int, k kind, sequence int64) (id [12]byte) {
	appendName(id[:0], run, writer, k, sequence)
	return id
}

// parseID is the inverse of ownID.
func parseID(id []byte) (run uint32, writer int, k kind, sequence int64) {
	n := binary.BigEndian.Uint64(id[4:])
	return binary.BigEndian.Uint32(id), int(n >> 40), kind(n >> 39 & 1), int64(n & (maxSequence - 1))
}

// appendOwn appends the document of an insert of the own workload, without its tag.
func (w *ownWorkload) appendOwn(dst []byte, run uint32, writer int, sequence int64) []byte {
	start := len(dst)
	dst = append(dst, 0, 0, 0, 0)
	dst = bsoncore.AppendObjectIDElement(dst, "_id", ownID(run, writer, inserts, sequence))
	from := mix(uint64(sequence)^uint64(writer)<<40) % noiseSpan
	dst = bsoncore.AppendBinaryElement(dst, "p", 0, w.noise[from:from+uint64(w.p.Payload)])
	return rawbson.Close(dst, start)
}
