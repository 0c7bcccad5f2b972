package own

import (
	"time"

	"github.com/plimsoll-bench/plimsoll/internal/rawbson"
	"github.com/plimsoll-bench/plimsoll/workload"
)

// The first workers read the change streams of the file.
func (p *Plan) Stream(worker, workers int) workload.Stream {
	s, _ := p.Chosen(worker, workers)
	return s
}

// Chosen returns the stream of a worker, and a function that makes the operation with a number in the file the next
// one, of those that are no readers. The plan must have no sequences to choose.
func (p *Plan) Chosen(worker, workers int) (of workload.Stream, choose func(operation int)) {
	s := p.stream(worker, workers)
	of = s.functions()
	if p.integrity {
		of.Verify = (&verifyingStream{stream: s, loader: p.newEnv(0, 1)}).Verify
	}
	return of, func(operation int) { s.chosen = operation + 1 }
}

func (p *Plan) stream(worker, workers int) *stream {
	s := &stream{p: p, e: p.newEnv(worker, workers)}
	if worker < len(p.readers) {
		s.reader = s.open(p.readers[worker])
		return s
	}
	for _, o := range p.ops {
		s.ops = append(s.ops, s.open(o))
	}
	return s
}

func (s *stream) functions() workload.Stream {
	return workload.Stream{Next: s.Next, Done: s.Done, Listens: s.Listens, Answer: s.Answer, Free: s.reader != nil}
}

// stream is the stream of one worker: a virtual user.
type stream struct {
	p      *Plan
	e      *env
	ops    []*opened
	reader *opened // of a worker that only reads a change stream

	chosen   int // the next operation and 1, 0: by weight
	current  *opened
	within   *opened // the sequence that is under way
	at       int     // its next step
	inserted []numbered
}

// numbered is a document that the current operation inserts.
type numbered struct {
	set *workload.KeySet
	n   int64
}

// opened is an operation with the buffers of a stream.
type opened struct {
	*operation
	requests []workload.Request
	bufs     []buffers // by request
	steps    []*opened // of a sequence
	made     int       // requests that are complete
}

// buffers are those of one request.
type buffers struct {
	filter, projection, sort, pipeline []byte
	docs                               rawbson.Documents // of an insert, or the parts of statements in their order
	statements                         []workload.Statement
	before                             int // documents that the requests before it insert
}

// open prepares the requests of an operation. What does not change is in them for good.
func (s *stream) open(o *operation) *opened {
	k := &opened{operation: o, requests: make([]workload.Request, len(o.steps)), bufs: make([]buffers, len(o.steps))}
	for i, st := range o.steps {
		k.requests[i] = st.request
		for _, u := range st.statements {
			k.bufs[i].statements = append(k.bufs[i].statements, u.of)
		}
		k.requests[i].Updates = k.bufs[i].statements
	}
	for _, in := range o.sequence {
		k.steps = append(k.steps, s.open(in))
	}
	return k
}

func (s *stream) Next(op *workload.Op) {
	k := s.choose()
	s.current, s.inserted = k, s.inserted[:0]
	for i := range k.lets {
		s.set(&k.lets[i])
	}
	k.made = 0
	s.make(k)
	op.Class, op.Seq, op.Requests, op.Transaction, op.Think = k.class, -1, k.requests, k.atomic, 0
	if k.think[1] > 0 {
		op.Think = k.think[0]
		if span := int64(k.think[1] - k.think[0]); span > 0 {
			op.Think += time.Duration(s.e.r.Below(span + 1))
		}
	}
	if len(s.inserted) > 0 {
		op.Seq = s.inserted[0].n
	}
}

// choose returns the next operation: of the sequence that is under way, or a new one.
func (s *stream) choose() *opened {
	if s.reader != nil {
		return s.reader
	}
	if s.chosen > 0 {
		k := s.ops[s.chosen-1]
		s.chosen = 0
		return k
	}
	if s.within == nil {
		k := s.ops[s.p.mix.Next(&s.e.r)]
		if len(k.steps) == 0 {
			return k
		}
		for i := range k.lets {
			s.set(&k.lets[i])
		}
		s.within, s.at = k, 0
	}
	k := s.within.steps[s.at]
	if s.at++; s.at == len(s.within.steps) {
		s.within = nil
	}
	return k
}

// set computes a variable. It is made in its own buffer, which no other value refers to.
func (s *stream) set(l *let) {
	v := &s.e.vars[l.variable]
	v.data, v.kind = l.value.append(v.data[:0], s.e)
}

// make completes requests up to the first one whose answer a later one may need.
func (s *stream) make(k *opened) {
	for i := k.made; i < len(k.requests); i++ {
		if i == k.made && i > 0 {
			s.inserted = s.inserted[:k.bufs[i].before] // a repetition has other documents
		}
		k.bufs[i].before = len(s.inserted)
		s.fill(k, i)
		if k.made = i + 1; k.listens[i] >= 0 {
			return
		}
	}
}

