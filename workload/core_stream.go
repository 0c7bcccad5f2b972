package workload

import (
	"go.mongodb.org/mongo-driver/v2/x/bsonx/bsoncore"

	"github.com/plimsoll-bench/plimsoll/internal/rawbson"
)

// coreStream is one worker's stream of the core workload. The constant parts of requests are made once; Next sets keys,
// values and lengths.
type coreStream struct {
	recordMaker
	r       random
	keys    chooser
	scans   chooser
	pending insertBatch

	filter, update []byte
	statement      [1]Statement
	read, scan     [1]Request
	change         [1]Request
	rmw            [2]Request
	wanted         int   // fields that the current read asks for
	inserted       int64 // key number of the current insert
}

func (w *core) Stream(worker, workers int) Stream {
	s := &coreStream{
		recordMaker: w.newRecordMaker(),
		keys:        w.keyChooser(worker, workers),
		scans:       w.lengths(w.p.ScanLengthDistribution, w.p.MinScanLength, w.p.MaxScanLength),
		pending:     w.newInsertBatch(),
	}
	s.r.seed(w.p.Seed, forStream, uint64(worker))
	find := Request{Verb: Find, Class: NoClass, Collection: w.p.Table, Projection: w.readFields, Limit: 1}
	change := Request{Verb: Update, Class: NoClass, Collection: w.p.Table, Updates: s.statement[:]}
	s.read[0], s.change[0] = find, change
	s.rmw = [2]Request{find, change}
	s.rmw[0].Class, s.rmw[1].Class = coreRMWRead, coreRMWUpdate
	if w.p.Mode == Original {
		s.rmw[0].Projection = nil // YCSB names no fields here, not even for data integrity
	}
	s.scan[0] = Request{Verb: Find, Class: NoClass, Collection: w.p.Table, Sort: w.byID}
	return Stream{Next: s.Next, Done: s.Done, Flush: s.Flush, Verify: s.Verify}
}

func (s *coreStream) Next(op *Op) {
	op.Class = s.w.mix.next(&s.r)
	op.Seq = -1
	switch op.Class {
	case coreRead:
		s.chooseKey()
		s.fillRead(&s.read[0])
		op.Requests = s.read[:]
	case coreUpdate:
		s.chooseKey()
		s.fillUpdate(&s.change[0])
		op.Requests = s.change[:]
	case coreScan:
		s.chooseKey()
		s.fillScan()
		op.Requests = s.scan[:]
	case coreRMW:
		s.chooseKey()
		s.fillRead(&s.rmw[0])
		s.fillUpdate(&s.rmw[1])
		op.Requests = s.rmw[:]
	case coreInsert:
		s.fillInsert(op)
	}
}

// chooseKey makes an existing key the current one and builds its filter.
func (s *coreStream) chooseKey() {
	s.setKey(s.keys.next(&s.r))
	s.filter = appendIDFilter(s.filter[:0], s.key)
}

func (s *coreStream) fillRead(req *Request) {
	req.Filter = s.filter
	s.wanted = len(s.w.fields)
	if !s.w.p.ReadAllFields {
		req.Projection = s.oneField()
		s.wanted = 1
	}
}

// oneField returns the projection of a random field.
func (s *coreStream) oneField() []byte {
	return s.w.projectOne[s.r.below(int64(len(s.w.projectOne)))]
}

// fillUpdate sets one random field or all fields of the current key to new values.
func (s *coreStream) fillUpdate(req *Request) {
	dst, at := rawbson.Open(s.update[:0])
	dst, set := openDocElement(dst, "$set")
	if s.w.p.WriteAllFields {
		for i := range s.w.fields {
			dst = s.appendField(dst, &s.w.fields[i], &s.r)
		}
	} else {
		dst = s.appendField(dst, &s.w.fields[s.r.below(int64(len(s.w.fields)))], &s.r)
	}
	s.update = rawbson.Close(rawbson.Close(dst, set), at)
	req.Updates[0] = Statement{Filter: s.filter, Update: s.update}
}

// fillScan asks for the records from the current key on.
func (s *coreStream) fillScan() {
	dst, at := rawbson.Open(s.filter[:0])
	dst, from := openDocElement(dst, "_id")
	dst = appendStringBytes(dst, "$gte", s.key)
	s.filter = rawbson.Close(rawbson.Close(dst, from), at)
	req := &s.scan[0]
	req.Filter = s.filter
	req.Limit = s.scans.next(&s.r)
	if !s.w.p.ReadAllFields {
		req.Projection = s.oneField()
	}
}

// fillInsert adds a record to the pending batch and sends the batch when it is full.
func (s *coreStream) fillInsert(op *Op) {
	s.inserted = s.w.nextInsert()
	op.Seq = s.inserted
	s.pending.add(&s.recordMaker, s.inserted)
	op.Requests = nil
	if s.pending.len() >= s.w.p.BatchSize {
		op.Seq = s.pending.numbers[0]
		op.Requests = s.pending.send()
	}
}

