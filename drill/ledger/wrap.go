package ledger

import (
	"go.mongodb.org/mongo-driver/v2/x/bsonx/bsoncore"

	"github.com/plimsoll-bench/plimsoll/internal/rawbson"
	"github.com/plimsoll-bench/plimsoll/load"
	"github.com/plimsoll-bench/plimsoll/store"
	"github.com/plimsoll-bench/plimsoll/workload"
)

// Wrap returns w with a ledger of its writes: each inserted document carries a tag, and each update increments a
// counter. The load phase stays the same. See the package comment for what is known of the updates.
//
// Run it with [Ledger.Observe], which gives the ledger the results of the writes. If several processes share the data,
// set [Options.First].
func (l *Ledger) Wrap(w workload.Workload) workload.Workload {
	if own, ok := w.(*ownWorkload); ok { // it has a ledger already
		return own
	}
	return &wrapped{Workload: w, l: l}
}

// Observe returns the observer of a worker that has its stream, for [load.Config].
func (l *Ledger) Observe(worker int) load.Observer {
	settle := l.Settle(worker)
	return func(op *workload.Op, s *load.Settlement) { settle(op, s) }
}

// Settle returns the function that records the result of each operation of a worker that has its stream. It returns
// whether the operation had a write that is checked and was acknowledged, or asked for no acknowledgement.
func (l *Ledger) Settle(worker int) func(*workload.Op, *load.Settlement) (confirmed bool) {
	return l.writer(l.opts.First + worker).settle
}

// wrapped is a workload whose writes are in a ledger.
type wrapped struct {
	workload.Workload
	l *Ledger
}

// Unwrap returns the workload without its ledger.
func (w *wrapped) Unwrap() workload.Workload { return w.Workload }

func (w *wrapped) Stream(worker, workers int) workload.Stream {
	s := &tagger{
		l: w.l, inner: w.Workload.Stream(worker, workers), run: w.l.opts.Run,
		writer: w.l.writer(w.l.opts.First + worker), groups: w.l.shared(),
		count: []byte(counterName(w.l.opts.Run)),
	}
	s.remover, _ = workload.As[workload.Remover](w.Workload)
	s.writer.settle = s.settle
	of := s.inner
	of.Next = s.next
	if of.Flush != nil {
		of.Flush = s.flush
	}
	if of.Answer != nil {
		of.Answer = s.answer
	}
	return of
}

// piece is one write of the current operation.
type piece struct {
	request  int
	sequence int64  // of an insert, otherwise -1
	group    uint32 // of an update
}

// tagger is the stream of one writer. Its buffers are reused for each operation.
type tagger struct {
	l       *Ledger
	inner   workload.Stream
	remover workload.Remover // nil if the workload removes nothing
	bare    workload.Op      // as the inner stream made it
	run     uint32
	writer  *writer
	groups  *groups
	count   []byte

	within     undecided // the transaction that is being settled, which began with request started
	started    int
	after      int64 // sequence after the last insert of the open transaction; -1 before the first
	pieces     []piece
	requests   []workload.Request
	buf        []byte
	ends       []int // of documents in buf
	docs       [][]byte
	statements []workload.Statement
}

func (s *tagger) next(op *workload.Op) {
	s.inner.Next(op)
	s.tag(op)
}

func (s *tagger) flush(op *workload.Op) bool {
	if !s.inner.Flush(op) {
		return false
	}
	s.tag(op)
	return true
}

// answer passes an answer on. The requests after request i depend on it. In a transaction that is repeated they were
// there before, and were not applied.
func (s *tagger) answer(op *workload.Op, i int, doc []byte) {
	s.inner.Answer(&s.bare, i, doc)
	s.writer.mu.Lock()
	kept := s.pieces[:0]
	for _, p := range s.pieces {
		if p.request <= i {
			kept = append(kept, p)
		} else {
			s.resolve(&p, notApplied, 0, 0)
		}
	}
	s.pieces = kept
	s.writer.mu.Unlock()
	s.requests = append(s.requests[:i+1], s.bare.Requests[i+1:]...)
	s.tagFrom(i + 1)
	op.Requests = s.requests
}

// tag replaces the requests that write. It does not change the requests of the inner stream, which prepares parts of
// them once.
func (s *tagger) tag(op *workload.Op) {
	s.pieces, s.after = s.pieces[:0], -1
	s.bare = *op
	writes := false
	for i := range op.Requests {
		writes = writes || op.Requests[i].Writes()
	}
	if !writes {
		return
	}
	s.requests = append(s.requests[:0], op.Requests...)
	s.buf, s.ends, s.docs, s.statements = s.buf[:0], s.ends[:0], s.docs[:0], s.statements[:0]
	s.tagFrom(0)
	op.Requests = s.requests
}

