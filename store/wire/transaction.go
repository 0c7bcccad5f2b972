package wire

import (
	"strconv"

	"go.mongodb.org/mongo-driver/v2/x/bsonx/bsoncore"

	"github.com/plimsoll-bench/plimsoll/internal/rawbson"
	"github.com/plimsoll-bench/plimsoll/store"
	"github.com/plimsoll-bench/plimsoll/workload"
)

// transaction is the transaction of a session. Its commands have lsid, txnNumber, startTransaction (the first) and
// autocommit, a read concern only in the first and a write concern only in the last.
type transaction struct {
	number    int64
	committed bool // a commit was sent; a further one is a repetition
	shape     shape
	fixed     []byte
}

// fromPrimary is where all reads of a transaction go.
var fromPrimary = &workload.Concern{Preference: preferenceNames[primary]}

// join makes the constant parts of a command of the transaction.
func (t *transaction) join(s *Session, l *link, req *workload.Request) {
	settings := l.use.settings
	if req.Starts {
		t.number++
		t.committed = false
	}
	fixed := t.fixed[:0]
	if req.Starts {
		fixed = settings.appendReadConcern(fixed, s.causal.after())
	}
	switch {
	case req.Verb == workload.Commit && t.committed:
		// Drivers repeat a commit with majority, so that its reply is a proof.
		fixed = appendMajority(fixed, settings)
	case req.Verb == workload.Commit || req.Verb == workload.Abort:
		fixed = settings.appendWriteConcern(fixed)
	}
	t.committed = t.committed || req.Verb == workload.Commit
	fixed = appendDocument(fixed, rawbson.Document, "lsid", s.lsid)
	fixed = bsoncore.AppendInt64Element(fixed, "txnNumber", t.number)
	if req.Starts {
		fixed = bsoncore.AppendBooleanElement(fixed, "startTransaction", true)
	}
	t.fixed = bsoncore.AppendBooleanElement(fixed, "autocommit", false)
	t.shape = shape{write: t.fixed, read: t.fixed, more: t.fixed, writeTail: l.shape.writeTail,
		readTail: l.shapeOf(fromPrimary, s.lsid).readTail, settings: settings}
	l.use = &t.shape
}

func appendMajority(dst []byte, st *settings) []byte {
	dst = bsoncore.AppendHeader(dst, rawbson.Document, "writeConcern")
	dst, start := rawbson.Open(dst)
	dst = bsoncore.AppendStringElement(dst, "w", "majority")
	if st.concern.Journal != nil {
		dst = bsoncore.AppendBooleanElement(dst, "j", *st.concern.Journal)
	}
	return rawbson.Close(dst, start)
}

// end sends a commit or an abort.
func (x *exchange) end(req *workload.Request) {
	x.s.out = x.l.appendEnd(x.s.out, req.Verb, x.timeLeft())
	var r reply
	if !x.call(&r, 0) {
		return
	}
	switch {
	case !r.ok:
		x.refused(&r)
	case r.concernError != nil:
		x.unconfirmed(&r, 0)
	}
}

// distinct reads the values of a key.
func (x *exchange) distinct(req *workload.Request) {
	x.s.out = x.l.appendDistinct(x.s.out, req, x.timeLeft())
	var r reply
	if !x.call(&r, 0) {
		return
	}
	if !r.ok {
		x.refused(&r)
		return
	}
	for body := r.values; len(body) > 0; {
		_, v, size := rawbson.Next(body)
		if size == 0 {
			x.broken(protocolFault(errBSON))
			return
		}
		x.res.Docs++
		x.res.Bytes += len(v.Data)
		body = body[size:]
	}
	if x.res.Docs == 0 && !req.MayBeEmpty {
		x.res.Outcome = store.NotFound
	}
}

// findAndModify changes one document and reads it.
func (x *exchange) findAndModify(req *workload.Request) {
	x.s.out = x.l.appendFindAndModify(x.s.out, req, x.timeLeft())
	x.res.Bytes = len(req.Updates[0].Update)
	if x.l.use.settings.unacknowledged {
		if f := x.l.send(x.s.out, x.now, x.deadline); f.err != nil {
			x.broken(f)
			return
		}
		x.res.Attempts, x.res.Outcome = 1, store.Unacknowledged
		return
	}
	var r reply
	if !x.call(&r, 0) {
		return
	}
	if !r.ok {
		x.refused(&r)
		return
	}
	x.res.Doc = r.value
	x.res.Bytes += len(r.value)
	if r.value != nil {
		r.found = max(r.found, 1)
	}
	if r.concernError != nil {
		x.unconfirmed(&r, int(r.found))
		return
	}
	x.res.SetMatched(1, int(r.found), req.MayBeEmpty)
}

// feed is a change stream that a session reads.
type feed struct {
	collection string
	pipeline   []byte // with the stage $changeStream
	own        []byte // the pipeline of the request
	full       string // which events have the whole document
	link       *link  // the cursor belongs to it
	cursor     int64
	ns, token  []byte
}

// watchAtMost is how long a server waits for a change before it answers, in milliseconds.
const watchAtMost = 1000

// watch reads the next changes. It opens the stream at first, and continues a stream that was interrupted after the
// last change that it read.
func (x *exchange) watch(req *workload.Request) {
	f := x.s.feed(req)
	var r reply
	if f.cursor == 0 || f.link != x.l {
		open := *req
		open.Pipeline = f.open()
		x.s.out = x.l.appendAggregate(x.s.out, &open)
	} else {
		wait := min(watchAtMost, maxTime(x.timeLeft())/2)
		x.s.out = x.l.appendGetMore(x.s.out, f.cursor, f.ns, max(wait, 1))
	}
	f.cursor = 0
	if !x.call(&r, 0) {
		return
	}
	if !r.ok {
		x.refused(&r)
		return
	}
	if !x.take(&r) {
		return
	}
	f.link, f.cursor = x.l, r.cursorID
	f.ns = append(f.ns[:0], r.ns...)
	if r.token != nil {
		f.token = append(f.token[:0], r.token...)
	}
}

// feed returns the change stream of a request.
func (s *Session) feed(req *workload.Request) *feed {
	for _, f := range s.feeds {
		if f.collection == req.Collection && string(f.own) == string(req.Pipeline) && f.full == req.FullDocument {
			return f
		}
	}
	f := &feed{collection: req.Collection, own: append([]byte(nil), req.Pipeline...), full: req.FullDocument}
	s.feeds = append(s.feeds, f)
	return f
}

// open returns the pipeline that opens the stream.
func (f *feed) open() []byte {
	dst, at := rawbson.Open(f.pipeline[:0])
	dst = bsoncore.AppendHeader(dst, rawbson.Document, "0")
	dst, stage := rawbson.Open(dst)
	dst = bsoncore.AppendHeader(dst, rawbson.Document, "$changeStream")
	dst, options := rawbson.Open(dst)
	if f.full != "" {
		dst = bsoncore.AppendStringElement(dst, "fullDocument", f.full)
	}
	if len(f.token) > 0 {
		dst = appendDocument(dst, rawbson.Document, "resumeAfter", f.token)
	}
	dst = rawbson.Close(rawbson.Close(dst, options), stage)
	body, _, _ := rawbson.Split(f.own)
	for n := int64(1); len(body) > 0; n++ {
		_, v, size := rawbson.Next(body)
		if size == 0 {
			break
		}
		dst = append(bsoncore.AppendHeader(dst, bsoncore.Type(v.Kind), strconv.FormatInt(n, 10)), v.Data...)
		body = body[size:]
	}
	f.pipeline = rawbson.Close(dst, at)
	return f.pipeline
}