// fill builds what changes in a request.
func (s *stream) fill(k *opened, i int) {
	st, req, b, e := k.operation.steps[i], &k.requests[i], &k.bufs[i], s.e
	if st.filter != nil {
		b.filter, _ = st.filter.append(b.filter[:0], e)
		req.Filter = b.filter
	}
	if st.projection != nil {
		b.projection, _ = st.projection.append(b.projection[:0], e)
		req.Projection = b.projection
	}
	if st.sort != nil {
		b.sort, _ = st.sort.append(b.sort[:0], e)
		req.Sort = b.sort
	}
	if st.pipeline != nil && (req.Verb != workload.Watch || b.pipeline == nil) { // a stream stays open
		b.pipeline, _ = st.pipeline.append(b.pipeline[:0], e)
		req.Pipeline = b.pipeline
	}
	if st.skip != nil {
		b.docs.Reset()
		var kind byte
		b.docs.Buf, kind = st.skip.append(b.docs.Buf, e)
		req.Skip, _ = rawbson.RawValue{Kind: kind, Data: b.docs.Buf}.Number()
	}
	if st.inserts != nil {
		s.insert(st, req, b)
	}
	if st.statements != nil {
		s.statements(st, req, b)
	}
}

// insert makes the documents of an insert.
func (s *stream) insert(st *step, req *workload.Request, b *buffers) {
	b.docs.Reset()
	set := st.collection.set
	for i := range st.inserts {
		in := &st.inserts[i]
		for range in.times {
			n := set.Insert()
			if in.doc == nil {
				b.docs.Buf = st.collection.append(b.docs.Buf, s.e, n)
			} else {
				s.e.n = n
				b.docs.Buf, _ = in.doc.append(b.docs.Buf, s.e)
			}
			b.docs.Mark()
			if !in.ownID {
				s.inserted = append(s.inserted, numbered{set, n})
			}
		}
	}
	req.Docs = b.docs.All()
}

// statements makes the statements of an update, delete or findAndModify in one buffer.
func (s *stream) statements(st *step, req *workload.Request, b *buffers) {
	b.docs.Reset()
	for i := range st.statements {
		u := &st.statements[i]
		for _, v := range [...]value{u.filter, u.update, u.arrayFilters} {
			if v != nil {
				b.docs.Buf, _ = v.append(b.docs.Buf, s.e)
				b.docs.Mark()
			}
		}
	}
	all, n := b.docs.All(), 0
	next := func(v value, to *[]byte) {
		if v != nil {
			*to = all[n]
			n++
		}
	}
	for i := range st.statements {
		u, to := &st.statements[i], &b.statements[i]
		next(u.filter, &to.Filter)
		next(u.update, &to.Update)
		next(u.arrayFilters, &to.ArrayFilters)
	}
	req.Updates = b.statements
}

func (s *stream) Listens(_ *workload.Op, i int) bool {
	return i < len(s.current.listens) && s.current.listens[i] >= 0
}

func (s *stream) Answer(op *workload.Op, i int, doc []byte) {
	v := &s.e.vars[s.current.listens[i]]
	if v.kind = absent; doc != nil {
		v.set(rawbson.Document, doc)
	}
	s.current.made = i + 1 // also when a transaction is repeated
	s.make(s.current)
	op.Requests = s.current.requests
}

func (s *stream) Done(_ *workload.Op, applied bool) {
	if !applied {
		s.within = nil // the rest of a sequence depends on this step
		return
	}
	for i := range s.inserted {
		s.inserted[i].set.Inserted(s.inserted[i].n)
	}
}

// verifyingStream compares the documents that are read by their _id alone with those of the load phase.
type verifyingStream struct {
	*stream
	loader *env
	doc    []byte
}

// Verify does not check documents that an operation changes, that depend on the time, or that were inserted during the
// run.
func (s *verifyingStream) Verify(op *workload.Op, i int, doc []byte) (ok, checked bool) {
	st := s.current.operation.steps[i]
	req := &op.Requests[i]
	if st.collection == nil || st.collection.changed || st.collection.clock || req.Projection != nil || req.Limit != 1 {
		return true, false
	}
	n, ok := s.number(st)
	if !ok || doc == nil {
		return true, false
	}
	s.doc = st.collection.append(s.doc[:0], s.loader, n)
	return sameBytes(s.doc, doc), true
}

// number returns the number of the document of a filter {_id: reference}, whose key was drawn last.
func (s *verifyingStream) number(st *step) (int64, bool) {
	d, ok := st.filter.(*document)
	if !ok || len(d.segments) != 1 || string(d.segments[0].header[1:]) != "_id\x00" {
		return 0, false
	}
	ref, ok := d.segments[0].value.(referenceValue)
	if !ok || ref.key != st.collection.keys["_id"] || s.e.drawn >= st.collection.set.Loaded() {
		return 0, false
	}
	return s.e.drawn, true
}