// tagFrom tags the requests from one on, up to the first one whose answer decides the later ones.
func (s *tagger) tagFrom(first int) {
	s.writer.mu.Lock()
	defer s.writer.mu.Unlock()
	end := first
	for i := first; i < len(s.requests); i++ {
		req := &s.requests[i]
		if req.Starts {
			s.after = -1
		}
		switch req.Verb {
		case workload.Insert:
			s.build(i, req)
		case workload.Update, workload.FindAndModify:
			s.change(i, req)
		case workload.Delete:
			s.writer.skipped[removal] += int64(len(req.Updates))
		case workload.Aggregate:
			if req.Writes() {
				s.writer.skipped[output]++
			}
		}
		if end = i + 1; s.inner.Listens != nil && s.inner.Listens(&s.bare, i) {
			break
		}
	}
	s.cut(s.requests[first:end])
}

// build appends the documents of an insert with their tags.
func (s *tagger) build(request int, req *workload.Request) {
	writes := &s.writer.inserts
	for _, doc := range req.Docs {
		sequence, ok := writes.next, !s.removes(req.Collection)
		if !ok {
			s.writer.skipped[removed]++
		} else if s.buf, ok = appendTagged(s.buf, doc, s.run, s.writer.number, sequence); !ok {
			s.writer.skipped[untagged]++
		}
		if !ok {
			s.buf = append(s.buf, doc...)
		} else {
			writes.begin(1)
			s.pieces = append(s.pieces, piece{request: request, sequence: sequence})
			if s.l.placer != nil {
				writes.place(sequence, s.l.shardOf(req.Collection, idOf(doc)))
			}
			if req.Within && s.after == sequence {
				writes.join(sequence)
			}
			s.after = sequence + 1
		}
		s.ends = append(s.ends, len(s.buf))
	}
}

// removes reports whether documents of a collection may disappear or lose fields.
func (s *tagger) removes(collection string) bool {
	return s.remover != nil && s.remover.Removes(collection)
}

// change appends the statements of an update with their counters.
func (s *tagger) change(request int, req *workload.Request) {
	updates := req.Updates
	for i := range updates {
		var group uint32
		id, why := countable(&updates[i])
		switch {
		case req.Remove:
			why = removal
		case why == checked && s.removes(req.Collection):
			why = removed
		}
		if why == checked {
			group = s.l.group(req.Collection, id)
			var ok bool
			if s.buf, ok = appendCounted(s.buf, updates[i].Update, s.count); !ok {
				why = replacement
			}
		}
		if why == checked {
			s.pieces = append(s.pieces, piece{request: request, sequence: -1, group: group})
		} else {
			s.buf = append(s.buf, updates[i].Update...)
			s.writer.skipped[why]++
		}
		s.ends = append(s.ends, len(s.buf))
	}
}

// cut gives the documents in the buffer to requests. The buffer does not grow before they are sent, or grows in a copy.
func (s *tagger) cut(requests []workload.Request) {
	n := 0
	for i := range requests {
		switch req := &requests[i]; req.Verb {
		case workload.Insert:
			n += len(req.Docs)
		case workload.Update, workload.FindAndModify:
			n += len(req.Updates)
		}
	}
	at, from := len(s.ends)-n, 0
	if at > 0 {
		from = s.ends[at-1]
	}
	next := func() []byte {
		doc := s.buf[from:s.ends[at]:s.ends[at]]
		from = s.ends[at]
		at++
		return doc
	}
	for i := range requests {
		switch req := &requests[i]; req.Verb {
		case workload.Insert:
			start := len(s.docs)
			for range req.Docs {
				s.docs = append(s.docs, next())
			}
			req.Docs = s.docs[start:len(s.docs):len(s.docs)]
		case workload.Update, workload.FindAndModify:
			start := len(s.statements)
			for _, u := range req.Updates {
				u.Update = next()
				s.statements = append(s.statements, u)
			}
			req.Updates = s.statements[start:len(s.statements):len(s.statements)]
		}
	}
}

// settle is the function of [Ledger.Settle].
func (s *tagger) settle(_ *workload.Op, st *load.Settlement) (confirmed bool) {
	s.writer.mu.Lock()
	defer s.writer.mu.Unlock()
	for i := range s.pieces {
		p := &s.pieces[i]
		is := stateOf(st, p.request, len(s.pieces))
		s.resolve(p, is, st.Sent, st.Ended)
		confirmed = confirmed || confirms(is, st)
		s.undecided(p, is)
	}
	s.close()
	s.pieces = s.pieces[:0]
	return confirmed
}