func (s *coreStream) Done(op *Op, applied bool) {
	if op.Class != coreInsert {
		return
	}
	if s.w.acked != nil {
		// YCSB acknowledges every insert when its call returns, also a failed or a buffered one.
		if s.inserted >= 0 {
			s.w.acked.acknowledge(s.inserted)
			s.inserted = -1
		}
		return
	}
	if applied && len(op.Requests) > 0 {
		for _, n := range s.pending.numbers {
			s.w.recent.add(n)
		}
	}
}

func (s *coreStream) Flush(op *Op) bool {
	if s.pending.sent || s.pending.len() == 0 {
		return false
	}
	s.inserted = -1
	op.Class, op.Seq = coreInsert, s.pending.numbers[0]
	op.Requests = s.pending.send()
	return true
}

// Verify checks reads with dataintegrity, also those of a read-modify-write. A missing document is wrong.
func (s *coreStream) Verify(op *Op, i int, doc []byte) (ok, checked bool) {
	if !s.w.p.DataIntegrity || i != 0 || (op.Class != coreRead && op.Class != coreRMW) {
		return true, false
	}
	return doc != nil && s.verify(doc, s.wanted), true
}

// insertBatch collects records for one insert request, or for one update request with upserts.
type insertBatch struct {
	w       *core
	docs    rawbson.Documents
	ids     rawbson.Documents // filters, for upserts
	numbers []int64           // key numbers
	updates []Statement
	req     [1]Request
	wrap    bool // write {$set: record} instead of the record
	sent    bool // the records were handed out; the next one begins a new batch
}

func (w *core) newInsertBatch() insertBatch {
	b := insertBatch{w: w}
	b.reset()
	b.req[0] = Request{Verb: Insert, Class: NoClass, Collection: w.p.Table}
	return b
}

func (b *insertBatch) len() int { return len(b.numbers) }

func (b *insertBatch) reset() {
	b.docs.Reset()
	b.ids.Reset()
	b.numbers, b.sent = b.numbers[:0], false
	b.wrap = b.w.p.Upsert && b.w.p.BatchSize > 1
}

func (b *insertBatch) add(m *recordMaker, n int64) {
	if b.sent {
		b.reset()
	}
	if b.wrap { // {$set: record}
		dst, at := rawbson.Open(b.docs.Buf)
		dst = bsoncore.AppendHeader(dst, bsoncore.TypeEmbeddedDocument, "$set")
		b.docs.Buf = rawbson.Close(m.appendRecord(dst, n), at)
	} else {
		b.docs.Buf = m.appendRecord(b.docs.Buf, n)
	}
	b.docs.Mark()
	b.numbers = append(b.numbers, n)
	if b.w.p.Upsert {
		b.ids.Buf = appendIDFilter(b.ids.Buf, m.key)
		b.ids.Mark()
	}
}

// send returns the request that writes the batch. Upserts have one statement per record: a replacement for a single
// record, $set of the whole document in a batch, like YCSB's binding.
func (b *insertBatch) send() []Request {
	b.sent = true
	req := &b.req[0]
	if !b.w.p.Upsert {
		req.Docs = b.docs.All()
		req.Unordered = len(req.Docs) > 1
		return b.req[:]
	}
	b.updates = b.updates[:0]
	ids := b.ids.All()
	for i, doc := range b.docs.All() {
		b.updates = append(b.updates, Statement{Filter: ids[i], Update: doc, Upsert: true})
	}
	req.Verb, req.Updates = Update, b.updates
	return b.req[:]
}

// coreLoader makes the records of the load phase.
type coreLoader struct {
	recordMaker
	batch  insertBatch
	filter []byte
	find   [1]Request
}

func (w *core) Loader() Loader {
	l := &coreLoader{recordMaker: w.newRecordMaker(), batch: w.newInsertBatch()}
	l.find[0] = Request{Verb: Find, Class: NoClass, Collection: w.p.Table, Projection: w.byID, Limit: 1}
	return l
}

func (l *coreLoader) Load(seq int64, n int, op *Op) {
	l.batch.reset()
	l.batch.wrap = l.w.p.Upsert && (n > 1 || l.w.p.BatchSize > 1)
	first := l.w.p.firstLoaded() + seq
	for i := range int64(n) {
		l.batch.add(&l.recordMaker, first+i)
	}
	op.Class, op.Seq, op.Requests = coreInsert, first, l.batch.send()
}

func (l *coreLoader) Probe(seq int64, op *Op) {
	l.setKey(l.w.p.firstLoaded() + seq)
	l.filter = appendIDFilter(l.filter[:0], l.key)
	l.find[0].Filter = l.filter
	op.Class, op.Seq, op.Requests = coreRead, -1, l.find[:]
}