// confirms reports whether a write was acknowledged, or asked for no acknowledgement.
func confirms(is state, st *load.Settlement) bool {
	return is == acknowledged || st.Outcome == store.Unacknowledged
}

// resolve notes what is known about one write. The caller holds the writer's lock.
func (s *tagger) resolve(p *piece, is state, sent, ended int64) {
	if p.sequence < 0 {
		s.groups.count(p.group, is)
		return
	}
	s.writer.inserts.resolve(p.sequence, is, sent, ended)
}

// stateOf returns what the client knows about a write of one request. of is the number of writes of the operation: an
// error for several does not say which one it means.
func stateOf(st *load.Settlement, request, of int) state {
	switch {
	case st.Undone:
		return notApplied
	case st.Abandoned:
		return indeterminate
	case request < st.Confirmed:
		return acknowledged
	case st.Failed < 0 || request < st.Failed:
		return indeterminate // sent without confirmation (w:0)
	case request > st.Failed:
		return notApplied // never sent
	case st.Attempts > 1:
		return indeterminate // the last attempt proves nothing about the first
	}
	switch st.Outcome {
	case store.NotApplied, store.Overloaded:
		return notApplied
	case store.Rejected, store.Conflict, store.NotFound:
		if of == 1 {
			return notApplied
		}
	}
	return indeterminate
}

// countable returns the element _id of the document that a statement updates, or why its updates cannot be counted: the
// filter must be the _id alone, and the document must keep its counter.
func countable(u *workload.Statement) (id []byte, why unchecked) {
	switch {
	case u.Upsert:
		return nil, upsert
	case u.Many:
		return nil, many
	case u.Stages:
		return nil, pipeline
	}
	rest, ok := inside(u.Filter)
	if !ok {
		return nil, filtered
	}
	e, rest, ok := bsoncore.ReadElement(rest)
	if !ok || len(rest) > 0 || !isKey(e, "_id") {
		return nil, filtered
	}
	switch bsoncore.Type(e[0]) {
	case bsoncore.TypeEmbeddedDocument, bsoncore.TypeRegex, bsoncore.TypeArray:
		return nil, filtered // may be an operator, and mean several
	}
	return e, checked
}

// idOf returns the element _id of a document, which is nearly always the first; nil if there is none.
func idOf(doc []byte) []byte {
	fields, ok := inside(doc)
	if !ok {
		return nil
	}
	for len(fields) > 0 {
		var e bsoncore.Element
		if e, fields, ok = bsoncore.ReadElement(fields); !ok {
			return nil
		}
		if isKey(e, "_id") {
			return e
		}
	}
	return nil
}

// appendCounted appends an update with {$inc: {count: 1}} in addition, and returns false, and dst as it was, if it
// is not made of operators.
func appendCounted(dst, update, count []byte) ([]byte, bool) {
	all, ok := inside(update)
	if !ok || len(all) < 2 || all[1] != '$' {
		return dst, false
	}
	// The operators before $inc, the fields that it increments already, and the operators after it.
	before, fields, after, done := all, []byte(nil), []byte(nil), false
	for rest := all; len(rest) > 0; {
		at := len(all) - len(rest)
		var e bsoncore.Element
		if e, rest, ok = bsoncore.ReadElement(rest); !ok {
			return dst, false
		}
		if !isKey(e, "$inc") {
			continue
		}
		if fields, ok = inside(rawbson.Value(e)); !ok || done || bsoncore.Type(e[0]) != bsoncore.TypeEmbeddedDocument {
			return dst, false
		}
		before, after, done = all[:at], rest, true
	}
	start := len(dst)
	dst = append(append(dst, 0, 0, 0, 0), before...)
	dst = appendIncrement(dst, fields, count)
	return rawbson.Close(append(dst, after...), start), true
}

// appendIncrement appends {$inc: {…fields, count: 1}}. The number is 32 bits; the server widens it when it
// overflows.
func appendIncrement(dst, fields, count []byte) []byte {
	dst = append(dst, byte(bsoncore.TypeEmbeddedDocument), '$', 'i', 'n', 'c', 0)
	at := len(dst)
	dst = append(dst, 0, 0, 0, 0)
	dst = append(dst, fields...)
	dst = append(dst, byte(bsoncore.TypeInt32))
	dst = append(append(dst, count...), 0)
	dst = append(dst, 1, 0, 0, 0)
	return rawbson.Close(dst, at)
}
